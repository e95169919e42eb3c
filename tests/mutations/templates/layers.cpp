// Layers with an inner number that the gradient must not forget (a norm, a mean square, a
// temperature, a radius), and layers whose authors take the rule of a similar one. Each brings its
// typical wrong rule.
#include <tapestry/tests/mutations/templates/template.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

double inner_product(const Values& a, const Values& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Values times(Values x, double factor) {
    for (double& value : x) value *= factor;
    return x;
}

// A function of every row by itself: f(row), backward(row, g of the row).
using RowFunction = std::function<Values(const Values& row)>;
using RowRule = std::function<Values(const Values& row, const Values& g)>;

Values row_of(const Values& x, std::size_t row, std::size_t columns) {
    const auto from = x.begin() + static_cast<std::ptrdiff_t>(row * columns);
    return {from, from + static_cast<std::ptrdiff_t>(columns)};
}

PlainPullback by_rows(const RowRule& rule, std::size_t columns) {
    return [rule, columns](const Values& x, const Values& g) {
        Values slopes;
        for (std::size_t row = 0; row < x.size() / columns; ++row) {
            const Values one = rule(row_of(x, row, columns), row_of(g, row, columns));
            slopes.insert(slopes.end(), one.begin(), one.end());
        }
        return slopes;
    };
}

PlainCase rows_case(Draw& draw, const RowFunction& f, const RowRule& right, const RowRule& held) {
    const std::size_t rows = draw.count(1, 5), columns = draw.count(3, 12);
    PlainCase one;
    one.f = [f, columns](const Values& x) {
        Values y;
        for (std::size_t row = 0; row < x.size() / columns; ++row) {
            const Values part = f(row_of(x, row, columns));
            y.insert(y.end(), part.begin(), part.end());
        }
        return y;
    };
    one.pullback = by_rows(right, columns);
    one.held = by_rows(held, columns);
    one.x = draw.values(rows * columns);
    one.shape = one.output = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    return one;
}

// y = x / r, r^2 = mean of x^2
PlainCase rms_norm(Draw& draw) {
    const auto root = [](const Values& x) {
        return std::sqrt(inner_product(x, x) / static_cast<double>(x.size()) + 1e-6);
    };
    return rows_case(
        draw, [root](const Values& x) { return times(x, 1 / root(x)); },
        [root](const Values& x, const Values& g) {
            const double r = root(x);
            const double along = inner_product(x, g) / (r * r * r * static_cast<double>(x.size()));
            Values slopes = times(g, 1 / r);
            for (std::size_t i = 0; i < x.size(); ++i) slopes[i] -= x[i] * along;
            return slopes;
        },
        [root](const Values& x, const Values& g) { return times(g, 1 / root(x)); });
}

// y = (x - mean) / s, s^2 = the variance; held: both
PlainCase layer_norm(Draw& draw) {
    struct Moments {
        double mean, deviation;
    };
    const auto moments = [](const Values& x) {
        const auto n = static_cast<double>(x.size());
        const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
        double variance = 1e-5;
        for (const double a : x) variance += (a - mean) * (a - mean) / n;
        return Moments{mean, std::sqrt(variance)};
    };
    const auto f = [moments](Values x) {
        const Moments m = moments(x);
        for (double& a : x) a = (a - m.mean) / m.deviation;
        return x;
    };
    return rows_case(
        draw, f,
        [moments, f](const Values& x, Values g) {
            const auto n = static_cast<double>(x.size());
            const Values y = f(x);
            const double mean = std::accumulate(g.begin(), g.end(), 0.0) / n;
            const double along = inner_product(g, y) / n, s = moments(x).deviation;
            for (std::size_t i = 0; i < g.size(); ++i) g[i] = (g[i] - mean - y[i] * along) / s;
            return g;
        },
        [moments](const Values& x, const Values& g) { return times(g, 1 / moments(x).deviation); });
}

// y = x R / |x|: onto a ball of radius R
PlainCase onto_a_ball(Draw& draw) {
    const double radius = draw.between(0.2, 1);
    const auto length = [](const Values& x) { return std::sqrt(inner_product(x, x)); };
    PlainCase one = rows_case(
        draw, [=](const Values& x) { return times(x, radius / length(x)); },
        [=](const Values& x, const Values& g) {
            const double r = length(x), along = inner_product(x, g) / (r * r);
            Values slopes = g;
            for (std::size_t i = 0; i < x.size(); ++i) slopes[i] -= x[i] * along;
            return times(slopes, radius / r);
        },
        [=](const Values& x, const Values& g) { return times(g, radius / length(x)); });
    return one;
}

// y = x^3 / (x^2 + t), t = mean of x^2: a smooth threshold that depends on all
PlainCase smooth_threshold(Draw& draw) {
    const auto threshold = [](const Values& x) {
        return inner_product(x, x) / static_cast<double>(x.size());
    };
    const auto slope = [](double a, double t) {
        return a * a * (a * a + 3 * t) / ((a * a + t) * (a * a + t));
    };
    return rows_case(
        draw,
        [threshold](Values x) {
            const double t = threshold(x);
            for (double& a : x) a = a * a * a / (a * a + t);
            return x;
        },
        [=](const Values& x, const Values& g) {
            const double t = threshold(x);
            double by_t = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double below = x[i] * x[i] + t;
                by_t -= g[i] * x[i] * x[i] * x[i] / (below * below);
            }
            Values slopes = g;
            for (std::size_t i = 0; i < x.size(); ++i) {
                slopes[i] = g[i] * slope(x[i], t) + by_t * 2 * x[i] / static_cast<double>(x.size());
            }
            return slopes;
        },
        [=](const Values& x, Values g) {
            const double t = threshold(x);
            for (std::size_t i = 0; i < x.size(); ++i) g[i] *= slope(x[i], t);
            return g;
        });
}

// a^T x / |x|: a similarity; held: the norm. The error is along x.
PlainCase similarity(Draw& draw) {
    const Values a = draw.values(draw.count(3, 30));
    const auto length = [](const Values& x) { return std::sqrt(inner_product(x, x)); };
    PlainCase one = scalar_case([=](const Values& x) { return inner_product(a, x) / length(x); },
                                [=](const Values& x) {
                                    const double r = length(x),
                                                 along = inner_product(a, x) / (r * r * r);
                                    Values g = times(a, 1 / r);
                                    for (std::size_t i = 0; i < x.size(); ++i) g[i] -= x[i] * along;
                                    return g;
                                },
                                draw.values(a.size()));
    one.held = [=](const Values& x, const Values& g) { return times(a, g[0] / length(x)); };
    return one;
}

// ---- rules of something similar -----------------------------------------------------------------

// y = (x - m) / s with constants m, s of each column, as a batch norm does in evaluation; wrong:
// training's rule, which subtracts two means over the batch
PlainCase norm_in_evaluation(Draw& draw) {
    const std::size_t rows = draw.count(4, 10), columns = draw.count(2, 6);
    const Values mean = draw.values(columns, -0.5, 0.5), deviation = draw.values(columns, 0.5, 2);
    PlainCase one;
    one.f = [=](Values x) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = (x[i] - mean[i % columns]) / deviation[i % columns];
        }
        return x;
    };
    one.pullback = [=](const Values&, Values g) {
        for (std::size_t i = 0; i < g.size(); ++i) g[i] /= deviation[i % columns];
        return g;
    };
    one.variants["training's rule"] = [=, f = one.f](const Values& x, const Values& g) {
        const Values y = f(x);
        Values slopes(g.size());
        for (std::size_t c = 0; c < columns; ++c) {
            double sum = 0, along = 0;
            for (std::size_t i = c; i < g.size(); i += columns) {
                sum += g[i] / static_cast<double>(rows);
                along += g[i] * y[i] / static_cast<double>(rows);
            }
            for (std::size_t i = c; i < g.size(); i += columns) {
                slopes[i] = (g[i] - sum - y[i] * along) / deviation[c];
            }
        }
        return slopes;
    };
    one.x = draw.values(rows * columns);
    one.shape = one.output = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    return one;
}

// y = x + tanh(c x); wrong: without the straight way
PlainCase residual(Draw& draw) {
    const double c = draw.between(0.5, 2);
    const std::size_t n = draw.count(3, 40);
    PlainCase one;
    one.f = [c](Values x) {
        for (double& a : x) a += std::tanh(c * a);
        return x;
    };
    const auto rule = [c](double straight) {
        return [c, straight](const Values& x, Values g) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double y = std::tanh(c * x[i]);
                g[i] *= straight + c * (1 - y * y);
            }
            return g;
        };
    };
    one.pullback = rule(1);
    one.variants["straight way dropped"] = rule(0);
    one.x = draw.values(n);
    one.shape = one.output = {static_cast<std::int64_t>(n)};
    return one;
}

// The gradient of a small kernel, y_i = sum_j k_j s_{i+j}; wrong: one place further in the signal
PlainCase kernel_of_a_signal(Draw& draw) {
    const std::size_t width = 3 + draw.below(5), n = draw.count(6, 40);
    const Values signal = draw.values(n + width + 1);
    const auto rule = [=](std::size_t by) {
        return [=](const Values& k, const Values& g) {
            Values slopes(k.size(), 0.0);
            for (std::size_t j = 0; j < k.size(); ++j) {
                for (std::size_t i = 0; i < g.size(); ++i) slopes[j] += g[i] * signal[i + j + by];
            }
            return slopes;
        };
    };
    PlainCase one;
    one.f = [=](const Values& k) {
        Values y(n, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < k.size(); ++j) y[i] += k[j] * signal[i + j];
        }
        return y;
    };
    one.pullback = rule(0);
    one.variants["one place further"] = rule(1);
    one.x = draw.values(width);
    return one;
}

}  // namespace

const std::vector<Template>& layer_templates() {
    static const std::vector<Template> all{
        {"RMS norm", rms_norm},       {"layer norm", layer_norm},
        {"onto a ball", onto_a_ball}, {"smooth threshold", smooth_threshold},
        {"similarity", similarity},   {"norm in evaluation", norm_in_evaluation},
        {"residual", residual},       {"kernel of a signal", kernel_of_a_signal},
    };
    return all;
}

}  // namespace tapestry::test
