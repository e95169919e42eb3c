// Right gradients among many kinks: numbers that are masked, sorted, or clipped at the same place.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// y_i = a_i phi(x_i - k_i), or the sum of them; phi is straight on both sides of 0. Wrong: as if
// each number were above its kink, or below it.
PlainCase masked(Draw& draw) {
    const std::size_t n = draw.count(1, 40);
    const double below = draw.pick({0.0, 0.0, 0.01, -1.0, 1.0}), above = below == 1 ? 0 : 1;
    const bool sum = draw.chance(0.5), as_above = draw.chance(0.5);
    const Values a = draw.values(n), center = draw.values(n, -1, 1);
    Values k = center;
    for (double& kink : k) kink += draw.sign() * draw.log_between(1e-3, 1);
    const auto rule = [=](auto slope) {
        return [=](const Values& x, const Values& g) {
            Values slopes(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                slopes[i] = g[sum ? 0 : i] * a[i] * slope(x[i] - k[i]);
            }
            return slopes;
        };
    };
    PlainCase one;
    one.f = [=](const Values& x) {
        Values y(sum ? 1 : x.size(), 0.0);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double t = x[i] - k[i];
            y[sum ? 0 : i] += a[i] * t * (t > 0 ? above : below);
        }
        return y;
    };
    one.pullback = rule([=](double t) { return t > 0 ? above : below; });
    one.variants["mask dropped"] = rule([=](double) { return as_above ? above : below; });
    one.x = center;
    for (std::size_t i = 0; i < n; ++i) one.room = std::min(one.room, std::abs(center[i] - k[i]));
    one.note = fmt::format("slopes {} and {}, nearest kink {:.0e}", below, above, one.room);
    return one;
}

// sum over many numbers near 1 of a function with a kink there or at 1 +- 1e-3: relu, leaky relu,
// |.|, soft threshold, clamp, or the larger one of each pair. Next to x f is straight.
PlainCase many_kinks(Draw& draw) {
    constexpr double kEdge = 1e-3;
    const std::size_t n = 2 * draw.count(100, 500), kind = draw.below(6);
    const double width = draw.log_between(3e-4, 3e-2);
    // The slopes below, between and above the kinks at -edge and edge
    const double below = std::initializer_list<double>{0, 0.01, -1, 1, 0}.begin()[kind % 5];
    const double edge = kind == 3 || kind == 4 ? kEdge : 0, above = kind == 4 ? 0 : 1;
    const double between = kind == 4 ? 1 : 0;
    const auto slope = [=](double t) { return t < -edge ? below : t > edge ? above : between; };
    const auto value = [=](double t) {
        const double inside = std::clamp(t, -edge, edge);
        return between * inside + (t - inside) * slope(t);
    };
    PlainCase one;
    one.x = draw.values(n, 1 - width, 1 + width);
    const Values x = one.x;
    if (kind == 5) {
        one = scalar_case(
            [](const Values& at) {
                double sum = 0;
                for (std::size_t i = 0; i < at.size(); i += 2) sum += std::max(at[i], at[i + 1]);
                return sum;
            },
            [](const Values& at) {
                Values g(at.size(), 0.0);
                for (std::size_t i = 0; i < at.size(); i += 2) g[at[i] > at[i + 1] ? i : i + 1] = 1;
                return g;
            },
            x);
    } else {
        one = scalar_case(
            [value](const Values& at) {
                double sum = 0;
                for (const double a : at) sum += value(a - 1);
                return sum;
            },
            [slope](const Values& at) {
                Values g;
                for (const double a : at) g.push_back(slope(a - 1));
                return g;
            },
            x);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double apart = kind == 5 ? (x[i] - x[i ^ 1U]) / 2 : std::abs(x[i] - 1) - edge;
        one.room = std::min(one.room, std::abs(apart));
    }
    one.hidden = true;  // all numbers move at once, and some kink is always near
    one.note = fmt::format("kind {}, within {:.0e}, nearest kink {:.0e}", kind, width, one.room);
    return one;
}

// sum of w_r x_(r), where x_(r) is the r-th smallest number: from afar f has other slopes.
PlainCase ranks(Draw& draw) {
    const std::size_t n = draw.count(5, 600), kind = draw.below(5);
    const std::size_t largest = draw.count(1, n);
    const double width = draw.log_between(1e-3, 1), center = draw.sign() * 3;
    const Values drawn = draw.values(n);
    const auto weight = [=](std::size_t rank) {
        const auto r = static_cast<double>(rank);
        switch (kind) {
            case 0: return 0.37 * static_cast<double>(rank % 5);
            case 1: return 2 * r + 1 - static_cast<double>(n);  // Gini: |x_i - x_j| of all pairs
            case 2: return rank + largest < n ? 0.0 : 1.0;      // the largest
            case 3: return rank == n / 2 ? 1.0 : 0.0;           // the median
            default: return drawn[rank];
        }
    };
    const auto order_of = [](const Values& at) {
        std::vector<std::size_t> order(at.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&at](std::size_t a, std::size_t b) { return at[a] < at[b]; });
        return order;
    };
    PlainCase one = scalar_case(
        [weight](const Values& at) {
            Values sorted = at;
            std::sort(sorted.begin(), sorted.end());
            double sum = 0;
            for (std::size_t r = 0; r < sorted.size(); ++r) sum += weight(r) * sorted[r];
            return sum;
        },
        [weight, order_of](const Values& at) {
            const std::vector<std::size_t> order = order_of(at);
            Values g(at.size());
            for (std::size_t r = 0; r < order.size(); ++r) g[order[r]] = weight(r);
            return g;
        },
        draw.values(n, center - width, center + width));
    const std::vector<std::size_t> order = order_of(one.x);
    for (std::size_t r = 1; r < n; ++r) {
        if (weight(r) == weight(r - 1)) continue;
        one.room = std::min(one.room, (one.x[order[r]] - one.x[order[r - 1]]) / 2);
    }
    one.hidden = n > 256;  // all numbers move at once then, and some pair is always near
    one.note = fmt::format("kind {}, within {:.0e}, nearest pair {:.0e}", kind, width, one.room);
    return one;
}

}  // namespace

const std::vector<Template>& many_kink_templates() {
    static const std::vector<Template> all{
        {"masked", masked},
        {"many kinks", many_kinks},
        {"ranks", ranks},
    };
    return all;
}

}  // namespace tapestry::test
