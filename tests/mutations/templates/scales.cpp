// Right gradients at the limits: of the range of numbers, of the domain, of similar magnitudes.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// a^T x + sqrt(x_0 x_1) from 1e-310, where numbers lose their bits, to 1e150
PlainCase ends_of_scale(Draw& draw) {
    const double size = std::pow(10.0, draw.pick({-310, -300, -200, -150, 100, 150}));
    const Values a = draw.values(draw.count(2, 6));
    Values x = draw.values(a.size(), 1, 2);
    for (double& value : x) value *= size;
    PlainCase one = scalar_case(
        [a](const Values& at) {
            return std::inner_product(a.begin(), a.end(), at.begin(), 0.0) +
                   std::sqrt(at[0]) * std::sqrt(at[1]);
        },
        [a](const Values& at) {
            Values g = a;
            g[0] += 0.5 * std::sqrt(at[1] / at[0]);
            g[1] += 0.5 * std::sqrt(at[0] / at[1]);
            return g;
        },
        x);
    one.room = size;
    one.note = fmt::format("{:.0e}", size);
    return one;
}

// exp(a^T x), about e^700: near the largest number
PlainCase large_exponent(Draw& draw) {
    const Values a = draw.values(draw.count(1, 5), 0.5, 1.5);
    Values x = draw.values(a.size(), 0.5, 1);
    const double exponent = draw.sign() * draw.between(300, 695);
    const double now = std::inner_product(a.begin(), a.end(), x.begin(), 0.0);
    for (double& value : x) value *= exponent / now;
    const auto f = [a](const Values& at) {
        return std::exp(std::inner_product(a.begin(), a.end(), at.begin(), 0.0));
    };
    PlainCase one = scalar_case(
        f,
        [f, a](const Values& at) {
            Values g = a;
            for (double& slope : g) slope *= f(at);
            return g;
        },
        x);
    one.noise = 1e-13 * f(x);  // the exponent is rounded relative to its own size
    one.note = fmt::format("e^{:.0f}", exponent);
    return one;
}

// sum of sin(w x_i), w up to 1e8
PlainCase fast_sine(Draw& draw) {
    const double w = draw.log_between(1e2, 1e8);
    PlainCase one = scalar_case(
        [w](const Values& x) {
            double sum = 0;
            for (const double a : x) sum += std::sin(w * a);
            return sum;
        },
        [w](const Values& x) {
            Values g;
            for (const double a : x) g.push_back(w * std::cos(w * a));
            return g;
        },
        draw.values(draw.count(1, 5)));
    one.noise = 2e-16 * w;
    one.room = 1 / w;
    one.note = fmt::format("sin({:.1e} x)", w);
    return one;
}

// Curvature within a small fraction of x's size: sin(k (x - x_0)), x_0 up to 1e6
PlainCase far_from_zero(Draw& draw) {
    const double away = draw.log_between(1e2, 1e6);
    Values x = draw.values(draw.count(1, 8));
    for (double& a : x) a += away;
    PlainCase one = scalar_case(
        [away](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += std::sin(a - away);
            return sum;
        },
        [away](const Values& at) {
            Values g;
            for (const double a : at) g.push_back(std::cos(a - away));
            return g;
        },
        x);
    one.noise = 1e-16 * away;
    one.note = fmt::format("x near {:.0e}", away);
    return one;
}

// -sum of x_i log x_i; throws if a number is not positive
PlainCase entropy(Draw& draw) {
    PlainCase one = scalar_case(
        [](const Values& x) {
            double sum = 0;
            for (const double a : x) {
                if (a <= 0) throw std::domain_error("entropy: x is not positive");
                sum -= a * std::log(a);
            }
            return sum;
        },
        [](const Values& x) {
            Values g;
            for (const double a : x) g.push_back(-std::log(a) - 1);
            return g;
        },
        draw.values(draw.count(1, 12), draw.log_between(1e-6, 0.1), 1));
    one.room = *std::min_element(one.x.begin(), one.x.end()) / 2;
    return one;
}

// sum of acos(x_i), near the ends of -1 ... 1, NaN outside
PlainCase arc_cosine(Draw& draw) {
    const double gap = draw.log_between(1e-8, 0.5);
    Values x = draw.values(draw.count(1, 6), -0.9, 0.9);
    x[draw.below(x.size())] = draw.sign() * (1 - gap);
    PlainCase one = scalar_case(
        [](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += std::acos(a);
            return sum;
        },
        [](const Values& at) {
            Values g;
            for (const double a : at) g.push_back(-1 / std::sqrt((1 - a) * (1 + a)));
            return g;
        },
        x);
    one.room = gap / 2;
    if (draw.chance(0.5)) one.bounds.assign(x.size(), Bounds{-1, 1});
    one.note = fmt::format("{:.0e} from the end", gap);
    return one;
}

// sum of lgamma(x_i) between poles at 0, -1, -2, ...
PlainCase log_gamma(Draw& draw) {
    const auto digamma = [](double a) {  // up to where the series is accurate
        double sum = 0;
        for (; a < 20; ++a) sum -= 1 / a;
        const double s = 1 / (a * a);
        return sum + std::log(a) - 0.5 / a -
               s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s / 240)));
    };
    PlainCase one = scalar_case(
        [](const Values& x) {
            double sum = 0;
            for (const double a : x) sum += std::lgamma(a);
            return sum;
        },
        [digamma](const Values& x) {
            Values g;
            for (const double a : x) g.push_back(digamma(a));
            return g;
        },
        draw.values(draw.count(1, 6), 0.05, 9));
    one.room = *std::min_element(one.x.begin(), one.x.end()) / 2;
    return one;
}

// 1 / sum of (x_i - p_i)^2, near a pole
PlainCase near_pole(Draw& draw) {
    const double distance = draw.log_between(1e-5, 1);
    const Values p = draw.values(draw.count(1, 6));
    Values x = p;
    for (double& a : x) a += distance * draw.sign() * draw.between(0.5, 1);
    const auto square = [p](const Values& at) {
        double sum = 0;
        for (std::size_t i = 0; i < at.size(); ++i) sum += (at[i] - p[i]) * (at[i] - p[i]);
        return sum;
    };
    PlainCase one = scalar_case([square](const Values& at) { return 1 / square(at); },
                                [square, p](const Values& at) {
                                    const double s = square(at);
                                    Values g(at.size());
                                    for (std::size_t i = 0; i < at.size(); ++i) {
                                        g[i] = -2 * (at[i] - p[i]) / (s * s);
                                    }
                                    return g;
                                },
                                x);
    one.noise = 4e-16 / distance / square(x);
    one.room = 0.3 * distance;
    one.note = fmt::format("{:.0e} from a pole", distance);
    return one;
}

// Entries whose slopes are of very different sizes: sum of s_i sin(x_i)
PlainCase two_sizes_of_entries(Draw& draw) {
    const double ratio = draw.log_between(1e2, 1e12);
    const std::size_t n = draw.count(2, 40);
    const auto size = [ratio](std::size_t i) { return i % 2 == 0 ? 1.0 : 1 / ratio; };
    PlainCase one = scalar_case(
        [size](const Values& x) {
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) sum += size(i) * std::sin(x[i]);
            return sum;
        },
        [size](const Values& x) {
            Values g(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) g[i] = size(i) * std::cos(x[i]);
            return g;
        },
        draw.values(n));
    one.noise = 2e-16;
    one.note = fmt::format("{:.0e} apart", ratio);
    return one;
}

// Two outputs of very different sizes: a sum of squares, and r times a sum of sines
PlainCase two_sizes_of_outputs(Draw& draw) {
    const double ratio = draw.log_between(1e-13, 1e-2);
    PlainCase one;
    one.f = [ratio](const Values& x) {
        Values y{0, 0};
        for (const double a : x) {
            y[0] += a * a;
            y[1] += ratio * std::sin(a);
        }
        return y;
    };
    one.pullback = [ratio](const Values& x, const Values& g) {
        Values slopes;
        for (const double a : x) slopes.push_back(2 * a * g[0] + ratio * std::cos(a) * g[1]);
        return slopes;
    };
    one.x = draw.values(draw.count(1, 300));
    one.note = fmt::format("{:.0e} apart", ratio);
    return one;
}

}  // namespace

const std::vector<Template>& scale_templates() {
    static const std::vector<Template> all{
        {"ends of the scale", ends_of_scale},
        {"large exponent", large_exponent},
        {"fast sine", fast_sine},
        {"far from zero", far_from_zero},
        {"entropy", entropy},
        {"arc cosine", arc_cosine},
        {"log gamma", log_gamma},
        {"near a pole", near_pole},
        {"entries of two sizes", two_sizes_of_entries},
        {"outputs of two sizes", two_sizes_of_outputs},
    };
    return all;
}

}  // namespace tapestry::test
