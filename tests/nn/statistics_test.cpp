// Statistics of a tensor as a page shows them.
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/inspect/statistics.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace tapestry;

TEST_CASE("inspect: statistics by hand") {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const ValueStatistics s = statistics_of(tensor<double>({1, 0, -2, nan, 5, inf, -inf}));
    CHECK_EQ(s.count, 7);
    CHECK_EQ(s.zeros, 1);
    CHECK_EQ(s.nans, 1);
    CHECK_EQ(s.infinities, 2);
    CHECK_EQ(s.min, -2);
    CHECK_EQ(s.max, 5);
    CHECK_EQ(s.mean, 1);
    CHECK_EQ(s.deviation, doctest::Approx(std::sqrt((0 + 1 + 9 + 16) / 4.0)));
    CHECK_EQ(s.rms(), doctest::Approx(std::sqrt((1 + 0 + 4 + 25) / 4.0)));
    CHECK_EQ(statistics_of(Tensor()).count, 0);
    CHECK_EQ(statistics_of(tensor<std::int64_t>({3, 4})).mean, 3.5);

    CHECK_EQ(statistics_of(tensor<double>({nan, inf})).min, 0);

    const Log2Histogram h = log2_histogram(tensor<double>({1, 1.99, -1, 0.25, 8, 0, nan, inf}));
    CHECK_EQ(h.first, -2);
    CHECK_EQ(h.counts, std::vector<std::int64_t>{1, 0, 3, 0, 0, 1});
    CHECK(log2_histogram(tensor<double>({0})).counts.empty());
}

// Longer than a single thread's chunk, and not a multiple of it.
TEST_CASE("inspect: statistics of a long tensor, the same bits for any number of threads") {
    constexpr std::int64_t n = 100'003;
    std::vector<float> values(n);
    for (std::int64_t i = 0; i < n; ++i)
        values[static_cast<std::size_t>(i)] = static_cast<float>(i);
    values[70'000] = std::numeric_limits<float>::infinity();
    const Tensor x = tensor(values, {n});
    const auto with_threads = [&](int threads) {
        const ThreadsGuard guard(threads);
        return statistics_of(x);
    };
    const ValueStatistics s = with_threads(1), t = with_threads(3);
    CHECK_EQ(s.count, n);
    CHECK_EQ(s.zeros, 1);
    CHECK_EQ(s.infinities, 1);
    CHECK_EQ(s.max, n - 1);
    const double sum = static_cast<double>(n) * (n - 1) / 2 - 70'000;
    CHECK_EQ(s.mean, doctest::Approx(sum / (n - 1)).epsilon(1e-14));
    CHECK_EQ(s.deviation, doctest::Approx(n / std::sqrt(12.0)).epsilon(1e-4));
    CHECK_EQ(s.mean, t.mean);
    CHECK_EQ(s.deviation, t.deviation);
}
