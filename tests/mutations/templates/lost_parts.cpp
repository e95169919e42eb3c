// Right gradients with entries whose part of f is below f's rounding: no difference next to x shows
// their slope. A right rule may be INCONCLUSIVE there, a wrong one must not pass.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// A few numbers, or more than are checked one by one.
std::size_t few_or_many(Draw& draw) {
    return draw.chance(0.7) ? draw.count(2, 12) : draw.count(257, 400);
}

// Between `low` and `high`, but a part of them, at least one, by `lost`.
Values with_lost(Draw& draw, std::size_t n, double low, double high, double from, double to) {
    Values x = draw.values(n, low, high);
    const double part = draw.pick({0.0, 0.2, 0.6});
    for (double& a : x) a = draw.chance(part) ? draw.between(from, to) : a;
    x[draw.below(n)] = draw.between(from, to);
    x[draw.below(n)] = draw.between(low, high);
    return x;
}

PlainCase elementwise_sum(double (*f)(double), double (*slope)(double), Values x) {
    PlainCase one = scalar_case(
        [f](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += f(a);
            return sum;
        },
        [slope](const Values& at) {
            Values g;
            for (const double a : at) g.push_back(slope(a));
            return g;
        },
        std::move(x));
    one.by_own_size = true;
    return one;
}

// sum of e^x_i, some x_i between -60 and -37
PlainCase lost_exponentials(Draw& draw) {
    const auto e = [](double x) { return std::exp(x); };
    return elementwise_sum(e, e, with_lost(draw, few_or_many(draw), -1, 1, -60, -37));
}

// sum of e^(-x_i^2 / 2), some x_i between 9 and 13
PlainCase lost_gaussians(Draw& draw) {
    return elementwise_sum([](double x) { return std::exp(-x * x / 2); },
                           [](double x) { return -x * std::exp(-x * x / 2); },
                           with_lost(draw, few_or_many(draw), 0.3, 2, 9, 13));
}

// sum of log(1 + e^x_i), some x_i between -60 and -37
PlainCase lost_softplus(Draw& draw) {
    return elementwise_sum([](double x) { return std::log1p(std::exp(x)); },
                           [](double x) { return 1 / (1 + std::exp(-x)); },
                           with_lost(draw, few_or_many(draw), -2, 2, -60, -37));
}

// sum of s_i sin(x_i), some s_i between 1e-30 and 1e-16
PlainCase lost_weights(Draw& draw) {
    const std::size_t n = few_or_many(draw);
    const double part = draw.pick({0.0, 0.2, 0.6});
    Values s(n, 1.0);
    for (double& size : s) size = draw.chance(part) ? draw.log_between(1e-30, 1e-16) : size;
    s[draw.below(n)] = draw.log_between(1e-30, 1e-16);
    PlainCase one = scalar_case(
        [s](const Values& x) {
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) sum += s[i] * std::sin(x[i]);
            return sum;
        },
        [s](const Values& x) {
            Values g(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) g[i] = s[i] * std::cos(x[i]);
            return g;
        },
        draw.values(n, -1.3, 1.3));
    one.by_own_size = true;
    return one;
}

// Two outputs, sums of c_ki e^x_i
PlainCase lost_in_both_outputs(Draw& draw) {
    const std::size_t n = few_or_many(draw);
    const Values c = draw.values(2 * n, 0.5, 2);
    PlainCase one;
    one.f = [c, n](const Values& x) {
        Values y(2, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            y[0] += c[i] * std::exp(x[i]);
            y[1] += c[n + i] * std::exp(x[i]);
        }
        return y;
    };
    one.pullback = [c, n](const Values& x, const Values& g) {
        Values slopes(n);
        for (std::size_t i = 0; i < n; ++i) {
            slopes[i] = (g[0] * c[i] + g[1] * c[n + i]) * std::exp(x[i]);
        }
        return slopes;
    };
    one.x = with_lost(draw, n, -1, 1, -60, -37);
    one.by_own_size = true;
    return one;
}

}  // namespace

const std::vector<Template>& lost_part_templates() {
    static const std::vector<Template> all{
        {"lost exponentials", lost_exponentials},
        {"lost Gaussians", lost_gaussians},
        {"lost softplus", lost_softplus},
        {"lost weights", lost_weights},
        {"lost in both outputs", lost_in_both_outputs},
    };
    return all;
}

}  // namespace tapestry::test
