// Views against brute force: compared element by element, using only strides.
#include <tapestry/tests/core/support.h>

#include <limits>
#include <numeric>

using namespace tapestry;
using tapestry::test::check_throws;
using tapestry::test::elements;
using tapestry::test::pick;

namespace {

// All shapes of `count` elements with at most `rank` axes, including sizes of 1.
void factorisations(std::int64_t count, int rank, const Shape& so_far, std::vector<Shape>& all) {
    if (count == 1) all.push_back(so_far);
    if (rank == 0) return;
    for (std::int64_t size = 1; size <= count; ++size) {
        if (count % size != 0) continue;
        Shape longer = so_far;
        longer.push_back(size);
        factorisations(count / size, rank - 1, longer, all);
    }
}

// True if strides exist that view `x` as `shape`. The first step along each axis determines them;
// then every element must match.
bool has_strides(const Tensor& x, const Shape& shape) {
    std::vector<std::int64_t> where;
    test::for_each_index(x.shape(),
                         [&](const Shape& i) { where.push_back(test::dot(i, x.strides())); });
    const Strides dense = contiguous_strides(shape);
    Strides strides = Shape::filled(shape.rank(), 0);
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] > 1) strides[axis] = where[static_cast<std::size_t>(dense[axis])];
    }
    bool all = true;
    std::size_t next = 0;
    test::for_each_index(
        shape, [&](const Shape& i) { all = all && test::dot(i, strides) == where[next++]; });
    return all;
}

}  // namespace

TEST_CASE("views: reshape keeps the order, and copies only where no strides exist") {
    Generator random(3);
    int shared = 0;
    int copied = 0;
    for (int round = 0; round < 300; ++round) {
        const Tensor x = test::random_layout(random);
        std::vector<Shape> shapes;
        factorisations(x.numel(), 4, {}, shapes);
        for (int tries = 0; tries < 8; ++tries) {
            const Shape& shape =
                shapes[static_cast<std::size_t>(pick(random, static_cast<int>(shapes.size())))];
            const auto view = views::try_reshape(x, shape);
            CAPTURE(fmt::format("{} {} to {}", x.shape(), x.strides(), shape));
            CHECK(view.has_value() == has_strides(x, shape));
            if (view) {
                CHECK(view->storage() == x.storage());
                CHECK(view->shape() == shape);
                CHECK(elements(*view) == elements(x));
            }
            const Tensor y = views::reshape(x, shape);
            CHECK(y.shape() == shape);
            CHECK(elements(y) == elements(x));
            (view ? shared : copied) += 1;
        }
    }
    CHECK(shared > 300);
    CHECK(copied > 300);
}

TEST_CASE("views: reshape of expanded tensors") {
    const Tensor rows = views::expand(tensor<float>({1, 2, 3}), {4, 3});  // strides [0, 1]
    CHECK_FALSE(views::try_reshape(rows, {12}).has_value());
    CHECK(elements(views::reshape(rows, {2, 6})) ==
          std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
    const auto split = views::try_reshape(rows, {2, 2, 3});
    REQUIRE(split.has_value());
    CHECK(split->strides() == Strides{0, 0, 1});
    const Tensor all = views::expand(scalar(5), {2, 6});  // one element for all: any shape fits
    const auto flat = views::try_reshape(all, {3, 4});
    REQUIRE(flat.has_value());
    CHECK(elements(*flat) == std::vector<double>(12, 5));
}

TEST_CASE("views: reshape of empty and single elements") {
    CHECK(views::reshape(zeros({0, 3}), {5, 0}).shape() == Shape{5, 0});
    CHECK(views::reshape(zeros({0, 3}), {-1, 3}).shape() == Shape{0, 3});
    CHECK(views::reshape(zeros({1, 1}), {}).shape() == Shape{});
    CHECK(views::reshape(scalar(3), {1, -1, 1}).item() == 3);
    const Tensor one = views::slice(zeros({4, 4}), 1, 2, 3);
    CHECK(views::reshape(views::slice(one, 0, 3, 4), {}).offset() == 14);
}

TEST_CASE("views: -1 in a shape") {
    CHECK(views::infer_shape("reshape", {-1}, 6) == Shape{6});
    CHECK(views::infer_shape("reshape", {2, -1, 3}, 6) == Shape{2, 1, 3});
    CHECK(views::infer_shape("reshape", {-1, 2}, 0) == Shape{0, 2});
    constexpr std::int64_t kHuge = std::int64_t{1} << 40;
    check_throws<ShapeError>(
        [] {
            views::infer_shape("reshape", {-1, -1}, 6);
        },
        "reshape: more than one -1 in [-1, -1]");
    check_throws<ShapeError>(
        [] {
            views::infer_shape("reshape", {4, -1}, 6);
        },
        "reshape: 6 elements do not fill [4, -1]");
    check_throws<ShapeError>(
        [] {
            views::infer_shape("reshape", {0, -1}, 0);
        },
        "reshape: 0 elements do not fill [0, -1]");
    check_throws<ShapeError>(
        [] {
            views::reshape(zeros({2, 3}), {4});
        },
        "reshape: 6 elements do not fill [4]");
    check_throws<ShapeError>(
        [] {
            views::reshape(zeros({2, 3}), {-2, -3});
        },
        "shape: negative size in [-2, -3]");
    check_throws<ShapeError>(
        [] {
            views::reshape(zeros({2, 3}), {kHuge, kHuge, -1});
        },
        "reshape: 6 elements do not fill [1099511627776, 1099511627776, -1]");
}

TEST_CASE("views: permute and transpose") {
    Generator random(5);
    for (int round = 0; round < 100; ++round) {
        const Tensor x = test::random_layout(random);
        std::vector<int> order(static_cast<std::size_t>(x.rank()));
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i) {
            std::swap(order[i - 1], order[random.below(i)]);
        }
        const Tensor y = views::permute(x, order);
        CHECK(y.storage() == x.storage());
        std::vector<double> expected;
        test::for_each_index(y.shape(), [&](const Shape& i) {
            Shape from = i;
            for (int axis = 0; axis < x.rank(); ++axis) {
                from[order[static_cast<std::size_t>(axis)]] = i[axis];
            }
            expected.push_back(x.data<float>()[test::dot(from, x.strides())]);
        });
        CHECK(elements(y) == expected);
    }
    const Tensor x = zeros({2, 3, 4});
    CHECK(views::permute(x, {-1, 0, 1}).shape() == Shape{4, 2, 3});
    CHECK(views::transpose(x, 0, -1).shape() == Shape{4, 3, 2});
    CHECK(views::transpose(x, 1, 1).shape() == x.shape());
    CHECK(views::permute(scalar(1), {}).item() == 1);
    check_throws<ShapeError>(
        [&] {
            views::permute(x, {0, 1});
        },
        "permute: got 2 axes for a tensor of rank 3");
    check_throws<ShapeError>(
        [&] {
            views::permute(x, {0, 1, -2});
        },
        "permute: axis -2 is named twice");
    check_throws<ShapeError>(
        [&] {
            views::permute(x, {0, 1, 3});
        },
        "permute: axis 3 is outside a tensor of rank 3");
    check_throws<ShapeError>([&] { views::transpose(scalar(1), 0, 1); },
                             "transpose: axis 0 is outside a tensor of rank 0");
}

TEST_CASE("views: slice clips like Python") {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    const auto clipped = [](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + 5 : i, 0, 5);
    };
    const Tensor x = arange(5, DType::f32);
    for (const std::int64_t start :
         {kLeast, std::int64_t{-7}, std::int64_t{-5}, std::int64_t{-2}, std::int64_t{0},
          std::int64_t{3}, std::int64_t{5}, std::int64_t{9}, kMost}) {
        for (const std::int64_t stop : {kLeast, std::int64_t{-6}, std::int64_t{-1}, std::int64_t{0},
                                        std::int64_t{2}, std::int64_t{5}, kMost}) {
            for (const std::int64_t step :
                 {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{5}, kMost}) {
                std::vector<double> expected;
                for (std::int64_t i = clipped(start); i < clipped(stop);) {
                    expected.push_back(static_cast<double>(i));
                    i = i > kMost - step ? kMost : i + step;
                }
                CHECK(elements(views::slice(x, 0, start, stop, step)) == expected);
            }
        }
    }
}

TEST_CASE("views: slice backwards clips like Python") {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    const auto clipped = [](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + 5 : i, -1, 4);
    };
    const Tensor x = arange(5, DType::f32);
    for (const std::int64_t start :
         {kLeast, std::int64_t{-6}, std::int64_t{-5}, std::int64_t{-2}, std::int64_t{0},
          std::int64_t{3}, std::int64_t{5}, std::int64_t{9}, kMost}) {
        for (const std::int64_t stop :
             {kLeast, std::int64_t{-6}, std::int64_t{-5}, std::int64_t{-1}, std::int64_t{0},
              std::int64_t{2}, kMost}) {
            for (const std::int64_t step :
                 {std::int64_t{-1}, std::int64_t{-2}, std::int64_t{-4}, std::int64_t{-5}, kLeast}) {
                std::vector<double> expected;
                for (std::int64_t i = clipped(start); i > clipped(stop);) {
                    expected.push_back(static_cast<double>(i));
                    i = step < -5 ? -1 : i + step;
                }
                const Tensor y = views::slice(x, 0, start, stop, step);
                CHECK(elements(y) == expected);
                CHECK(y.storage() == x.storage());
            }
        }
    }
    CHECK(views::slice(zeros({2, 0}), 1, -1, kLeast, -1).shape() == Shape{2, 0});
}

TEST_CASE("views: what is written through a view with negative strides") {
    Tensor x = zeros({2, 3});
    Tensor back = views::slice(x, 1, -1, -100, -1);
    back.copy_(tensor<float>({{1, 2, 3}, {4, 5, 6}}));
    CHECK(elements(x) == std::vector<double>{3, 2, 1, 6, 5, 4});
    views::select("select", back, 0, -1).fill_(7);
    CHECK(elements(x) == std::vector<double>{3, 2, 1, 7, 7, 7});
    back.copy_(x);  // overlapping: as if x were read first
    CHECK(elements(x) == std::vector<double>{1, 2, 3, 7, 7, 7});
    CHECK(elements(back.clone()) == std::vector<double>{3, 2, 1, 7, 7, 7});
    CHECK_FALSE(back.is_contiguous());
}

TEST_CASE("views: slice of a view, of an empty axis, and its errors") {
    const Tensor x = tensor<float>({{1, 2, 3}, {4, 5, 6}});
    const Tensor column = views::slice(views::permute(x, {1, 0}), 0, 1, 2);
    CHECK(elements(column) == std::vector<double>{2, 5});
    CHECK(elements(views::slice(views::slice(x, 1, 0, 3, 2), 1, 1, 2)) ==
          std::vector<double>{3, 6});
    CHECK(views::slice(zeros({2, 0}), 1, 0, 4).shape() == Shape{2, 0});
    CHECK(views::slice(x, -1, 2, 1).shape() == Shape{2, 0});
    check_throws<ValueError>([&] { views::slice(x, 0, 0, 2, 0); }, "slice: the step must not be 0");
    check_throws<ShapeError>([&] { views::slice(x, 2, 0, 1); },
                             "slice: axis 2 is outside a tensor of rank 2");
}

TEST_CASE("views: empty tensors whose other sizes are huge") {
    constexpr std::int64_t kHuge = std::int64_t{1} << 62;
    const Tensor x = zeros({kHuge, 0});
    CHECK(views::select("select", x, 0, -1).offset() == 0);  // of no element
    CHECK(views::slice(x, 0, kHuge / 2, kHuge, 3).offset() == 0);
    CHECK(views::diagonal(zeros({1, 0, kHuge}), 0, 0, 1).shape() == Shape{kHuge, 0});
    CHECK(views::reshape(x, {0, kHuge}).is_contiguous());
    float number = 0;
    const Tensor far = from_blob(&number, {4, 0}, {kHuge, kHuge});
    CHECK(views::select("select", far, 0, 3).shape() == Shape{0});
    CHECK(far.strides() == contiguous_strides({4, 0}));
}

TEST_CASE("views: expand") {
    const Tensor x = tensor<float>({{1}, {2}});
    const Tensor y = views::expand(x, {3, 2, 2});
    CHECK(y.storage() == x.storage());
    CHECK(y.strides() == Strides{0, 1, 0});
    CHECK(elements(y) == std::vector<double>{1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2});
    CHECK(views::expand(scalar(3), {}).item() == 3);
    CHECK(views::expand(scalar(3), {0, 2}).numel() == 0);
    CHECK(views::expand(zeros({1, 0}), {4, 0}).shape() == Shape{4, 0});
    check_throws<ShapeError>([&] { views::expand(zeros({2}), {3}); },
                             "expand: shapes do not broadcast: [2] and [3] (axis -1: 2 against 3)");
    check_throws<ShapeError>(
        [&] {
            views::expand(zeros({2, 3}), {3});
        },
        "expand: [2, 3] does not broadcast to [3]");
    check_throws<ShapeError>([&] { views::expand(zeros({2}), {1}); },
                             "expand: [2] does not broadcast to [1]");
    check_throws<ShapeError>([&] { views::expand(zeros({1}), {-1}); },
                             "shape: negative size in [-1]");
}

TEST_CASE("views: of an undefined tensor") {
    check_throws<Error>([] { views::permute(Tensor(), {}); }, "view: the tensor is undefined");
    check_throws<Error>([] { views::reshape(Tensor(), {0}); }, "view: the tensor is undefined");
    check_throws<Error>([] { views::expand(Tensor(), {2}); }, "view: the tensor is undefined");
}
