// Order beyond the rows of the op table: NaN, zeros of both signs, infinities, various input
// orders, and which of equal elements gets the gradient.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/reduction.h>

#include <cmath>
#include <limits>
#include <numeric>

using namespace tapestry;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
using Places = std::vector<std::int64_t>;

Places places(const Tensor& x) { return x.to_vector<std::int64_t>(); }

// Values with NaN replaced by a number that does not occur.
std::vector<double> values(const Tensor& x) {
    auto all = x.to_vector<double>();
    for (double& value : all) value = std::isnan(value) ? 1e9 : value;
    return all;
}

// The gradient of the sum of f(x).
template <class F>
std::vector<double> gradient_of(Tensor x, F f) {
    x.set_requires_grad();
    Tape tape;
    tape.backward(sum(f(x)));
    return x.grad().to_vector<double>();
}

// Rows of n elements: sorted, reversed, sawtooth, all equal.
std::vector<Tensor> orders_of(std::int64_t n, DType dtype) {
    std::vector<std::vector<double>> rows(4, std::vector<double>(static_cast<std::size_t>(n)));
    for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        rows[0][at] = static_cast<double>(i);
        rows[1][at] = static_cast<double>(n - i);
        rows[2][at] = static_cast<double>(i % 7) - 3;
        rows[3][at] = 5;
    }
    std::vector<Tensor> tensors;
    for (const auto& row : rows) tensors.push_back(cast(tensor(row, {n}), dtype));
    return tensors;
}

}  // namespace

TEST_CASE("order: NaN is the largest, -0 is 0, and equals keep their order") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        CAPTURE(dtype);
        const Tensor x = cast(tensor<double>({kNan, 0.0, kInf, -0.0, -kNan, -kInf, -1}), dtype);
        CHECK(places(argsort(x)) == Places{5, 6, 1, 3, 2, 0, 4});
        CHECK(places(argsort(x, 0, true)) == Places{0, 4, 2, 1, 3, 6, 5});
        CHECK(places(topk(x, 3).indices) == Places{0, 4, 2});
        CHECK(places(topk(x, 4, 0, false).indices) == Places{5, 6, 1, 3});
        CHECK(places(kthvalue(x, 6).indices) == Places{0});
        CHECK(std::signbit(sort(x).values.at({3})));  // the original values are returned
    }
}

TEST_CASE("order: many NaN, by counting and by comparing alike") {
    std::vector<float> x(1000, std::numeric_limits<float>::quiet_NaN());
    x[700] = 2;
    x[600] = 2;
    const Tensor row = tensor(x, {1000});
    CHECK(places(topk(row, 3, 0, false).indices) == Places{600, 700, 0});
    CHECK(places(topk(row, 2).indices) == Places{0, 1});
    Places order(1000);
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + 700);
    order.erase(order.begin() + 600);
    order.insert(order.begin(), {600, 700});
    CHECK(places(argsort(row)) == order);
}

TEST_CASE("order: the extremes of i64") {
    constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
    constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
    const Tensor x = tensor<std::int64_t>({kHigh, 0, kLow, -1, kHigh});
    CHECK(sort(x).values.dtype() == DType::i64);
    CHECK(places(sort(x).values) == Places{kLow, -1, 0, kHigh, kHigh});
    CHECK(places(topk(x, 2).indices) == Places{0, 4});
    CHECK(sort(tensor<bool>({true, false})).values.dtype() == DType::boolean);
}

TEST_CASE("topk: the beginning of the sorted row, for any row and k") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
        for (const std::int64_t n : {1, 63, 600, 3000}) {
            std::vector<Tensor> rows = orders_of(n, dtype);
            Generator generator(static_cast<std::uint64_t>(n));
            rows.push_back(cast(uniform({n}, -99, 99, generator), dtype));
            for (const Tensor& row : rows) {
                for (const bool largest : {true, false}) {
                    const Tensor order = argsort(row, 0, largest);
                    for (const std::int64_t k : {std::int64_t{1}, n / 10, n / 2, n}) {
                        const Tensor head = views::slice(order, 0, 0, k);
                        CHECK(places(topk(row, k, 0, largest).indices) == places(head));
                    }
                }
            }
        }
    }
}

TEST_CASE("median: the lower of two, and the first NaN of a line") {
    CHECK_EQ(median(tensor<double>({4, 1, 3, 2})).item(), 2);
    CHECK_EQ(median(tensor<std::int64_t>({4, 1, 3})).item<std::int64_t>(), 3);
    const Selection lines = median(tensor<double>({{1, kNan, kNan}, {kInf, 2, -kInf}}), 1, true);
    CHECK(places(lines.indices) == Places{1, 1});
    CHECK(values(lines.values) == std::vector<double>{1e9, 2});
    CHECK(lines.values.shape() == Shape{2, 1});
}

TEST_CASE("quantile: NaN and infinities") {
    const Tensor x = tensor<double>({{1, kNan, 3}, {kInf, 1, 2}, {-kInf, 4, 5}});
    CHECK(values(quantile(x, 0, 1)) == std::vector<double>{1e9, 1, -kInf});
    CHECK(values(quantile(x, 0.5, -1)) == std::vector<double>{1e9, 2, 4});
    CHECK(values(quantile(x, 0.75, 1)) == std::vector<double>{1e9, kInf, 4.5});
    CHECK(values(quantile(x, 0.25, 1)) == std::vector<double>{1e9, 1.5, -kInf});
    const Tensor largest = full({2}, std::numeric_limits<double>::max(), DType::f64);
    CHECK(quantile(mul(largest, tensor<double>({-1, 1})), 0.5).item() == 0);
    CHECK(quantile(full({4}, 0.1), 0.3).item<float>() == 0.1F);
}

TEST_CASE("order: the gradient goes to the element that was taken, of equals to the first") {
    const Tensor x = tensor<double>({2, 5, 5, 1});
    const auto max_of = [](const Tensor& v) { return max_with_indices(v, 0).values; };
    const auto min_of = [](const Tensor& v) { return min_with_indices(v, 0).values; };
    const auto median_of = [](const Tensor& v) { return median(v); };
    const auto two = [](const Tensor& v) { return topk(v, 2).values; };
    const auto between = [](const Tensor& v) { return quantile(v, 0.25, 0); };  // between 1 and 2
    CHECK(gradient_of(x, max_of) == std::vector<double>{0, 1, 0, 0});
    CHECK(gradient_of(x, min_of) == std::vector<double>{0, 0, 0, 1});
    CHECK(gradient_of(x, median_of) == std::vector<double>{1, 0, 0, 0});
    CHECK(gradient_of(x, two) == std::vector<double>{0, 1, 1, 0});
    CHECK(gradient_of(x, between) == std::vector<double>{0.75, 0, 0, 0.25});
}

TEST_CASE("max_with_indices, min_with_indices: the first NaN wins both ways") {
    const Tensor x = tensor<float>({1, std::nanf(""), 3, std::nanf("")});
    CHECK_EQ(max_with_indices(x, 0).indices.item<std::int64_t>(), 1);
    CHECK_EQ(min_with_indices(x, 0).indices.item<std::int64_t>(), 1);
    CHECK(std::isnan(min_with_indices(x, 0).values.item()));
}

TEST_CASE("unique: NaN is one value, the last, and 0 and -0 are the first of them") {
    const Unique found = unique(tensor<double>({kNan, -0.0, 7, 0.0, kNan}));
    CHECK(values(found.values) == std::vector<double>{0, 7, 1e9});
    CHECK(std::signbit(found.values.at({0})));
    CHECK(places(found.inverse) == Places{2, 0, 1, 0, 2});
    CHECK(places(found.counts) == Places{2, 1, 2});
    CHECK(unique(tensor<bool>({true})).values.dtype() == DType::boolean);
}
