#include <tapestry/tests/mutations/templates/planted.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// The right gradient with a change applied.
template <class Change>
Planted changed(const PlainCase& one, Change change, std::string note = {}) {
    return {[right = one.pullback, change](const Values& x, const Values& g) {
                Values slopes = right(x, g);
                change(slopes);
                return slopes;
            },
            std::move(note)};
}

struct Matrix {
    std::size_t rows = 0, columns = 0;
};

// x as rows and columns; empty for a vector, or with only one row or column.
Matrix matrix_of(const PlainCase& one) {
    if (one.shape.rank() != 2 || one.shape[0] < 2 || one.shape[1] < 2) return {};
    return {static_cast<std::size_t>(one.shape[0]), static_cast<std::size_t>(one.shape[1])};
}

// A relative error of either sign, from 1e-5 to 1.
double relative_error(Draw& draw) { return draw.sign() * draw.log_between(1e-5, 1); }

Planted negated(const PlainCase& one, Draw&) {
    return changed(one, [](Values& g) {
        for (double& slope : g) slope = -slope;
    });
}

Planted zeroed(const PlainCase& one, Draw&) {
    return changed(one, [](Values& g) { std::fill(g.begin(), g.end(), 0.0); });
}

Planted scaled_by(const PlainCase& one, double factor) {
    return changed(
        one,
        [factor](Values& g) {
            for (double& slope : g) slope *= factor;
        },
        fmt::format("times {}", factor));
}
Planted times_a_count(const PlainCase& one, Draw& draw) {
    const auto n = static_cast<double>(one.x.size());
    return scaled_by(one, draw.pick({2.0, 0.5, n + 1, 1 / (n + 1)}));
}
Planted times_nearly_one(const PlainCase& one, Draw& draw) {
    return scaled_by(one, 1 + relative_error(draw));
}

// Written by rows, read by columns.
Planted column_major(const PlainCase& one, Draw&) {
    const Matrix m = matrix_of(one);
    if (m.rows == 0) return {};
    return changed(one, [m](Values& g) {
        const Values right = g;
        for (std::size_t i = 0; i < g.size(); ++i) {
            g[i % m.columns * m.rows + i / m.columns] = right[i];
        }
    });
}

Planted reversed(const PlainCase& one, Draw&) {
    return changed(one, [](Values& g) { std::reverse(g.begin(), g.end()); });
}

Planted rows_flipped(const PlainCase& one, Draw&) {
    const Matrix m = matrix_of(one);
    if (m.rows == 0) return {};
    return changed(one, [m](Values& g) {
        const Values right = g;
        for (std::size_t i = 0; i < g.size(); ++i) {
            g[i] = right[(m.rows - 1 - i / m.columns) * m.columns + i % m.columns];
        }
    });
}

Planted shifted_around(const PlainCase& one, Draw& draw) {
    if (one.x.size() < 2) return {};
    const std::size_t by = draw.chance(0.5) ? 1 : 1 + draw.below(one.x.size() - 1);
    return changed(
        one,
        [by](Values& g) {
            std::rotate(g.begin(), g.end() - static_cast<std::ptrdiff_t>(by), g.end());
        },
        fmt::format("by {}", by));
}

Planted shifted_in_zeros(const PlainCase& one, Draw& draw) {
    if (one.x.size() < 3) return {};
    const bool up = draw.chance(0.5);
    return changed(one, [up](Values& g) {
        if (up) {
            g.insert(g.begin(), 0.0);
            g.pop_back();
        } else {
            g.erase(g.begin());
            g.push_back(0.0);
        }
    });
}

Planted factor_on_rows(const PlainCase& one, Draw& draw) {
    const Matrix m = matrix_of(one);
    if (m.rows == 0) return {};
    const double factor = draw.chance(0.5) ? 2 : 1 + relative_error(draw);
    const std::size_t from = draw.below(m.rows), to = from + 1 + draw.below(m.rows - 1);
    return changed(
        one,
        [=](Values& g) {
            for (std::size_t i = 0; i < g.size(); ++i) {
                const std::size_t row = i / m.columns;
                if ((row >= from && row < to) || row + m.rows < to) g[i] *= factor;
            }
        },
        fmt::format("times {}, {} rows from {}", factor, to - from, from));
}

Planted one_element(const PlainCase& one, Draw& draw) {
    if (one.x.size() < 2) return {};
    const std::size_t place = draw.below(one.x.size());
    const double factor = 1 + relative_error(draw);
    return changed(
        one, [=](Values& g) { g[place] *= factor; },
        fmt::format("times {} at {} of {}", factor, place, one.x.size()));
}

// for (i = 0; i < n - 1; ++i)
Planted last_one_missing(const PlainCase& one, Draw&) {
    if (one.x.size() < 2) return {};
    return changed(one, [](Values& g) { g.back() = 0; });
}

Planted two_exchanged(const PlainCase& one, Draw& draw) {
    if (one.x.size() < 4) return {};
    const std::size_t a = draw.below(one.x.size() - 1),
                      b = a + 1 + draw.below(one.x.size() - a - 1);
    return changed(
        one, [=](Values& g) { std::swap(g[a], g[b]); }, fmt::format("{} and {}", a, b));
}

// The other convention for complex numbers: d/d(re) - i d/d(im).
Planted conjugated(const PlainCase& one, Draw&) {
    if (matrix_of(one).columns != 2) return {};
    return changed(one, [](Values& g) {
        for (std::size_t i = 1; i < g.size(); i += 2) g[i] = -g[i];
    });
}

Planted clipped(const PlainCase& one, Draw& draw) {
    const double bound = draw.pick({1.0, 5.0});
    return changed(
        one,
        [bound](Values& g) {
            for (double& slope : g) slope = std::clamp(slope, -bound, bound);
        },
        fmt::format("at {}", bound));
}

Planted norm_clipped(const PlainCase& one, Draw& draw) {
    const double bound = draw.pick({1.0, 10.0});
    return changed(
        one,
        [bound](Values& g) {
            const double norm = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
            for (double& slope : g) slope *= norm > bound ? bound / norm : 1;
        },
        fmt::format("at {}", bound));
}

// A buffer that is added to and never cleared.
Planted accumulated(const PlainCase& one, Draw&) {
    const auto sum = std::make_shared<Values>(one.x.size(), 0.0);
    return changed(one, [sum](Values& g) {
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = (*sum)[i] += g[i];
    });
}

// Each output's gradient as if it depended only on its own element: y g.
Planted mean_missing(const PlainCase& one, Draw&) {
    if (one.output.rank() != 2 || !(one.shape == one.output)) return {};
    const double sum = [&] {
        const Values y = one.f(one.x);
        return std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(one.shape[0]);
    }();
    if (!(std::abs(sum - 1) < 1e-9)) return {};  // rows of a softmax sum to 1
    return {[f = one.f](const Values& x, Values g) {
        const Values y = f(x);
        for (std::size_t i = 0; i < g.size(); ++i) g[i] *= y[i];
        return g;
    }};
}

// The incoming gradient, unchanged.
Planted chain_missing(const PlainCase& one, Draw&) {
    if (one.output.empty() || !(one.shape == one.output)) return {};
    return {[](const Values&, const Values& g) { return g; }};
}

// A row repeated for many samples gets only the last one's gradient.
Planted last_sample(const PlainCase& one, Draw&) {
    if (one.output.rank() != 2 || one.shape.rank() != 1 || one.output[1] != one.shape[0]) return {};
    return {[right = one.pullback](const Values& x, Values g) {
        std::fill(g.begin(), g.end() - static_cast<std::ptrdiff_t>(x.size()), 0.0);
        return right(x, g);
    }};
}

// One of several outputs propagates no gradient.
Planted output_dropped(const PlainCase& one, Draw& draw) {
    const std::size_t m = one.f(one.x).size();
    if (m < 2) return {};
    const std::size_t which = draw.below(m);
    return {[right = one.pullback, which](const Values& x, Values g) {
                g[which] = 0;
                return right(x, g);
            },
            fmt::format("{} of {}", which, m)};
}

// The gradient at another point: of x before the last step.
Planted elsewhere(const PlainCase& one, Draw& draw) {
    const double moved = draw.log_between(1e-3, 0.1);
    return {[right = one.pullback, moved](Values x, const Values& g) {
                double sign = 1;
                for (double& value : x) value *= 1 + (sign = -sign) * moved;
                return right(x, g);
            },
            fmt::format("{:.1e} away", moved)};
}

// Every element wrong in a different way.
Planted garbled(const PlainCase& one, Draw& draw) {
    const double size = draw.log_between(1e-4, 1);
    Values factors = draw.values(one.x.size(), -size, size);
    for (double& factor : factors) factor += 1;
    return changed(
        one,
        [factors](Values& g) {
            for (std::size_t i = 0; i < g.size(); ++i) g[i] *= factors[i];
        },
        fmt::format("by {:.1e}", size));
}

// As if rounding were absent: where f is constant, the slope it would have without.
Planted straight_through(const PlainCase& one, Draw&) {
    const Values y = one.f(one.x), right = one.pullback(one.x, Values(y.size(), 1.0));
    const bool constant = std::all_of(right.begin(), right.end(), [](double a) { return a == 0; });
    if (!constant || y.size() != 1) return {};
    return {[](const Values& x, const Values& g) { return Values(x.size(), g[0]); }};
}

// The steepest slope of every output.
Values steepest(const PlainCase& one) {
    Values sizes;
    const std::size_t m = one.f(one.x).size();
    for (std::size_t k = 0; k < m; ++k) {
        Values g(m, 0.0);
        g[k] = 1;
        double most = 0;
        for (const double slope : one.pullback(one.x, g)) most = std::max(most, std::abs(slope));
        sizes.push_back(most);
    }
    return sizes;
}

// The rule of the flattest output is off by a part of itself.
Planted small_output(const PlainCase& one, Draw& draw) {
    const Values sizes = steepest(one);
    if (sizes.size() < 2) return {};
    const auto which =
        static_cast<std::size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    const double factor = 1 + draw.sign() * draw.log_between(1e-6, 1);
    return {[right = one.pullback, which, factor](const Values& x, Values g) {
                g[which] *= factor;
                return right(x, g);
            },
            fmt::format("times {}, {:.0e} of the steepest", factor,
                        sizes[which] / *std::max_element(sizes.begin(), sizes.end()))};
}

// One of the smallest entries, by its sign or by a part of itself
Planted small_entry(const PlainCase& one, Draw& draw) {
    if (one.x.size() < 2) return {};
    const std::size_t m = one.f(one.x).size();
    const Values g = one.pullback(one.x, Values(m, 1.0));
    std::size_t place = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
        if (g[i] != 0 && (g[place] == 0 || std::abs(g[i]) < std::abs(g[place]))) place = i;
    }
    const double factor = draw.chance(0.5) ? -1 : 1 + relative_error(draw);
    return changed(
        one, [=](Values& slopes) { slopes[place] *= factor; },
        fmt::format("times {} at {} of {}", factor, place, one.x.size()));
}

// The entries that f's rounding hides: 0, another sign, another size, or another entry's slope
Planted lost_entries(const PlainCase& one, Draw& draw) {
    constexpr double kLost = 1e-15;
    if (!one.by_own_size) return {};
    const Values g = one.pullback(one.x, Values(one.f(one.x).size(), 1.0));
    double most = 0;
    for (const double slope : g) most = std::max(most, std::abs(slope));
    std::vector<std::size_t> lost;
    for (std::size_t i = 0; i < g.size(); ++i) {
        if (std::abs(g[i]) < kLost * most) lost.push_back(i);
    }
    if (lost.empty()) return {};
    if (draw.chance(0.5)) lost = {lost[draw.below(lost.size())]};
    const double factor =
        draw.pick({0.0, -1.0, 2.0, draw.log_between(1e-3, 0.9), draw.log_between(1.1, 10)});
    return changed(
        one,
        [=](Values& slopes) {
            for (const std::size_t i : lost) slopes[i] *= factor;
        },
        fmt::format("times {}, {} of {}", factor, lost.size(), g.size()));
}

// All small entries, or the first or second half, times a factor
Planted half_of_them(const PlainCase& one, Draw& draw) {
    const std::size_t n = one.x.size();
    if (n < 4) return {};
    const double factor = draw.pick({0.5, 2.0, -1.0, 0.0});
    const Values g = one.pullback(one.x, Values(one.f(one.x).size(), 1.0));
    Values sorted = g;
    for (double& slope : sorted) slope = std::abs(slope);
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[n / 2];
    const std::size_t kind = draw.below(3);
    std::vector<bool> chosen(n);
    for (std::size_t i = 0; i < n; ++i) {
        chosen[i] = kind == 0 ? i < n / 2 : kind == 1 ? i % 2 == 1 : std::abs(g[i]) < median;
    }
    return changed(
        one,
        [=](Values& slopes) {
            for (std::size_t i = 0; i < n; ++i) slopes[i] *= chosen[i] ? factor : 1;
        },
        fmt::format("times {}, {}", factor,
                    kind == 0   ? "the first"
                    : kind == 1 ? "every second"
                                : "the smaller"));
}

// An inner number as a constant: an error of rank 1
Planted inner_number_held(const PlainCase& one, Draw&) { return {one.held, ""}; }

}  // namespace

const std::vector<PlantedMistake>& planted_mistakes() {
    static const std::vector<PlantedMistake> in_values{
        {"sign", {"sign flipped"}, negated},
        {"zero", {"zero where it should not be"}, zeroed},
        {"factor", {"constant factor"}, times_a_count},
        {"factor near 1", {"constant factor"}, times_nearly_one},
        {"column-major", {"transposed or permuted", "column-major"}, column_major},
        {"reversed", {"flipped"}, reversed},
        {"rows flipped", {"flipped"}, rows_flipped},
        {"shifted around", {"off by one element", "shifted"}, shifted_around},
        {"shifted, zeros in", {"off by one element", "shifted"}, shifted_in_zeros},
        {"factor on some rows", {"on some rows"}, factor_on_rows},
        {"one element", {"some elements only"}, one_element},
        {"last element missing", {"some elements only"}, last_one_missing},
        {"two exchanged", {"some elements only"}, two_exchanged},
        {"conjugate", {"conjugate"}, conjugated},
        {"clipped", {"not linear"}, clipped},
        {"norm clipped", {"not linear"}, norm_clipped},
        {"never cleared", {"keeps something"}, accumulated},
        {"mean missing", {"a term is missing: a sum or mean along an axis"}, mean_missing},
        {"chain factor missing", {"missing or doubled chain factor"}, chain_missing},
        {"last sample only",
         {"missing sum over a broadcast axis", "some samples only"},
         last_sample},
        {"output dropped",
         {"some samples only", "on some rows", "some elements only", "a contribution is dropped"},
         output_dropped},
        {"straight-through", {}, straight_through},
        {"at another point", {"unknown", "wrong formula"}, elsewhere},
        {"every element", {"unknown", "wrong formula"}, garbled},
        {"small output", {"on some rows", "some elements only"}, small_output},
        {"small entry", {"some elements only", "conjugate"}, small_entry},
        {"lost entries", {"some elements only"}, lost_entries},
        {"half of the elements",
         {"on some rows", "some elements only", "some samples only", "conjugate"},
         half_of_them},
        {"inner number held",
         {"a term is missing", "held constant", "wrong term"},
         inner_number_held},
    };
    static const std::vector<PlantedMistake> all = [] {
        auto joined = in_values;
        joined.insert(joined.end(), mistakes_in_terms().begin(), mistakes_in_terms().end());
        return joined;
    }();
    return all;
}

}  // namespace tapestry::test
