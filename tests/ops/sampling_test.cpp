// Samples have the requested distribution.
#include <tapestry/ops/sampling.h>
#include <tapestry/tests/core/support.h>

#include <cmath>
#include <map>

using namespace tapestry;

namespace {

using Row = std::vector<std::int64_t>;

// sum (observed - expected)^2 / expected
double chi_squared(const std::vector<double>& seen, const std::vector<double>& probability,
                   double draws) {
    double sum = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const double expected = draws * probability[i];
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    return sum;
}

constexpr int kDraws = 20'000;
constexpr double kOneInTenThousand[] = {0, 15.2, 18.5, 21.2, 23.6, 25.8};  // by degrees of freedom

}  // namespace

TEST_CASE("multinomial: as often as the weights say") {
    Generator generator(3);
    const Tensor weights = tensor<float>({1, 0, 2, 5});
    const Tensor drawn = multinomial(weights, kDraws, true, generator);
    std::vector<double> seen(4);
    for (const std::int64_t k : drawn.to_vector<std::int64_t>())
        ++seen[static_cast<std::size_t>(k)];
    CHECK_EQ(seen[1], 0);
    CHECK(chi_squared({seen[0], seen[2], seen[3]}, {0.125, 0.25, 0.625}, kDraws) <
          kOneInTenThousand[2]);
}

TEST_CASE(
    "multinomial: without replacement, each ordered pair as often as one draw after the other") {
    Generator generator(5);
    const Tensor weights = views::expand(tensor<double>({{1, 2, 3}}), {kDraws, 3});
    const Row drawn = multinomial(weights, 2, false, generator).to_vector<std::int64_t>();
    std::map<std::pair<std::int64_t, std::int64_t>, double> seen;
    for (std::size_t i = 0; i < drawn.size(); i += 2) ++seen[{drawn[i], drawn[i + 1]}];
    CHECK_EQ(seen.size(), 6);
    std::vector<double> counts;
    std::vector<double> probability;
    const double w[] = {1, 2, 3};
    for (const auto& [pair, count] : seen) {
        counts.push_back(count);
        probability.push_back(w[pair.first] / 6 * w[pair.second] / (6 - w[pair.first]));
    }
    CHECK(chi_squared(counts, probability, kDraws) < kOneInTenThousand[5]);
}

TEST_CASE("multinomial: all categories without replacement are all of them") {
    Generator generator(1);
    Row drawn = multinomial(ones({100}), 100, false, generator).to_vector<std::int64_t>();
    std::sort(drawn.begin(), drawn.end());
    CHECK_EQ(drawn, arange(100).to_vector<std::int64_t>());
}

TEST_CASE("multinomial: continues from the generator's state") {
    Generator generator(9);
    const Tensor weights = ones({1000});
    const Row first = multinomial(weights, 5, true, generator).to_vector<std::int64_t>();
    CHECK(first != multinomial(weights, 5, true, generator).to_vector<std::int64_t>());
    Generator again(9);
    CHECK_EQ(first, multinomial(weights, 5, true, again).to_vector<std::int64_t>());
}
