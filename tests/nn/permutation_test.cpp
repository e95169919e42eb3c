// The order of an epoch: a permutation for every size, different for every seed and epoch, and
// uniformly distributed.
#include <doctest/doctest.h>
#include <tapestry/nn/data/permutation.h>

#include <algorithm>
#include <array>
#include <vector>

using namespace tapestry;

TEST_CASE("permutation: every number below n, once") {
    for (const std::uint64_t n : std::vector<std::uint64_t>{1, 2, 3, 4, 5, 16, 17, 64, 65, 100, 255,
                                                            256, 257, 1000, 5000}) {
        for (std::uint64_t index = 0; index < 3; ++index) {
            const Permutation permutation(n, 42, index);
            std::vector<char> seen(n);
            for (std::uint64_t i = 0; i < n; ++i) {
                const std::uint64_t number = permutation(i);
                REQUIRE_LT(number, n);
                REQUIRE_EQ(seen[number]++, 0);
            }
        }
    }
}

TEST_CASE("permutation: no more of memory for more numbers than any text has") {
    const std::uint64_t n = (std::uint64_t{1} << 62) + 12345;
    const Permutation permutation(n, 1, 0);
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < 1000; ++i) numbers.push_back(permutation(i));
    CHECK_LT(*std::max_element(numbers.begin(), numbers.end()), n);
    std::sort(numbers.begin(), numbers.end());
    CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
    CHECK_GT(numbers[999], n / 2);
}

// Where each of 10 numbers lands, over 20,000 orders: 100 cells with 2,000 expected. The sum of
// (observed - expected)^2 / expected has mean 81 (9 x 9 degrees of freedom) and deviation 12.7.
TEST_CASE("permutation: every place is as likely for every number") {
    std::array<std::array<double, 10>, 10> seen{};
    for (std::uint64_t index = 0; index < 20'000; ++index) {
        const Permutation permutation(10, 7, index);
        for (std::uint64_t i = 0; i < 10; ++i) ++seen[i][permutation(i)];
    }
    double sum = 0;
    for (const auto& row : seen) {
        for (const double count : row) sum += (count - 2000) * (count - 2000) / 2000;
    }
    CHECK_LT(sum, 81 + 5 * 12.7);
}

TEST_CASE("permutation: neighbours do not stay neighbours") {
    const std::uint64_t n = 10'000;
    const Permutation permutation(n, 3, 0);
    int close = 0;
    for (std::uint64_t i = 0; i + 1 < n; ++i) {
        const auto a = static_cast<std::int64_t>(permutation(i));
        const auto b = static_cast<std::int64_t>(permutation(i + 1));
        close += std::abs(a - b) <= 10 ? 1 : 0;
    }
    CHECK_LT(close, 40);  // 20 expected
}
