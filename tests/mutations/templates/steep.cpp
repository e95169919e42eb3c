// Steep functions: a small relative step of x moves f by a large part of itself, |x f'(x) / f(x)|
// from 30 to 1e7. A slope claimed a hundredth too large is then followed from one number to the
// next to a few percent of f, and is still wrong.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;
using OfOne = std::function<double(double)>;

// The sum of f(x_i), or every f(x_i) by itself: [n] -> [n].
PlainCase sum_or_each(Draw& draw, OfOne f, OfOne slope, Values x) {
    if (draw.chance(0.5)) {
        return scalar_case(
            [f](const Values& at) {
                double sum = 0;
                for (const double a : at) sum += f(a);
                return sum;
            },
            [slope](Values at) {
                for (double& a : at) a = slope(a);
                return at;
            },
            std::move(x));
    }
    const Shape shape{static_cast<std::int64_t>(x.size())};
    return {.f =
                [f](Values at) {
                    for (double& a : at) a = f(a);
                    return at;
                },
            .pullback =
                [slope](const Values& at, Values g) {
                    for (std::size_t i = 0; i < g.size(); ++i) g[i] *= slope(at[i]);
                    return g;
                },
            .x = std::move(x),
            .shape = shape,
            .output = shape};
}

// Numbers `gap` (times 0.5 to 1) from `centre`, on one side of it.
Values beside(Draw& draw, double centre, double gap, std::size_t most) {
    Values x = draw.values(draw.count(1, most), 0.5, 1);
    const double side = draw.sign();
    for (double& a : x) a = centre + side * gap * a;
    return x;
}

std::size_t most_numbers(Draw& draw) { return draw.chance(0.2) ? 400 : 8; }

// log x next to 1
PlainCase log_near_one(Draw& draw) {
    const double gap = draw.log_between(1e-5, 0.03);
    PlainCase one = sum_or_each(
        draw, [](double a) { return std::log(a); }, [](double a) { return 1 / a; },
        beside(draw, 1, gap, most_numbers(draw)));
    one.noise = 2e-16;
    one.room = 0.5;
    one.note = fmt::format("{:.0e} from 1", gap);
    return one;
}

// sin x next to a multiple of pi
PlainCase sine_near_zero(Draw& draw) {
    const double gap = draw.log_between(1e-6, 0.03);
    const double centre = std::numbers::pi * static_cast<double>(1 + draw.below(5));
    PlainCase one = sum_or_each(
        draw, [](double a) { return std::sin(a); }, [](double a) { return std::cos(a); },
        beside(draw, centre, gap, most_numbers(draw)));
    one.noise = 2e-15;
    one.note = fmt::format("{:.0e} from a zero", gap);
    return one;
}

// x^p, p from 33 to 200, the smallest at least e^-10 of the largest
PlainCase large_power(Draw& draw) {
    const auto p = static_cast<double>(33 + draw.below(168));
    PlainCase one = sum_or_each(
        draw, [p](double a) { return std::pow(a, p); },
        [p](double a) { return p * std::pow(a, p - 1); },
        draw.values(draw.count(1, most_numbers(draw)), 1 - 5 / p, 1 + 5 / p));
    one.room = 1 / p;
    one.note = fmt::format("to the power of {}", p);
    return one;
}

// exp(k x), k x from 30 to 300
PlainCase steep_exponential(Draw& draw) {
    const double k = draw.log_between(30, 300);
    PlainCase one = sum_or_each(
        draw, [k](double a) { return std::exp(k * a); },
        [k](double a) { return k * std::exp(k * a); },
        draw.values(draw.count(1, most_numbers(draw)), 0.97, 1));
    one.noise = 4e-16 * k * std::exp(k);  // the exponent is rounded relative to its own size
    one.room = 1 / k;
    one.note = fmt::format("exp({:.0f} x)", k);
    return one;
}

// (x - r) (x + s) next to its zero r, as an activation or a residual near its solution
PlainCase near_root(Draw& draw) {
    const double gap = draw.log_between(1e-6, 0.03), r = draw.between(0.5, 2),
                 s = draw.between(0.5, 2);
    PlainCase one = sum_or_each(
        draw, [=](double a) { return (a - r) * (a + s); }, [=](double a) { return 2 * a + s - r; },
        beside(draw, r, gap, most_numbers(draw)));
    one.note = fmt::format("{:.0e} from a root", gap);
    return one;
}

// tan x next to its pole
PlainCase tangent(Draw& draw) {
    const double gap = draw.log_between(1e-4, 0.04), pole = std::numbers::pi / 2;
    const double centre = draw.sign() * pole;
    PlainCase one = sum_or_each(
        draw, [](double a) { return std::tan(a); },
        [](double a) { return 1 + std::tan(a) * std::tan(a); },
        beside(draw, centre, gap, most_numbers(draw)));
    one.noise = 1e-15 / (gap * gap);
    one.room = gap / 4;
    one.note = fmt::format("{:.0e} from a pole", gap);
    return one;
}

// 1 / (x - p) next to its pole, on one side or on both
PlainCase reciprocal(Draw& draw) {
    const double gap = draw.log_between(1e-4, 0.2), p = draw.sign() * draw.between(0.5, 2);
    Values x = beside(draw, p, gap, most_numbers(draw));
    if (draw.chance(0.5)) {
        for (double& a : x) a = draw.chance(0.5) ? a : 2 * p - a;
    }
    PlainCase one = sum_or_each(
        draw, [p](double a) { return 1 / (a - p); },
        [p](double a) { return -1 / ((a - p) * (a - p)); }, std::move(x));
    one.noise = 4e-16 / (gap * gap);
    one.room = gap / 4;
    one.note = fmt::format("{:.0e} from a pole", gap);
    return one;
}

// Next to their minimum: 1 - cos(x - c), (x - c)^2, log cosh(x - c). What they round is larger than
// the last bits of f.
PlainCase near_minimum(Draw& draw) {
    const double gap = draw.log_between(1e-3, 0.5), c = draw.pick({0.0, 1.0, draw.between(0.5, 2)});
    const std::size_t kind = draw.below(3);
    const auto f = [=](double a) {
        const double t = a - c;
        return kind == 0 ? 1 - std::cos(t) : kind == 1 ? t * t : std::log(std::cosh(t));
    };
    const auto slope = [=](double a) {
        const double t = a - c;
        return kind == 0 ? std::sin(t) : kind == 1 ? 2 * t : std::tanh(t);
    };
    PlainCase one = sum_or_each(draw, f, slope, beside(draw, c, gap, most_numbers(draw)));
    one.noise = 4e-16;
    one.room = gap / 2;
    one.note = fmt::format("{:.0e} from a minimum", gap);
    return one;
}

}  // namespace

const std::vector<Template>& steep_templates() {
    static const std::vector<Template> all{
        {"log near 1", log_near_one}, {"sine near a zero", sine_near_zero},
        {"large power", large_power}, {"steep exponential", steep_exponential},
        {"near a root", near_root},   {"tangent near its pole", tangent},
        {"reciprocal", reciprocal},   {"near a minimum", near_minimum},
    };
    return all;
}

}  // namespace tapestry::test
