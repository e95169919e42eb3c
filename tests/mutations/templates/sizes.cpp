// Many numbers of very different sizes, where a small one hides behind large ones; and functions
// with an inner number (a norm, a mean, a temperature) whose own gradient is easily forgotten.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// sum of s_i sin(x_i), of more numbers than are looked at one by one; some s_i are much smaller
PlainCase many_entries(Draw& draw) {
    const std::size_t n = draw.count(200, 2000);
    const double small = draw.log_between(1e-10, 1e-3), part = draw.pick({0.002, 0.1, 0.5, 0.99});
    Values s(n);
    for (double& size : s)
        size = draw.sign() * draw.between(0.5, 2) * (draw.chance(part) ? small : 1);
    s[draw.below(n)] = draw.sign() * small;
    s[draw.below(n)] = draw.sign();
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
    one.noise = 2e-16 * std::sqrt(static_cast<double>(n));
    one.note = fmt::format("sizes {:.0e} apart", small);
    return one;
}

// Two or three outputs of many inputs, the one much smaller than the other
PlainCase many_outputs(Draw& draw) {
    const std::size_t n = draw.count(130, 400), outputs = 2 + draw.below(2);
    const double ratio = draw.log_between(1e-13, 1e-3);
    const double phase = draw.between(0.1, 1);
    const auto size = [ratio](std::size_t k) {
        return k == 0 ? 1.0 : k == 1 ? ratio : std::sqrt(ratio);
    };
    PlainCase one;
    one.f = [=](const Values& x) {
        Values y(outputs, 0.0);
        for (const double a : x) {
            for (std::size_t k = 0; k < outputs; ++k) {
                y[k] += size(k) * std::sin(a + phase * static_cast<double>(k));
            }
        }
        return y;
    };
    one.pullback = [=](const Values& x, const Values& g) {
        Values slopes(x.size(), 0.0);
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t k = 0; k < outputs; ++k) {
                slopes[i] += g[k] * size(k) * std::cos(x[i] + phase * static_cast<double>(k));
            }
        }
        return slopes;
    };
    one.x = draw.values(n, -1, 1);
    one.note = fmt::format("{} outputs, {:.0e} apart", outputs, ratio);
    return one;
}

// Outputs that are 1e20 to 1e60 times smaller than the first, each of numbers of its own
PlainCase outputs_far_apart(Draw& draw) {
    const std::size_t each = draw.count(1, 4);
    const std::size_t outputs = draw.chance(0.7) ? 2 + draw.below(4) : 64 + draw.below(64);
    const double ratio = draw.log_between(1e-60, 1e-20);
    const Values c = draw.values(each * outputs, 0.5, 2);
    const auto size = [ratio](std::size_t k) { return k == 0 ? 1.0 : ratio; };
    PlainCase one;
    one.f = [=](const Values& x) {
        Values y(outputs, 0.0);
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[i / each] += size(i / each) * c[i] * std::exp(x[i]);
        }
        return y;
    };
    one.pullback = [=](const Values& x, const Values& g) {
        Values slopes(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            slopes[i] = g[i / each] * size(i / each) * c[i] * std::exp(x[i]);
        }
        return slopes;
    };
    one.x = draw.values(each * outputs, 0.3, 1);
    one.note = fmt::format("{} outputs of {}, {:.0e} apart", outputs, each, ratio);
    return one;
}

// y = x / (|x| + 1); held: the norm as a constant
PlainCase over_its_norm(Draw& draw) {
    PlainCase one;
    const auto norm = [](const Values& x) {
        return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    };
    one.f = [norm](Values x) {
        const double r = norm(x) + 1;
        for (double& a : x) a /= r;
        return x;
    };
    one.pullback = [norm](const Values& x, const Values& g) {
        const double length = norm(x), r = length + 1;
        const double along =
            std::inner_product(x.begin(), x.end(), g.begin(), 0.0) / (r * r * length);
        Values slopes = g;
        for (std::size_t i = 0; i < x.size(); ++i) slopes[i] = g[i] / r - x[i] * along;
        return slopes;
    };
    one.held = [norm](const Values& x, Values g) {
        const double r = norm(x) + 1;
        for (double& slope : g) slope /= r;
        return g;
    };
    one.x = draw.values(draw.count(2, 20));
    return one;
}

// sum of (x_i - mean)^4; held: the mean as a constant
PlainCase around_its_mean(Draw& draw) {
    const auto cubes = [](const Values& x) {
        const double mean =
            std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
        Values g;
        for (const double a : x) g.push_back(4 * (a - mean) * (a - mean) * (a - mean));
        return g;
    };
    PlainCase one = scalar_case(
        [](const Values& x) {
            const double mean =
                std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
            double sum = 0;
            for (const double a : x) sum += std::pow(a - mean, 4);
            return sum;
        },
        [cubes](const Values& x) {
            Values g = cubes(x);
            const double mean =
                std::accumulate(g.begin(), g.end(), 0.0) / static_cast<double>(g.size());
            for (double& slope : g) slope -= mean;
            return g;
        },
        draw.values(draw.count(2, 30)));
    one.held = [cubes](const Values& x, const Values& g) {
        Values slopes = cubes(x);
        for (double& slope : slopes) slope *= g[0];
        return slopes;
    };
    return one;
}

}  // namespace

const std::vector<Template>& size_templates() {
    static const std::vector<Template> all{
        {"many entries", many_entries},           {"many outputs", many_outputs},
        {"outputs far apart", outputs_far_apart}, {"over its norm", over_its_norm},
        {"around its mean", around_its_mean},
    };
    return all;
}

}  // namespace tapestry::test
