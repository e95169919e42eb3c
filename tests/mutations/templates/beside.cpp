// Right gradients of smooth functions with something beside them: a jump, noise that is constant in
// cells, ripples.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

double smooth_sum(const Values& x) {
    double sum = 0;
    for (const double a : x) sum += std::sin(a) * a;
    return sum;
}

Values smooth_slopes(const Values& x) {
    Values g;
    for (const double a : x) g.push_back(std::cos(a) * a + std::sin(a));
    return g;
}

// The sum, and a step of one number beyond x
PlainCase jump_beside(Draw& draw) {
    Values x = draw.values(draw.count(1, 10));
    const double away = draw.sign() * draw.log_between(1e-13, 0.1),
                 height = draw.sign() * draw.log_between(1e-6, 10), edge = x[0] + away;
    PlainCase one = scalar_case(
        [edge, height](const Values& at) { return smooth_sum(at) + (at[0] > edge ? height : 0); },
        smooth_slopes, std::move(x));
    one.room = std::abs(away) / 2;
    one.note = fmt::format("{:.0e} high, {:.0e} away", height, away);
    return one;
}

// Between -1 and 1, another one in every cell
double of_cell(double cell) {
    const auto bits = std::bit_cast<std::uint64_t>(cell) * 0xff51afd7ed558ccdU;
    return std::ldexp(static_cast<double>((bits ^ (bits >> 32U)) >> 11U), -52) - 1;
}

PlainCase noise_in_cells(Draw& draw) {
    const double size = draw.pick({1e-6, 1e-8, 1e-10}), width = draw.log_between(1e-8, 1e-2);
    PlainCase one = scalar_case(
        [size, width](const Values& at) {
            double sum = smooth_sum(at);
            for (const double a : at) sum += size * of_cell(std::floor(a / width));
            return sum;
        },
        smooth_slopes, draw.values(draw.count(1, 10)));
    one.noise = size * std::sqrt(static_cast<double>(one.x.size()));
    one.note = fmt::format("noise {:.0e} in cells of {:.0e}", size, width);
    return one;
}

// A fast oscillation, whose slope is part of the gradient
PlainCase ripples(Draw& draw) {
    const double size = draw.log_between(1e-10, 1e-3), width = draw.log_between(1e-6, 1e-2);
    PlainCase one = scalar_case(
        [size, width](const Values& at) {
            double sum = smooth_sum(at);
            for (const double a : at) sum += size * std::sin(a / width);
            return sum;
        },
        [size, width](const Values& at) {
            Values g = smooth_slopes(at);
            for (std::size_t i = 0; i < at.size(); ++i) {
                g[i] += size / width * std::cos(at[i] / width);
            }
            return g;
        },
        draw.values(draw.count(1, 10)));
    one.room = width / 4;
    one.note = fmt::format("size {:.0e}, width {:.0e}", size, width);
    return one;
}

}  // namespace

const std::vector<Template>& beside_templates() {
    static const std::vector<Template> all{
        {"jump beside", jump_beside},
        {"noise in cells", noise_in_cells},
        {"ripples", ripples},
    };
    return all;
}

}  // namespace tapestry::test
