// Right gradients near points without one: absolute values, hinges, interpolation tables, sorting.
// Within `room` f is smooth, and only there do differences mean anything.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

double sign_of(double a) { return a > 0 ? 1 : -1; }

// sum of a_i |x_i - k_i| + sin(x_i), one x_i near its kink
PlainCase near_kink(Draw& draw) {
    const double distance = draw.log_between(1e-12, 1e-2);
    const Values x = draw.values(draw.count(1, 20));
    Values k = draw.values(x.size(), 3, 4);
    const std::size_t near = draw.below(x.size());
    k[near] = x[near] + draw.sign() * distance;
    PlainCase one = scalar_case(
        [k](const Values& at) {
            double sum = 0;
            for (std::size_t i = 0; i < at.size(); ++i) {
                sum += 2 * std::abs(at[i] - k[i]) + std::sin(at[i]);
            }
            return sum;
        },
        [k](const Values& at) {
            Values g(at.size());
            for (std::size_t i = 0; i < at.size(); ++i) {
                g[i] = 2 * sign_of(at[i] - k[i]) + std::cos(at[i]);
            }
            return g;
        },
        x);
    one.room = distance;
    one.note = fmt::format("{:.1e} from a kink", distance);
    return one;
}

// mean over samples of max(0, 1 - t a^T w)
PlainCase hinge(Draw& draw) {
    const std::size_t n = draw.count(2, 10), samples = draw.count(20, 10000);
    const Values a = draw.values(samples * n);
    const auto margin = [a, n](const Values& w, std::size_t s) {
        return 1 - std::inner_product(w.begin(), w.end(),
                                      a.begin() + static_cast<std::ptrdiff_t>(s * n), 0.0);
    };
    PlainCase one = scalar_case(
        [margin, samples](const Values& w) {
            double sum = 0;
            for (std::size_t s = 0; s < samples; ++s) sum += std::max(0.0, margin(w, s));
            return sum / static_cast<double>(samples);
        },
        [margin, a, samples](const Values& w) {
            Values g(w.size(), 0.0);
            for (std::size_t s = 0; s < samples; ++s) {
                if (margin(w, s) <= 0) continue;
                for (std::size_t i = 0; i < w.size(); ++i) g[i] -= a[s * w.size() + i];
            }
            for (double& slope : g) slope /= static_cast<double>(samples);
            return g;
        },
        draw.values(n, -1, 1));
    for (std::size_t s = 0; s < samples; ++s) {
        one.room = std::min(one.room, std::abs(margin(one.x, s)) / 2);
    }
    one.note = fmt::format("{} samples, nearest kink {:.0e}", samples, one.room);
    return one;
}

// Total variation: sum of |x(i+1, j) - x(i, j)| + |x(i, j+1) - x(i, j)| over an image
PlainCase total_variation(Draw& draw) {
    const std::size_t side = draw.chance(0.02) ? 100 : draw.count(2, 16);
    const auto each_pair = [side](auto visit) {
        for (std::size_t i = 0; i < side * side; ++i) {
            if (i % side + 1 < side) visit(i, i + 1);
            if (i + side < side * side) visit(i, i + side);
        }
    };
    PlainCase one = scalar_case(
        [each_pair](const Values& x) {
            double sum = 0;
            each_pair([&](std::size_t i, std::size_t j) { sum += std::abs(x[i] - x[j]); });
            return sum;
        },
        [each_pair](const Values& x) {
            Values g(x.size(), 0.0);
            each_pair([&](std::size_t i, std::size_t j) {
                g[i] += sign_of(x[i] - x[j]);
                g[j] -= sign_of(x[i] - x[j]);
            });
            return g;
        },
        draw.values(side * side, 0, 1));
    each_pair([&one](std::size_t i, std::size_t j) {
        one.room = std::min(one.room, std::abs(one.x[i] - one.x[j]));
    });
    one.shape = {static_cast<std::int64_t>(side), static_cast<std::int64_t>(side)};
    one.note = fmt::format("{0} x {0}, nearest kink {1:.0e}", side, one.room);
    return one;
}

// w^T relu(V x): a typical network
PlainCase relu_network(Draw& draw) {
    const std::size_t n = draw.count(2, 10), hidden = draw.count(2, 60);
    const Values v = draw.values(hidden * n, -1, 1), w = draw.values(hidden);
    const auto before = [v](const Values& x, std::size_t h) {
        return std::inner_product(x.begin(), x.end(),
                                  v.begin() + static_cast<std::ptrdiff_t>(h * x.size()), 0.0);
    };
    PlainCase one = scalar_case(
        [=](const Values& x) {
            double sum = 0;
            for (std::size_t h = 0; h < w.size(); ++h) sum += w[h] * std::max(0.0, before(x, h));
            return sum;
        },
        [=](const Values& x) {
            Values g(x.size(), 0.0);
            for (std::size_t h = 0; h < w.size(); ++h) {
                if (before(x, h) <= 0) continue;
                for (std::size_t i = 0; i < x.size(); ++i) g[i] += w[h] * v[h * x.size() + i];
            }
            return g;
        },
        draw.values(n));
    one.variants["mask dropped"] = [=](const Values& x, const Values& g) {
        Values slopes(x.size(), 0.0);
        for (std::size_t h = 0; h < w.size(); ++h) {
            for (std::size_t i = 0; i < x.size(); ++i)
                slopes[i] += g[0] * w[h] * v[h * x.size() + i];
        }
        return slopes;
    };
    for (std::size_t h = 0; h < hidden; ++h) {
        one.room = std::min(one.room, std::abs(before(one.x, h)));
    }
    one.note = fmt::format("nearest kink {:.0e}", one.room);
    return one;
}

// Linear interpolation in a table of sin
PlainCase table(Draw& draw) {
    const double cell = 1 / static_cast<double>(draw.count(10, 100000));
    const auto slope = [cell](double a) {
        const double left = std::floor(a / cell);
        return (std::sin((left + 1) * cell) - std::sin(left * cell)) / cell;
    };
    PlainCase one = scalar_case(
        [cell, slope](const Values& x) {
            double sum = 0;
            for (const double a : x) {
                const double left = std::floor(a / cell) * cell;
                sum += std::sin(left) + slope(a) * (a - left);
            }
            return sum;
        },
        [slope](const Values& x) {
            Values g;
            for (const double a : x) g.push_back(slope(a));
            return g;
        },
        draw.values(draw.count(1, 6)));
    for (double& a : one.x) {  // well within its cell
        a = (std::floor(a / cell) + draw.between(0.2, 0.8)) * cell;
    }
    one.room = 0.2 * cell;
    one.note = fmt::format("cells of {:.1e}", cell);
    return one;
}

// The mean of the middle half of the numbers, a statistic that sorts
PlainCase trimmed_mean(Draw& draw) {
    const std::size_t n = 4 * draw.count(1, 12);
    const auto middle = [](const Values& x) {
        std::vector<std::size_t> order(x.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&x](std::size_t a, std::size_t b) { return x[a] < x[b]; });
        const auto quarter = static_cast<std::ptrdiff_t>(x.size() / 4);
        return std::vector<std::size_t>(order.begin() + quarter, order.end() - quarter);
    };
    PlainCase one = scalar_case(
        [middle](const Values& x) {
            double sum = 0;
            for (const std::size_t i : middle(x)) sum += x[i] * x[i];
            return sum / static_cast<double>(x.size() / 2);
        },
        [middle](const Values& x) {
            Values g(x.size(), 0.0);
            for (const std::size_t i : middle(x)) g[i] = 4 * x[i] / static_cast<double>(x.size());
            return g;
        },
        draw.values(n));
    Values sorted = one.x;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i < n; ++i) one.room = std::min(one.room, sorted[i] - sorted[i - 1]);
    one.note = fmt::format("nearest kink {:.0e}", one.room);
    return one;
}

// Huber's loss: quadratic near 0, linear beyond `delta`; its first derivative is continuous, its
// second is not
PlainCase huber(Draw& draw) {
    const double delta = draw.log_between(0.01, 1);
    return scalar_case(
        [delta](const Values& x) {
            double sum = 0;
            for (const double a : x) {
                const double size = std::abs(a);
                sum += size < delta ? a * a / 2 : delta * (size - delta / 2);
            }
            return sum;
        },
        [delta](const Values& x) {
            Values g;
            for (const double a : x) g.push_back(std::clamp(a, -delta, delta));
            return g;
        },
        draw.values(draw.count(1, 30)));
}

// sum of round(8 x_i): piecewise constant; the right gradient is 0, and quantised networks are
// trained with another one
PlainCase staircase(Draw& draw) {
    PlainCase one = scalar_case(
        [](const Values& x) {
            double sum = 0;
            for (const double a : x) sum += std::round(8 * a) / 8;
            return sum;
        },
        [](const Values& x) { return Values(x.size(), 0.0); }, draw.values(draw.count(1, 20)));
    for (double& a : one.x) a = (std::round(8 * a) + draw.between(-0.3, 0.3)) / 8;
    one.room = 0.2 / 8;
    return one;
}

}  // namespace

const std::vector<Template>& kink_templates() {
    static const std::vector<Template> all{
        {"near a kink", near_kink},
        {"hinge loss", hinge},
        {"total variation", total_variation},
        {"relu network", relu_network},
        {"interpolated table", table},
        {"trimmed mean", trimmed_mean},
        {"Huber's loss", huber},
        {"staircase", staircase},
    };
    return all;
}

}  // namespace tapestry::test
