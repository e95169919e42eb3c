// Arguments that no one means, at which sizes and places left the range that memory has.
#include <doctest/doctest.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/convolution.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/low_rank_linear.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/pooling.h>
#include <tapestry/ops/rearrange.h>
#include <tapestry/tests/core/scratch.h>

#include <cmath>
#include <limits>

using namespace tapestry;
using test::check_message;

TEST_CASE("extreme arguments: histc of a range of the smallest numbers") {
    constexpr double kLeast = std::numeric_limits<double>::denorm_min();
    const Tensor x = tensor<double>({0, 3 * kLeast, 4 * kLeast, 1});
    CHECK(histc(x, 2, 3 * kLeast, 4 * kLeast).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{1, 1});
    CHECK(histc(x, 2, 0, kLeast).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0});
    constexpr double kMost = std::numeric_limits<double>::max();
    CHECK(histc(x, 2, -kMost, kMost).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 4});
}

TEST_CASE("extreme arguments: windows over padding only") {
    const Tensor rows = zeros({1, 1, 0, 5}), columns = zeros({2, 1, 5, 0});
    const Pool2dOptions options{.padding = 1};
    for (const Tensor& x : {rows, columns}) {
        check_message<ShapeError>([&] { max_pool2d(x, 2, options); }, "has no pixels");
        check_message<ShapeError>([&] { avg_pool2d(x, 2, options); }, "has no pixels");
    }
    check_message<ShapeError>(
        [] {
            max_pool1d(zeros({1, 1, 0}), 2, {.padding = 1});
        },
        "has no pixels");
    CHECK_EQ(max_pool2d(zeros({0, 1, 4, 4}), 2, options).shape(), Shape{0, 1, 3, 3});
}

TEST_CASE("extreme arguments: padded images beyond any memory") {
    constexpr std::int64_t kFar = std::int64_t{1} << 31;
    const Tensor x = zeros({1, 1, 4, 4}), w = zeros({1, 1, 3, 3});
    check_message<MemoryError>(
        [&] { conv2d(x, w, {}, {.stride = kFar, .padding = kFar - 2}); },
        "convolution: images [1, 1, 4, 4] with padding 2147483646 are too large");
}

TEST_CASE("extreme arguments: counts and places") {
    check_message<ValueError>(
        [] {
            repeat_interleave(zeros({2}), tensor<std::int64_t>({1, std::int64_t{1} << 62}), 0);
        },
        "counts must be from 0 to 2^48 - 1, got 4611686018427387904 for element 1");
    const Tensor x = zeros({1, 2}), weight = zeros({3, 2});
    const LowRankUpdate beyond{.a = zeros({1, 2}),
                               .b = zeros({3, 1}),
                               .scale = 1,
                               .first = std::numeric_limits<std::int64_t>::max()};
    check_message<ShapeError>([&] { low_rank_linear(x, weight, {}, {beyond}); },
                              "an update of 3 outputs from 9223372036854775807 on, of 3");
}

TEST_CASE("extreme arguments: keys without a query's head") {
    const Tensor q = zeros({1, 0, 3, 4}), k = zeros({1, 2, 3, 4});
    check_message<ShapeError>([&] { scaled_dot_product_attention(q, k, k, {.grouped = true}); },
                              "2 heads of keys [1, 2, 3, 4] do not divide the 0 of queries");
    CHECK_EQ(scaled_dot_product_attention(q, q, q, {.grouped = true}).shape(), q.shape());
}

// It was infinity: no path seemed to lead past the number, and zero_infinity made that 0.
TEST_CASE("extreme arguments: ctc_loss of a NaN is NaN") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Tensor targets = tensor<std::int64_t>({1}).reshape(1, 1);
    const Tensor three = tensor<std::int64_t>({3}), one = tensor<std::int64_t>({1});
    for (std::int64_t step = 0; step < 3; ++step) {
        Tensor log_p = full({1, 3, 2}, -0.7);
        log_p.mutable_data<float>()[2 * step + 1] = nan;
        const Tensor loss = ctc_loss(log_p, targets, three, one, {.zero_infinity = true});
        CHECK_MESSAGE(std::isnan(loss.item()), step);
    }
}
