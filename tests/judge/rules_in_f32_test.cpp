// Backward rules in f32 under functions in f64: mixed precision, as in a hand-written kernel. Their
// rounding grows where a rule cancels (1 - y^2 of a y near 1), by as much as its condition; such a
// rule is right to that, and mistakes beyond it are still found. And the reverse: f in f32.
#include <tapestry/tests/judge/plain_cases.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

using namespace tapestry;
using namespace tapestry::test;

namespace {

struct RuleInF32 {
    PlainVectorFunction f;
    PlainPullback rule;
    Plain x;
};

using Floats = std::vector<float>;

Floats in_floats(const Plain& x) { return {x.begin(), x.end()}; }
Plain in_doubles(const Floats& x) { return {x.begin(), x.end()}; }

template <class Real>
std::vector<Real> matrix_times(const Plain& w, const std::vector<Real>& x) {
    std::vector<Real> y(w.size() / x.size(), 0);
    for (std::size_t i = 0; i < w.size(); ++i)
        y[i / x.size()] += static_cast<Real>(w[i]) * x[i % x.size()];
    return y;
}

Floats transposed_times(const Plain& w, const Floats& g) {
    const std::size_t n = w.size() / g.size();
    Floats y(n, 0);
    for (std::size_t i = 0; i < w.size(); ++i) y[i % n] += static_cast<float>(w[i]) * g[i / n];
    return y;
}

template <class Real>
std::vector<Real> tanh_of(std::vector<Real> x) {
    for (Real& at : x) at = std::tanh(at);
    return x;
}

// The number of outputs of a layer of n inputs.
std::size_t outputs_of(std::uint64_t seed) { return 1 + seed % 4; }

// y = tanh(W x); the rule takes y from f, or computes it in f32.
RuleInF32 tanh_layer(std::uint64_t seed, std::size_t n, double scale, bool saves) {
    const Plain w = drawn(seed, n * outputs_of(seed), -scale, scale);
    const auto f = [w](const Plain& x) { return tanh_of(matrix_times(w, x)); };
    const auto rule = [=](const Plain& x, const Plain& g) {
        const Floats y = saves ? in_floats(f(x)) : tanh_of(matrix_times(w, in_floats(x)));
        Floats through = in_floats(g);
        for (std::size_t j = 0; j < y.size(); ++j) through[j] *= 1 - y[j] * y[j];
        return in_doubles(transposed_times(w, through));
    };
    return {f, rule, drawn(seed + 1, n, -0.5, 0.5)};
}

// y = V tanh(W x)
RuleInF32 two_layers(std::uint64_t seed, std::size_t n, double scale) {
    constexpr std::size_t kInner = 6;
    const Plain w = drawn(seed, n * kInner, -scale, scale);
    const Plain v = drawn(seed + 2, kInner * outputs_of(seed), -1, 1);
    const auto f = [=](const Plain& x) { return matrix_times(v, tanh_of(matrix_times(w, x))); };
    const auto rule = [=](const Plain& x, const Plain& g) {
        const Floats y = tanh_of(matrix_times(w, in_floats(x)));
        Floats through = transposed_times(v, in_floats(g));
        for (std::size_t j = 0; j < y.size(); ++j) through[j] *= 1 - y[j] * y[j];
        return in_doubles(transposed_times(w, through));
    };
    return {f, rule, drawn(seed + 1, n, -0.5, 0.5)};
}

template <class Real>
std::vector<Real> softmax_of(std::vector<Real> x) {
    const Real most = *std::max_element(x.begin(), x.end());
    Real sum = 0;
    for (Real& at : x) sum += at = std::exp(at - most);
    for (Real& at : x) at /= sum;
    return x;
}

RuleInF32 softmax_layer(std::uint64_t seed, std::size_t n, double scale, bool takes_log) {
    const auto f = [=](const Plain& x) {
        Plain y = softmax_of(x);
        const double most = *std::max_element(x.begin(), x.end());
        double sum = 0;
        for (const double at : x) sum += std::exp(at - most);
        for (std::size_t i = 0; i < y.size() && takes_log; ++i) y[i] = x[i] - most - std::log(sum);
        return y;
    };
    const auto rule = [=](const Plain& x, const Plain& g) {
        const Floats p = softmax_of(in_floats(x)), in = in_floats(g);
        Floats dx(p.size());
        float sum = 0;
        for (std::size_t i = 0; i < p.size(); ++i) sum += takes_log ? in[i] : p[i] * in[i];
        for (std::size_t i = 0; i < p.size(); ++i)
            dx[i] = takes_log ? in[i] - p[i] * sum : p[i] * (in[i] - sum);
        return in_doubles(dx);
    };
    return {f, rule, drawn(seed, n, -scale, scale)};
}

// y = (x - mean) / deviation, about a mean of `scale`.
template <class Real>
std::vector<Real> normalised(std::vector<Real> x, Real& inverse) {
    const Real n = static_cast<Real>(x.size());
    Real mean = 0, variance = 0;
    for (const Real at : x) mean += at / n;
    for (const Real at : x) variance += (at - mean) * (at - mean) / n;
    inverse = 1 / std::sqrt(variance + static_cast<Real>(1e-5));
    for (Real& at : x) at = (at - mean) * inverse;
    return x;
}

RuleInF32 norm_layer(std::uint64_t seed, std::size_t n, double scale) {
    const auto f = [](const Plain& x) {
        double inverse = 0;
        return normalised(x, inverse);
    };
    const auto rule = [](const Plain& x, const Plain& g) {
        float inverse = 0, mean = 0, along = 0;
        Floats y = normalised(in_floats(x), inverse);
        const Floats in = in_floats(g);
        const float part = 1 / static_cast<float>(y.size());
        for (std::size_t i = 0; i < y.size(); ++i)
            mean += in[i] * part, along += in[i] * y[i] * part;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = (in[i] - mean - y[i] * along) * inverse;
        return in_doubles(y);
    };
    return {f, rule, drawn(seed, n, scale - 1, scale + 1)};
}

// y = x / |x|
RuleInF32 unit_vector(std::uint64_t seed, std::size_t n, double scale) {
    const auto f = [](Plain x) {
        const double size = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
        for (double& at : x) at /= size;
        return x;
    };
    const auto rule = [](const Plain& x, const Plain& g) {
        const Floats at = in_floats(x), in = in_floats(g);
        float squares = 0, along = 0;
        for (const float one : at) squares += one * one;
        const float size = std::sqrt(squares);
        for (std::size_t i = 0; i < at.size(); ++i) along += at[i] / size * in[i];
        Floats dx(at.size());
        for (std::size_t i = 0; i < at.size(); ++i) dx[i] = (in[i] - at[i] / size * along) / size;
        return in_doubles(dx);
    };
    Plain x = drawn(seed, n, -1, 1);
    x[0] += scale;  // nearly along one axis
    return {f, rule, x};
}

// y_i = x_i^3 - 3 x_i next to 1, where its slope is small
RuleInF32 cubics(std::uint64_t seed, std::size_t n, double scale) {
    const auto f = [](Plain x) {
        for (double& at : x) at = at * at * at - 3 * at;
        return x;
    };
    const auto rule = [](const Plain& x, const Plain& g) {
        Floats dx = in_floats(x);
        for (std::size_t i = 0; i < dx.size(); ++i)
            dx[i] = (3 * dx[i] * dx[i] - 3) * static_cast<float>(g[i]);
        return in_doubles(dx);
    };
    Plain x = drawn(seed, n, -1, 1);
    for (double& at : x) at = 1 + at / (10 * scale);
    return {f, rule, x};
}

// y_i = sqrt((x_i - x_{i + 1})^2 + 1), far from 0
RuleInF32 distances(std::uint64_t seed, std::size_t n, double scale) {
    const auto f = [](const Plain& x) {
        Plain y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = std::hypot(x[i] - x[(i + 1) % x.size()], 1);
        return y;
    };
    const auto rule = [](const Plain& x, const Plain& g) {
        const Floats at = in_floats(x);
        Floats dx(at.size(), 0);
        for (std::size_t i = 0; i < at.size(); ++i) {
            const std::size_t next = (i + 1) % at.size();
            const float apart = at[i] - at[next];
            const float slope = static_cast<float>(g[i]) * apart / std::sqrt(apart * apart + 1);
            dx[i] += slope;
            dx[next] -= slope;
        }
        return in_doubles(dx);
    };
    return {f, rule, drawn(seed, n, 30 * scale - 1, 30 * scale + 1)};
}

// One number: sum of log cosh(W x), its gradient W^T tanh(W x) in f32, times the weight in f64.
RuleInF32 log_cosh(std::uint64_t seed, std::size_t n, double scale) {
    const Plain w = drawn(seed, n * 5, -scale, scale);
    const auto f = [w](const Plain& x) {
        double sum = 0;
        for (const double at : matrix_times(w, x)) {
            sum += std::abs(at) + std::log1p(std::exp(-2 * std::abs(at)));
        }
        return Plain{sum};
    };
    const auto rule = [w](const Plain& x, const Plain& g) {
        Plain dx = in_doubles(transposed_times(w, tanh_of(matrix_times(w, in_floats(x)))));
        for (double& at : dx) at *= g[0];
        return dx;
    };
    return {f, rule, drawn(seed + 1, n, -0.5, 0.5)};
}

struct Kind {
    std::string name;
    std::function<RuleInF32(std::uint64_t seed, std::size_t n, double scale)> make;
};

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{
        {"tanh of f's y", [](auto seed, auto n, auto s) { return tanh_layer(seed, n, s, true); }},
        {"tanh", [](auto seed, auto n, auto s) { return tanh_layer(seed, n, s, false); }},
        {"two layers", two_layers},
        {"softmax", [](auto seed, auto n, auto s) { return softmax_layer(seed, n, s, false); }},
        {"log softmax", [](auto seed, auto n, auto s) { return softmax_layer(seed, n, s, true); }},
        {"layer norm", norm_layer},
        {"unit vector", unit_vector},
        {"cubics", cubics},
        {"distances", distances},
        {"log cosh", log_cosh}};
    return all;
}

constexpr std::size_t kSizes[] = {2, 5, 17, 40, 120, 300};
constexpr double kMistake = 3e-4;
// At 30 a softmax or a second layer may be 1 - 1e-9, whose slope of 0 still fails (seed 3).
constexpr double kScales[] = {0.1, 0.5, 1, 3, 10};

std::uint64_t seeds_of_rules() { return is_long() ? 3 : 1; }

using Verdicts = std::map<std::string, int>;

// Of every kind at all sizes and scales; `changed`: what the rule returns instead of its gradient.
Verdicts verdicts_of(const Kind& kind, const std::function<void(Plain& dx)>& changed,
                     double most_scale = 10) {
    Verdicts counts;
    for (const std::size_t n : kSizes) {
        for (const double scale : kScales) {
            if (scale > most_scale) continue;
            if (is_short() && (scale != 1 || (n != 5 && n != 300))) continue;
            for (std::uint64_t seed = 1; seed <= seeds_of_rules(); ++seed) {
                const RuleInF32 one = kind.make(1000 * seed + n, n, scale);
                const auto rule = [&](const Plain& x, const Plain& g) {
                    Plain dx = one.rule(x, g);
                    if (changed) changed(dx);
                    return dx;
                };
                const auto report =
                    check_pullback(one.f, rule, one.x, {.explain = false, .seed = seed});
                const std::string verdict(to_string(report.verdict));
                const double stated = report.inputs.at(0).resolution;
                ++counts[verdict + (report && stated < kMistake ? " below the mistake" : "")];
            }
        }
    }
    return counts;
}

}  // namespace

TEST_CASE("rules in f32: right ones never fail") {
    for (const Kind& kind : kinds()) {
        const Verdicts counts = verdicts_of(kind, {});
        INFO(kind.name << ": " << described(counts));
        CHECK_EQ(count_of(counts, "FAIL"), 0);
    }
}

TEST_CASE("rules in f32: a mistake of 3e-4 fails where f32 shows it, and never passes unstated") {
    const auto scaled = [](Plain& dx) {
        for (double& at : dx) at = static_cast<float>(at * (1 + kMistake));
    };
    const auto one_entry = [](Plain& dx) {
        double& middle = dx[dx.size() / 2];
        middle = static_cast<float>(middle * (1 + kMistake));
    };
    int failed = 0, all = 0;
    for (const Kind& kind : kinds()) {
        for (const auto& changed : {std::function<void(Plain&)>(scaled), {one_entry}}) {
            const Verdicts counts = verdicts_of(kind, changed, 1);
            INFO(kind.name << ": " << described(counts));
            CHECK_EQ(count_of(counts, "PASS below"), 0);
            if (!is_short()) CHECK_GE(2 * count_of(counts, "FAIL"), count_of(counts, ""));
            failed += count_of(counts, "FAIL");
            all += count_of(counts, "");
        }
    }
    if (!is_short()) CHECK_GE(10 * failed, 9 * all);
}

TEST_CASE(
    "rules in f32: a gradient that does not depend on x, as that of a bias, has no rounding") {
    constexpr std::size_t kColumns = 3, kRows = 5, kBias = kColumns * kRows;
    const auto f = [](const Plain& x) {
        Plain y;
        for (std::size_t i = 0; i < kBias; ++i) y.push_back(x[i] * x[i] + x[kBias + i % kColumns]);
        return y;
    };
    const auto verdict = [&](double of_x, double of_bias) {
        const auto rule = [=](const Plain& x, const Plain& g) {
            Floats dx(x.size(), 0);
            for (std::size_t i = 0; i < kBias; ++i) {
                const auto in = static_cast<float>(g[i]);
                dx[i] = static_cast<float>(of_x) * static_cast<float>(x[i]) * in;
                dx[kBias + i % kColumns] += static_cast<float>(of_bias) * in;
            }
            return in_doubles(dx);
        };
        return verdict_of(check_pullback(f, rule, drawn(7, kBias + kColumns, -2, 2)));
    };
    CHECK_EQ(verdict(2, 1), "PASS");
    CHECK_EQ(verdict(2, 2), "FAIL");
    CHECK_EQ(verdict(2, 1.01), "FAIL");
    CHECK_EQ(verdict(1, 1), "FAIL");
    // Integers are numbers of f32 as well: slopes of 1 and -1, and those of a staircase.
    const auto zigzag = [](const Plain& x) {
        double sum = 0;
        for (const double at : x) sum += std::abs(at - std::round(at));
        return sum;
    };
    const auto signs = [](double times) {
        return [times](const Plain& x) {
            Plain slopes;
            for (const double at : x) slopes.push_back(at > std::round(at) ? times : -times);
            return slopes;
        };
    };
    const Plain x{0.1, 0.4999, 1.2, -0.3, 7.5001};
    CHECK_EQ(verdict_of(check_gradient(zigzag, signs(1), x)), "PASS");
    CHECK_EQ(verdict_of(check_gradient(zigzag, signs(2), x)), "FAIL");
    const auto stairs = [](const Plain& at) { return std::floor(at[0]) * at[1]; };
    const auto treads = [](const Plain& at) { return Plain{0, std::floor(at[0])}; };
    CHECK_EQ(verdict_of(check_gradient(stairs, treads, {3.4, 2})), "PASS");
}

TEST_CASE("rules in f32: right ones of a long sum pass, which rounds more than its result") {
    const double w[5][3] = {{1.5390625, -0.29296875, -2.171875},
                            {0.5703125, -1.0859375, -1.3984375},
                            {0.404296875, 0.83984375, -0.71875},
                            {-0.404296875, -0.59765625, 0.181640625},
                            {-0.85546875, 1.1015625, -1.0703125}};
    const double b[] = {0.12255859375, -0.56640625, 0.373046875, -0.890625, -1.5078125};
    const auto term = [&](const Plain& x, std::size_t k) {
        return std::tanh(std::inner_product(w[k % 5], w[k % 5] + 3, &x[k / 5 * 3], b[k % 5]));
    };
    const auto f = [&](const Plain& x) {
        float sum = 0;  // PyTorch's order
        for (std::size_t k = 0; k < 10; ++k) sum += static_cast<float>(term(x, (k + 8) % 10));
        return static_cast<double>(sum);
    };
    const auto gradient = [&](const Plain& x) {
        Plain dx(6);
        for (std::size_t k = 0; k < 10; ++k) {
            const double y = term(x, k);
            for (std::size_t i = 0; i < 3; ++i) dx[k / 5 * 3 + i] += (1 - y * y) * w[k % 5][i];
        }
        return dx;
    };
    const Plain x{0.5, -1.203125, 2.0, 1.5, 0.69921875, -0.30078125};
    CHECK(check_gradient(f, gradient, x, {.format = Format::f32}));
    const auto wrong = [&](const Plain& at) {
        Plain dx = gradient(at);
        dx[2] *= 1.05;
        return dx;
    };
    CHECK_FALSE(check_gradient(f, wrong, x, {.format = Format::f32}));
}
