#include <tapestry/tests/mutations/sweeps_of_wrong.h>
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// Two outputs, `ratio` apart; the smaller one's slopes are off by a part of themselves.
Trial small_output_off(Draw& draw, std::uint64_t seed, double ratio, double off) {
    constexpr std::size_t kInputs = 200;
    const auto f = [ratio](const Values& x) {
        Values y(2, 0.0);
        for (const double a : x) {
            y[0] += std::sin(a);
            y[1] += std::cos(a + 0.3) / ratio;
        }
        return y;
    };
    const auto pullback = [ratio, off](const Values& x, const Values& g) {
        Values slopes;
        for (const double a : x) {
            slopes.push_back(g[0] * std::cos(a) - g[1] * (1 + off) * std::sin(a + 0.3) / ratio);
        }
        return slopes;
    };
    return {check_pullback(f, pullback, draw.values(kInputs, -1, 1), {.seed = seed}),
            fmt::format("{:.0e} apart", ratio), off};
}

// sum of s_i sin(x_i): `share` of the entries (0: one) are of size `small`, and are claimed
// `factor` times as large.
Trial small_entries_off(Draw& draw, std::uint64_t seed, std::size_t n, double small, double share,
                        double factor) {
    Values s(n, 1.0), claimed;
    const std::size_t one = draw.below(n);
    for (std::size_t i = 0; i < n; ++i) {
        const bool is_small = share > 0 ? draw.chance(share) : i == one;
        s[i] = draw.between(0.5, 2) * (is_small ? small : 1);
        claimed.push_back(s[i] * (is_small ? factor : 1));
    }
    const auto f = [s](const Values& x) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += s[i] * std::sin(x[i]);
        return sum;
    };
    const auto gradient = [claimed](const Values& x) {
        Values slopes(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) slopes[i] = claimed[i] * std::cos(x[i]);
        return slopes;
    };
    return {check_gradient(f, gradient, draw.values(n, -1.3, 1.3), {.seed = seed}),
            fmt::format("{} numbers, sizes {:.0e} apart", n, small),
            std::abs(factor - 1) / std::max(1.0, std::abs(factor))};
}

// A steep function whose slopes are all claimed off by the same part.
Trial steep_off(Draw& draw, std::uint64_t seed, const Template& from, double off) {
    const PlainCase one = from.draw(draw);
    const double factor = 1 + draw.sign() * off;
    const auto claim = [right = one.pullback, factor](const Values& x, const Values& g) {
        Values slopes = right(x, g);
        for (double& slope : slopes) slope *= factor;
        return slopes;
    };
    return {check_pullback(one.f, claim, one.x, {.seed = seed}, one.shape, one.output),
            fmt::format("n = {}; {}", one.x.size(), one.note), off / std::max(1.0, factor)};
}

}  // namespace

std::vector<Sweep> sweeps_of_wrong() {
    std::vector<Sweep> all;
    for (const double off : {1e-2, 1e-3, 3e-4, 1e-4, 5e-5, 1e-5, 1e-6}) {
        const auto run = [off](Draw& draw, std::uint64_t seed) {
            return small_output_off(draw, seed, draw.pick({1e4, 1e8, 1e12}), off);
        };
        all.push_back(
            {fmt::format("output 1e4 to 1e12 smaller, off by {:.0e}", off), 60, run, true});
    }
    for (const std::size_t n : {257U, 1000U, 100'000U}) {
        for (const double small : {1e-6, 1e-8, 1e-9, 1e-10}) {
            const auto run = [n, small](Draw& draw, std::uint64_t seed) {
                return small_entries_off(draw, seed, n, small, 0, -1);
            };
            all.push_back({fmt::format("sign of one of {}, {:.0e} of the others", n, small),
                           n > 1000 ? 4 : 20, run, true});
        }
    }
    for (const double small : {1e-8, 1e-10}) {
        for (const double share : {0.5, 0.9, 0.99}) {
            const auto run = [small, share](Draw& draw, std::uint64_t seed) {
                return small_entries_off(draw, seed, 1000, small, share, 0.5);
            };
            all.push_back({fmt::format("{} of 1000 halved, {:.0e} of the others", share, small), 20,
                           run, true});
        }
    }
    for (const Template& from : steep_templates()) {
        const auto run = [&from](Draw& draw, std::uint64_t seed) {
            return steep_off(draw, seed, from, draw.log_between(1e-3, 2e-2));
        };
        all.push_back({fmt::format("{}, off by 0.1 to 2 %", from.name), 60, run, true});
    }
    return all;
}

}  // namespace tapestry::test
