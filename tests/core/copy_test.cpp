// Copying between layouts and dtypes, to overlapping memory, and to targets with repeated elements.
#include <tapestry/tests/core/support.h>

using namespace tapestry;
using tapestry::test::check_throws;
using tapestry::test::elements;

namespace {

// Row-major elements of `from` broadcast to `shape`.
std::vector<double> broadcast_elements(const Tensor& from, const Shape& shape) {
    std::vector<double> values;
    test::for_each_index(shape, [&](const Shape& index) {
        Shape tail;
        for (int axis = 0; axis < from.rank(); ++axis) {
            const std::int64_t i = index[axis + shape.rank() - from.rank()];
            tail.push_back(from.size(axis) == 1 ? 0 : i);
        }
        values.push_back(visit_dtype(from.dtype(), [&](auto zero) {
            return static_cast<double>(
                from.data<decltype(zero)>()[test::dot(tail, from.strides())]);
        }));
    });
    return values;
}

}  // namespace

TEST_CASE("copy: any layout to any layout, every pair of types") {
    Generator random(11);
    const DType dtypes[] = {DType::f32,     DType::f64,  DType::i64,
                            DType::boolean, DType::bf16, DType::f16};
    for (int round = 0; round < 300; ++round) {
        const DType from_dtype = dtypes[test::pick(random, 6)];
        const DType to_dtype = dtypes[test::pick(random, 6)];
        const Tensor from = test::random_layout(random, from_dtype);
        // The target: a permuted, strided window in separate memory.
        Shape base = from.shape();
        for (int axis = 0; axis < base.rank(); ++axis) base[axis] = 2 * base[axis] + 1;
        Tensor memory = full(base, 1, to_dtype);
        Tensor to = memory;
        for (int axis = 0; axis < base.rank(); ++axis) {
            to = views::slice(to, axis, 1, base[axis], 2);
        }
        to.copy_(from);
        std::vector<double> expected = elements(from);
        if (to_dtype == DType::boolean) {
            for (double& x : expected) x = x != 0 ? 1 : 0;
        }
        CHECK(elements(to) == expected);
        to.fill_(1);  // nothing outside the window was written: all is 1 again
        CHECK(elements(memory) == std::vector<double>(static_cast<std::size_t>(numel(base)), 1));
    }
}

TEST_CASE("copy: broadcasts") {
    Generator random(12);
    for (int round = 0; round < 200; ++round) {
        const Tensor from = test::random_layout(random, DType::f64, 3);
        Shape shape;
        for (int extra = test::pick(random, 3); extra > 0; --extra) {
            shape.push_back(1 + test::pick(random, 3));
        }
        for (const std::int64_t size : from.shape()) {
            shape.push_back(size == 1 ? 1 + test::pick(random, 4) : size);
        }
        Tensor to = zeros(shape);
        to.copy_(from);
        CHECK(elements(to) == broadcast_elements(from, shape));
    }
    Tensor none = zeros({0, 3});
    none.copy_(ones({3}));
    CHECK(none.numel() == 0);
    check_throws<ShapeError>([] { zeros({2}).copy_(zeros({0})); },
                             "copy: shapes do not broadcast: [0] and [2] (axis -1: 0 against 2)");
}

TEST_CASE("copy: long rows, on several threads") {
    for (const int threads : {1, 3}) {
        const ThreadsGuard guard(threads);
        const Tensor x = views::reshape(arange(300 * 400, DType::f32), {300, 400});
        const Tensor y = views::transpose(x, 0, 1).clone();
        CHECK(elements(views::transpose(y, 0, 1)) == elements(x));
        CHECK(elements(cast(x, DType::i64)) == elements(x));
    }
}

TEST_CASE("copy: overlapping memory is read before it is written") {
    Tensor x = tensor<float>({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
    x.copy_(views::transpose(x, 0, 1));
    CHECK(elements(x) == std::vector<double>{1, 4, 7, 2, 5, 8, 3, 6, 9});
    Tensor line = arange(6, DType::f64);
    Tensor tail = views::slice(line, 0, 1, 6);
    tail.copy_(views::slice(line, 0, 0, 5));
    CHECK(elements(line) == std::vector<double>{0, 0, 1, 2, 3, 4});
    line.copy_(line);
    CHECK(elements(line) == std::vector<double>{0, 0, 1, 2, 3, 4});
    line.copy_(views::slice(line, 0, 5, 6));  // broadcast from itself
    CHECK(elements(line) == std::vector<double>(6, 4));
}

TEST_CASE("copy: an expanded tensor cannot be written") {
    Tensor x = zeros({3, 1});
    Tensor wide = views::expand(x, {2, 3, 4});
    check_throws<ShapeError>([&] { wide.copy_(ones({4})); },
                             "copy: the target [2, 3, 4] is expanded along axis 0, its elements "
                             "share one place in memory: clone() it first");
    check_throws<ShapeError>([&] { wide.fill_(1); },
                             "fill: the target [2, 3, 4] is expanded along axis 0, its elements "
                             "share one place in memory: clone() it first");
    CHECK(elements(x) == std::vector<double>{0, 0, 0});
    views::expand(x, {1, 3, 1}).fill_(2);  // no element is repeated: allowed
    CHECK(elements(x) == std::vector<double>{2, 2, 2});
    views::expand(scalar(1), {0, 4}).fill_(3);  // nothing to write
}

TEST_CASE("copy: dense and cast share where they can") {
    Tensor x = zeros({2, 3});
    x.set_requires_grad();
    CHECK(dense(x).storage() == x.storage());
    CHECK_FALSE(dense(x).requires_grad());
    CHECK(dense(views::transpose(x, 0, 1)).storage() != x.storage());
    CHECK(dense(views::slice(x, 0, 1, 2)).storage() == x.storage());
    CHECK(dense(views::slice(x, 0, 1, 2)).offset() == 3);
    CHECK(cast(x, DType::f32).storage() == x.storage());
    CHECK_FALSE(cast(x, DType::f32).requires_grad());
    CHECK(cast(x, DType::f64).dtype() == DType::f64);
}

TEST_CASE("copy: bytes are those of a contiguous tensor") {
    Tensor x = tensor<float>({1, 2, 3, 4});
    Tensor last = views::slice(x, 0, 2, 4);
    CHECK(bytes_of(x).size() == 16);
    CHECK(bytes_of(last).data() == bytes_of(x).data() + 8);
    mutable_bytes_of(last)[3] = std::byte{0xC0};  // the sign and the exponent of 3
    CHECK(elements(x) == std::vector<double>{1, 2, -3, 4});
    CHECK(bytes_of(zeros({0, 3})).empty());
    check_throws<ShapeError>([&] { bytes_of(views::slice(x, 0, 0, 4, 2)); },
                             "bytes_of: needs a contiguous tensor, got [2] with strides [2]");
}

TEST_CASE("copy: conversions") {
    const Tensor x = tensor<double>({-1.9, 0, 0.4, 3.7, 1e300});
    CHECK(cast(x, DType::i64).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{-1, 0, 0, 3, std::numeric_limits<std::int64_t>::max()});
    CHECK(cast(x, DType::boolean).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{1, 0, 1, 1, 1});
    CHECK(cast(tensor<double>({0.1}), DType::f32).item<float>() == 0.1F);
}
