// Tensor: shared memory, reading elements, in-place changes, leaves, and the undefined tensor.
#include <tapestry/tests/core/support.h>

#include <limits>
#include <memory>

using namespace tapestry;
using tapestry::test::check_throws;
using tapestry::test::elements;

TEST_CASE("tensor: describes its memory") {
    const Tensor x = zeros({2, 3}, DType::f64);
    CHECK(x.defined());
    CHECK(x.rank() == 2);
    CHECK(x.shape() == Shape{2, 3});
    CHECK(x.strides() == Strides{3, 1});
    CHECK(x.numel() == 6);
    CHECK(x.bytes() == 48);
    CHECK(x.offset() == 0);
    CHECK(x.size(-1) == 3);
    CHECK(x.is_contiguous());
    CHECK_FALSE(x.requires_grad());
    check_throws<ShapeError>([&] { x.size(2); }, "size: axis 2 is outside a tensor of rank 2");
}

TEST_CASE("tensor: a copy and a view share memory, a clone does not") {
    Tensor x = zeros({2, 3});
    const Tensor copy = x;
    const Tensor view = views::transpose(x, 0, 1);
    const Tensor detached = x.detach();
    const Tensor clone = x.clone();
    CHECK_FALSE(x.owns_alone());
    CHECK(clone.owns_alone());
    x.mutable_data<float>()[1] = 5;
    CHECK(copy.at({0, 1}) == 5);
    CHECK(view.at({1, 0}) == 5);
    CHECK(detached.at({0, 1}) == 5);
    CHECK(clone.at({0, 1}) == 0);
}

TEST_CASE("tensor: owns_alone follows the last handle") {
    Tensor x = zeros({2});
    CHECK(x.owns_alone());
    {
        const Tensor view = views::slice(x, 0, 0, 1);
        CHECK_FALSE(x.owns_alone());
    }
    CHECK(x.owns_alone());
    CHECK_FALSE(Tensor().owns_alone());
}

TEST_CASE("tensor: is_contiguous") {
    const Tensor x = zeros({4, 1, 3});
    CHECK(views::permute(x, {1, 0, 2}).is_contiguous());  // an axis of size 1 may be anywhere
    CHECK_FALSE(views::permute(x, {2, 1, 0}).is_contiguous());
    CHECK(views::slice(x, 0, 1, 3).is_contiguous());
    CHECK_FALSE(views::slice(x, 2, 0, 2).is_contiguous());
    CHECK(views::slice(views::slice(x, 2, 0, 2), 0, 0, 1).is_contiguous());
    CHECK_FALSE(views::expand(zeros({1, 3}), {2, 3}).is_contiguous());
    CHECK(views::permute(zeros({0, 3}), {1, 0}).is_contiguous());
    CHECK(zeros({}).is_contiguous());
}

TEST_CASE("tensor: at and item") {
    const Tensor x = tensor<float>({{1, 2, 3}, {4, 5, 6}});
    CHECK(x.at({1, 2}) == 6);
    CHECK(x.at({-1, -3}) == 4);
    CHECK(x.at<std::int64_t>({0, 1}) == 2);
    CHECK(views::permute(x, {1, 0}).at({2, 0}) == 3);
    CHECK(scalar(2.5).item() == 2.5);
    CHECK(scalar(2.5).at({}) == 2.5);
    CHECK(zeros({1, 1, 1}).item<bool>() == false);
    CHECK(tensor<std::int64_t>({-3}).item() == -3);
    CHECK(tensor<bool>({true}).item<std::int64_t>() == 1);
    CHECK(views::slice(x, 1, 2, 3).at({1, 0}) == 6);
    CHECK(scalar(std::numeric_limits<double>::quiet_NaN()).item<std::int64_t>() == 0);
    check_throws<IndexError>([&] { x.at({2, 0}); }, "at: index [2, 0] is outside shape [2, 3]");
    check_throws<IndexError>([&] { x.at({0, -4}); }, "at: index [0, -4] is outside shape [2, 3]");
    check_throws<IndexError>([&] { x.at({0}); }, "at: 1 indices for shape [2, 3]");
    check_throws<IndexError>([] { zeros({0}).at({0}); }, "at: index [0] is outside shape [0]");
    check_throws<ShapeError>([&] { x.item(); }, "item: needs one element, got shape [2, 3]");
    check_throws<ShapeError>([] { zeros({0}).item(); }, "item: needs one element, got shape [0]");
}

TEST_CASE("tensor: data checks the element type") {
    Tensor x = zeros({2});
    CHECK(x.data<float>() == reinterpret_cast<const float*>(x.storage()->data()));
    CHECK(views::slice(x, 0, 1, 2).data<float>() == x.data<float>() + 1);
    check_throws<DTypeError>([&] { x.data<double>(); }, "tensor: elements are f32, not f64");
    check_throws<DTypeError>([&] { x.mutable_data<bool>(); }, "tensor: elements are f32, not bool");
}

TEST_CASE("tensor: to_vector walks any layout and converts") {
    const Tensor x = tensor<float>({{1, 2, 3}, {4, 5, 6}});
    CHECK(views::permute(x, {1, 0}).to_vector<double>() == std::vector<double>{1, 4, 2, 5, 3, 6});
    CHECK(views::expand(tensor<bool>({true}), {3}).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{1, 1, 1});
    CHECK(tensor<float>({0, 2}).to_vector<bool>() == std::vector<bool>{false, true});
}

TEST_CASE("tensor: clone of a view is dense") {
    Generator random(1);
    for (int round = 0; round < 100; ++round) {
        const Tensor x = test::random_layout(random);
        const Tensor y = x.clone();
        CHECK(y.is_contiguous());
        CHECK(y.offset() == 0);
        CHECK(y.shape() == x.shape());
        CHECK(elements(y) == elements(x));
    }
}

TEST_CASE("tensor: fill_ and copy_ change what shares the memory, and count") {
    Tensor x = zeros({2, 3});
    Tensor column = views::slice(x, 1, 1, 2);
    const auto before = x.storage()->version();
    column.fill_(7);
    CHECK(x.storage()->version() > before);
    CHECK(x.to_vector<double>() == std::vector<double>{0, 7, 0, 0, 7, 0});
    const auto between = x.storage()->version();
    x.copy_(tensor<std::int64_t>({1, 2, 3}));
    CHECK(x.storage()->version() > between);
    CHECK(x.to_vector<double>() == std::vector<double>{1, 2, 3, 1, 2, 3});
    const auto after = x.storage()->version();
    CHECK(x.to_vector<float>().size() == 6);
    CHECK(x.clone().numel() == 6);
    CHECK(x.storage()->version() == after);  // reading does not count
    check_throws<ShapeError>(
        [&] { x.copy_(zeros({2})); },
        "copy: shapes do not broadcast: [2] and [2, 3] (axis -1: 2 against 3)");
    check_throws<ShapeError>(
        [&] {
            x.copy_(zeros({5, 2, 3}));
        },
        "copy: [5, 2, 3] does not broadcast to [2, 3]");
}

TEST_CASE("tensor: in-place changes of a recorded handle make it a constant, of a leaf do not") {
    Tensor x = zeros({2});
    x.set_tape_ref({5, 3});
    x.fill_(1);
    CHECK(x.tape_ref().tape == 0);
    x.set_tape_ref({5, 3});
    x.copy_(zeros({2}));
    CHECK(x.tape_ref().slot == -1);
    x.set_requires_grad();
    x.fill_(2);
    CHECK(x.requires_grad());
}

TEST_CASE("tensor: the leaf is shared by copies, not by clones, detached ones and views") {
    Tensor x = zeros({2});
    const Tensor before = x;
    x.set_requires_grad();
    const Tensor copy = x;
    CHECK(copy.requires_grad());
    CHECK_FALSE(before.requires_grad());
    CHECK_FALSE(x.clone().requires_grad());
    CHECK_FALSE(x.detach().requires_grad());
    CHECK_FALSE(views::slice(x, 0, 0, 1).requires_grad());
    CHECK_FALSE(x.grad().defined());
    x.set_grad(ones({2}));
    CHECK(copy.grad().at({0}) == 1);
    x.set_requires_grad();  // again: keeps the gradient
    CHECK(x.grad().defined());
    x.clear_grad();
    CHECK_FALSE(copy.grad().defined());
    x.set_grad(ones({2}));
    x.set_requires_grad(false);  // for all copies, which share the leaf
    CHECK_FALSE(x.requires_grad());
    CHECK_FALSE(copy.requires_grad());
    CHECK_FALSE(copy.grad().defined());
    check_throws<AutogradError>([&] { x.set_grad(ones({2})); }, "set_grad: the leaf is frozen");
    x.clear_grad();  // nothing to clear, no error
    Tensor(copy).set_requires_grad();
    CHECK(x.requires_grad());
    CHECK_EQ(x.leaf(), copy.leaf());
}

TEST_CASE("tensor: gradient errors") {
    Tensor x = zeros({2});
    Tensor ids = zeros({2}, DType::i64);
    Tensor nothing;
    check_throws<DTypeError>([&] { ids.set_requires_grad(); },
                             "set_requires_grad: needs floating-point numbers, got i64");
    check_throws<Error>([&] { nothing.set_requires_grad(); },
                        "set_requires_grad: the tensor is undefined");
    check_throws<AutogradError>(
        [&] { x.grad(); }, "grad: this tensor does not require a gradient (set_requires_grad)");
    check_throws<AutogradError>([&] { x.set_grad(zeros({2})); },
                                "set_grad: the tensor is not a leaf");
    x.set_requires_grad();
    check_throws<ShapeError>([&] { x.set_grad(zeros({3})); },
                             "set_grad: gradient [3] for a tensor [2]");
    check_throws<DTypeError>([&] { x.set_grad(zeros({2}, DType::f64)); },
                             "set_grad: gradient of f64 for a tensor of f32");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("tensor: undefined") {
    Tensor x;
    CHECK_FALSE(x.defined());
    CHECK(x.numel() == 0);
    CHECK_FALSE(x.requires_grad());
    check_throws<Error>([&] { x.data<float>(); }, "tensor: an undefined tensor has no elements");
    check_throws<Error>([&] { x.item(); }, "tensor: an undefined tensor has no elements");
    check_throws<Error>([&] { x.at({}); }, "tensor: an undefined tensor has no elements");
    check_throws<Error>([&] { x.to_vector<float>(); },
                        "tensor: an undefined tensor has no elements");
    check_throws<Error>([&] { x.clone(); }, "clone: the tensor is undefined");
    check_throws<Error>([&] { x.fill_(0); }, "fill_: the tensor is undefined");
    check_throws<Error>([&] { x.copy_(zeros({1})); }, "copy_: a tensor is undefined");
    Tensor y = zeros({1});
    check_throws<Error>([&] { y.copy_(x); }, "copy_: a tensor is undefined");
    CHECK_FALSE(x.detach().defined());
}

TEST_CASE("tensor refs: the tensors themselves, from braces and from a vector") {
    const auto places = [](const TensorRefs& refs) {
        std::vector<const Tensor*> found;
        for (std::size_t i = 0; i < refs.size(); ++i) found.push_back(&refs[i]);
        return found;
    };
    const Tensor x = zeros({2}), nothing;
    CHECK(places({x, nothing, x}) == std::vector<const Tensor*>{&x, &nothing, &x});
    CHECK(places({}).empty());
    const Tensors list{x, ones({3})};
    CHECK(places(list) == std::vector<const Tensor*>{&list[0], &list[1]});
    CHECK(places(Tensors{}).empty());

    const Tensors copies = TensorRefs({x, nothing}).copied();
    REQUIRE_EQ(copies.size(), 2);
    CHECK(copies[0].storage() == x.storage());
    CHECK_FALSE(copies[1].defined());
}
