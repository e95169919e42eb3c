// Right gradients of functions that lose their digits: what cancels, underflows or saturates as
// written, with the gradient written well.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// A function of one number as people write it, its slope without cancellation, its noise.
struct Naive {
    const char* name;
    double (*f)(double x);
    double (*slope)(double x);
    double (*noise)(double x);
    double least, most;  // of x
};

// Near 0 by series: sum of c_k x^k
double series(std::initializer_list<double> c, double x) {
    double sum = 0;
    for (auto at = std::rbegin(c); at != std::rend(c); ++at) sum = sum * x + *at;
    return sum;
}

double slope_of_versine(double x) {  // of (1 - cos x) / x^2
    return x < 0.2 ? x * series({-1.0 / 12, 1.0 / 180, -1.0 / 6720, 1.0 / 453600}, x * x)
                   : std::sin(x) / (x * x) - 2 * (1 - std::cos(x)) / (x * x * x);
}
double slope_of_third(double x) {  // of (x - sin x) / x^3
    return x < 0.3 ? x * series({-1.0 / 60, 1.0 / 1260, -1.0 / 60480, 1.0 / 4989600}, x * x)
                   : (1 - std::cos(x)) / (x * x * x) - 3 * (x - std::sin(x)) / (x * x * x * x);
}
double slope_of_growth(double x) {  // of (e^x - 1) / x
    return x < 0.1 ? series({0.5, 1.0 / 3, 1.0 / 8, 1.0 / 30, 1.0 / 144, 1.0 / 840, 1.0 / 5760}, x)
                   : (std::exp(x) - std::expm1(x) / x) / x;
}

const std::vector<Naive>& naive_quotients() {
    static const std::vector<Naive> all{
        {"(1 - cos x) / x^2", [](double x) { return (1 - std::cos(x)) / (x * x); },
         slope_of_versine, [](double x) { return 1e-16 / (x * x); }, 1e-8, 0.1},
        {"(x - sin x) / x^3", [](double x) { return (x - std::sin(x)) / (x * x * x); },
         slope_of_third, [](double x) { return 1e-16 / (x * x); }, 1e-7, 0.1},
        {"(e^x - 1) / x", [](double x) { return (std::exp(x) - 1) / x; }, slope_of_growth,
         [](double x) { return 2e-16 / x; }, 1e-12, 0.1},
    };
    return all;
}

const std::vector<Naive>& naive_differences() {
    static const std::vector<Naive> all{
        {"log(1 + x)", [](double x) { return std::log(1 + x); },
         [](double x) { return 1 / (1 + x); }, [](double) { return 2e-16; }, 3e-16, 1},
        {"sqrt(x^2 + 1) - x", [](double x) { return std::sqrt(x * x + 1) - x; },
         [](double x) {
             const double root = std::sqrt(x * x + 1);
             return -1 / (root * (root + x));
         },
         [](double x) { return 2e-16 * x; }, 10, 1e8},
        {"1 - 1 / (1 + x)", [](double x) { return 1 - 1 / (1 + x); },
         [](double x) { return 1 / ((1 + x) * (1 + x)); }, [](double) { return 2e-16; }, 3e-16, 1},
        {"-x + sqrt(x^2 - 4)", [](double x) { return -x + std::sqrt(x * x - 4); },
         [](double x) {
             const double root = std::sqrt(x * x - 4);
             return 4 / (root * (x + root));
         },
         [](double x) { return 2e-16 * x; }, 10, 1e8},
        {"1 - tanh x", [](double x) { return 1 - std::tanh(x); },
         [](double x) {
             const double c = std::cosh(x);
             return -1 / (c * c);
         },
         [](double) { return 1e-16; }, 1, 18},
        {"acos(1 - x)", [](double x) { return std::acos(1 - x); },
         [](double x) { return 1 / std::sqrt(x * (2 - x)); },
         [](double x) { return 1e-16 / std::sqrt(x); }, 1e-15, 1},
    };
    return all;
}

PlainCase naive(const Naive& of, Values x) {
    PlainCase one = scalar_case(
        [of](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += of.f(a);
            return sum;
        },
        [of](const Values& at) {
            Values g;
            for (const double a : at) g.push_back(of.slope(a));
            return g;
        },
        std::move(x));
    for (const double a : one.x) one.noise = std::max(one.noise, of.noise(a));
    one.room = *std::min_element(one.x.begin(), one.x.end()) / 2;
    one.note = fmt::format("{}, x = {:.1e}", of.name, one.x[0]);
    return one;
}

PlainCase drawn_naive(const std::vector<Naive>& all, Draw& draw) {
    const Naive& of = all[draw.below(all.size())];
    Values x(draw.count(1, 5));
    for (double& a : x) a = draw.log_between(of.least, of.most);
    return naive(of, std::move(x));
}
PlainCase small_quotient(Draw& draw) { return drawn_naive(naive_quotients(), draw); }
PlainCase small_difference(Draw& draw) { return drawn_naive(naive_differences(), draw); }

// The coefficients of the left Jacobian of SO(3), as in home-made libraries: of a rotation vector
// w, with angle t, (1 - cos t) / t^2 and (t - sin t) / t^3
PlainCase rotation_coefficients(Draw& draw) {
    const auto angle = [](const Values& w) {
        return std::sqrt(std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
    };
    PlainCase one;
    one.f = [angle](const Values& w) {
        const double t = angle(w);
        return Values{naive_quotients()[0].f(t), naive_quotients()[1].f(t)};
    };
    one.pullback = [angle](const Values& w, const Values& g) {
        const double t = angle(w);
        const double slope = (g[0] * slope_of_versine(t) + g[1] * slope_of_third(t)) / t;
        Values slopes = w;
        for (double& value : slopes) value *= slope;
        return slopes;
    };
    one.x = draw.values(3, -1, 1);
    const double size = draw.log_between(1e-7, 0.1), now = angle(one.x);
    for (double& value : one.x) value *= size / now;
    one.noise = 1e-16 / (size * size);
    one.room = size / 2;
    one.note = fmt::format("angle {:.1e}", size);
    return one;
}

// sum of x_i^2 at sizes whose squares are lost, in part or altogether
PlainCase underflow(Draw& draw) {
    const double size = std::pow(10.0, draw.between(-310, -150));
    PlainCase one = scalar_case(
        [](const Values& x) { return std::inner_product(x.begin(), x.end(), x.begin(), 0.0); },
        [](Values x) {
            for (double& a : x) a *= 2;
            return x;
        },
        draw.values(draw.count(1, 6), size, 2 * size));
    one.noise = 5e-324;
    one.room = size / 2;
    one.note = fmt::format("size {:.0e}", size);
    return one;
}

// ---- saturation ---------------------------------------------------------------------------------

Values log_softmax(Values y, std::size_t columns) {
    for (std::size_t from = 0; from < y.size(); from += columns) {
        const auto row = y.begin() + static_cast<std::ptrdiff_t>(from);
        const auto end = row + static_cast<std::ptrdiff_t>(columns);
        const double most = *std::max_element(row, end);
        double sum = 0;
        for (auto at = row; at != end; ++at) sum += std::exp(*at - most);
        for (auto at = row; at != end; ++at) *at -= most + std::log(sum);
    }
    return y;
}

Values normals(Draw& draw, std::size_t n, double size) {
    Values x(n);
    for (double& value : x) {
        value = size * std::sqrt(-2 * std::log(draw.between(1e-12, 1))) *
                std::cos(draw.between(0, 6.283185307179586));
    }
    return x;
}

PlainCase saturated(Draw& draw, bool logarithm) {
    const std::size_t rows = draw.pick({1U, 3U}), columns = draw.count(2, 6);
    const double size = draw.pick({20.0, 30.0, 50.0, 100.0, 300.0});
    PlainCase one;
    const auto p_of = [columns](const Values& x) {
        Values p = log_softmax(x, columns);
        for (double& value : p) value = std::exp(value);
        return p;
    };
    if (logarithm) {
        one.f = [columns](const Values& x) { return log_softmax(x, columns); };
    } else {
        one.f = p_of;
    }
    one.pullback = [columns, p_of, logarithm](const Values& x, const Values& g) {
        const Values p = p_of(x);
        Values slopes = g;
        for (std::size_t from = 0; from < g.size(); from += columns) {
            double sum = 0;
            for (std::size_t i = from; i < from + columns; ++i)
                sum += logarithm ? g[i] : g[i] * p[i];
            for (std::size_t i = from; i < from + columns; ++i) {
                slopes[i] = logarithm ? g[i] - p[i] * sum : p[i] * (g[i] - sum);
            }
        }
        return slopes;
    };
    one.x = normals(draw, rows * columns, size);
    one.shape = one.output = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    if (logarithm) one.noise = 1e-16;  // of the logarithm of a sum next to 1
    one.note = fmt::format("logits of size {}", size);
    return one;
}
PlainCase saturated_log_softmax(Draw& draw) { return saturated(draw, true); }
PlainCase saturated_softmax(Draw& draw) { return saturated(draw, false); }

// -log sigmoid(x), element by element
PlainCase log_sigmoid(Draw& draw) {
    PlainCase one;
    one.f = [](Values x) {
        for (double& a : x) a = std::max(-a, 0.0) + std::log1p(std::exp(-std::abs(a)));
        return x;
    };
    one.pullback = [](const Values& x, Values g) {
        for (std::size_t i = 0; i < g.size(); ++i) {
            const double e = std::exp(-std::abs(x[i]));  // e^x overflows before e^-x is 0
            g[i] *= -(x[i] > 0 ? e : 1) / (1 + e);
        }
        return g;
    };
    const double size = draw.pick({20.0, 50.0, 100.0, 300.0});
    one.x = normals(draw, draw.count(1, 8), size);
    one.note = fmt::format("logits of size {}", size);
    return one;
}

// ---- entries that do not count ------------------------------------------------------------------

// sum of (w_i relu(x_i))^2 over what a mask lets through: exact zeros
PlainCase exact_zeros(Draw& draw) {
    const std::size_t n = draw.count(2, 600);
    Values w = draw.values(n, 0.5, 2);
    for (double& weight : w) weight = draw.chance(0.3) ? 0 : weight;
    Values x = draw.values(n, -2, 2);
    for (double& a : x) a += a > 0 ? 0.1 : -0.1;
    PlainCase one = scalar_case(
        [w](const Values& at) {
            double sum = 0;
            for (std::size_t i = 0; i < at.size(); ++i) {
                const double y = w[i] * std::max(at[i], 0.0);
                sum += y * y;
            }
            return sum;
        },
        [w](const Values& at) {
            Values g;
            for (std::size_t i = 0; i < at.size(); ++i) {
                g.push_back(2 * w[i] * w[i] * std::max(at[i], 0.0));
            }
            return g;
        },
        std::move(x));
    one.room = 0.1;
    return one;
}

// The sum of squares of what is there (np.nansum): the others' gradient is 0.
PlainCase ignored_nan(Draw& draw) {
    Values x = draw.values(draw.count(2, 20));
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        if (draw.chance(0.3)) x[i] = std::nan("");
    }
    PlainCase one = scalar_case(
        [](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += std::isnan(a) ? 0 : a * a;
            return sum;
        },
        [](Values at) {
            for (double& a : at) a = std::isnan(a) ? 0 : 2 * a;
            return at;
        },
        std::move(x));
    one.hidden = true;  // no step can be taken from there
    return one;
}

// ---- in a narrow format -------------------------------------------------------------------------

// Keys' cubic weights of `from` places for each of `to`: [to, from], as
// F.interpolate(mode="bicubic")
std::vector<float> cubic_weights(std::size_t from, std::size_t to) {
    std::vector<float> w(to * from, 0.0F);
    const auto cubic = [](float t) {
        constexpr float kA = -0.75F;
        t = std::abs(t);
        if (t <= 1) return ((kA + 2) * t - (kA + 3)) * t * t + 1;
        return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA;
    };
    for (std::size_t i = 0; i < to; ++i) {
        const float at =
            (static_cast<float>(i) + 0.5F) * static_cast<float>(from) / static_cast<float>(to) -
            0.5F;
        const auto first = static_cast<std::int64_t>(std::floor(at)) - 1;
        for (std::int64_t k = first; k < first + 4; ++k) {
            const auto place = std::clamp<std::int64_t>(k, 0, static_cast<std::int64_t>(from) - 1);
            w[i * from + static_cast<std::size_t>(place)] += cubic(at - static_cast<float>(k));
        }
    }
    return w;
}

PlainCase bicubic(Draw& draw) {
    const std::size_t h = draw.count(3, 6), w = draw.count(3, 6), to_h = draw.count(2, 8),
                      to_w = draw.count(2, 8);
    const std::vector<float> rows = cubic_weights(h, to_h), columns = cubic_weights(w, to_w);
    PlainCase one;
    one.f = [=](const Values& x) {
        Values y(to_h * to_w);
        for (std::size_t i = 0; i < y.size(); ++i) {
            float sum = 0;
            for (std::size_t k = 0; k < x.size(); ++k) {
                sum += rows[i / to_w * h + k / w] * columns[i % to_w * w + k % w] *
                       static_cast<float>(x[k]);
            }
            y[i] = static_cast<double>(sum);
        }
        return y;
    };
    one.pullback = [=](const Values& x, const Values& g) {
        std::vector<float> dx(x.size(), 0.0F);
        for (std::size_t i = 0; i < g.size(); ++i) {
            for (std::size_t k = 0; k < x.size(); ++k) {
                dx[k] += rows[i / to_w * h + k / w] * columns[i % to_w * w + k % w] *
                         static_cast<float>(g[i]);
            }
        }
        return Values(dx.begin(), dx.end());
    };
    one.x = draw.values(h * w);
    one.shape = {static_cast<std::int64_t>(h), static_cast<std::int64_t>(w)};
    one.output = {static_cast<std::int64_t>(to_h), static_cast<std::int64_t>(to_w)};
    one.format = Format::f32;
    one.noise = 1e-7;
    one.note = fmt::format("to [{}, {}]", to_h, to_w);
    return one;
}

}  // namespace

const std::vector<Template>& cancelling_templates() {
    static const std::vector<Template> all{
        {"small quotient", small_quotient},
        {"small difference", small_difference},
        {"SO(3) coefficients", rotation_coefficients},
        {"underflow", underflow},
        {"saturated log softmax", saturated_log_softmax},
        {"saturated softmax", saturated_softmax},
        {"-log sigmoid", log_sigmoid},
        {"exact zeros", exact_zeros},
        {"ignored NaN", ignored_nan},
        {"bicubic in f32", bicubic},
    };
    return all;
}

}  // namespace tapestry::test
