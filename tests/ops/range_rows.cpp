#include <tapestry/tests/ops/range_rows.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rounding.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tapestry::test {
namespace {

using Rows = std::vector<RangeRow>;
using In = const Tensor&;
using Function = Tensor (*)(In);
using Function2 = Tensor (*)(In, In);
using Formula = Exact (*)(Exact);
using Formula2 = Exact (*)(Exact, Exact);

struct Bound {
    double f32, f64;
    double half = 0.502;  // a single rounding, from f32
    Relative relative = Relative::to_result;
};

constexpr Bound kExact{0, 0, 0};
constexpr Bound kRounded{0.5, 0.5};  // correctly
constexpr Exact kRoot2 = std::numbers::sqrt2_v<Exact>;
constexpr Exact kInvRootPi = std::numbers::inv_sqrtpi_v<Exact>;
constexpr Exact kPi = std::numbers::pi_v<Exact>;
constexpr Exact kInf = std::numeric_limits<Exact>::infinity();

void add_row(Rows& rows, const char* name, const char* variant, Function f, Formula exact,
             const Bound& b) {
    rows.push_back({name, variant, 1, [f](In x, In) { return f(x); },
                    [exact](Exact x, Exact) { return exact(x); }, b.f32, b.f64, b.half,
                    b.relative});
}

void add_slope(Rows& rows, const char* name, const char* variant, Function f, Formula exact,
               const Bound& b) {
    const auto gradient = [f](In x, In /*unused*/) {
        const Tensor leaf = x.clone().set_requires_grad();
        Tape tape;
        return tape.gradient(sum(f(leaf)), {leaf})[0];
    };
    rows.push_back({name, variant, 1, gradient, [exact](Exact x, Exact) { return exact(x); }, b.f32,
                    b.f64, b.half, b.relative});
}

void add_row2(Rows& rows, const char* name, const char* variant, Function2 f, Formula2 exact,
              const Bound& b) {
    rows.push_back({name, variant, 2, f, exact, b.f32, b.f64, b.half, b.relative});
}

// ---- definitions of more than a line ------------------------------------------------------------

Exact sigmoid_of(Exact x) { return 1 / (1 + std::exp(-x)); }
Exact softplus_of(Exact x) {
    return x != x ? x : std::max<Exact>(x, 0) + std::log1p(std::exp(-std::abs(x)));
}
Exact sign_of(Exact x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
Exact clamped(Exact x, Exact low, Exact high) { return x < low ? low : x > high ? high : x; }
Exact normal_cdf(Exact x) { return std::erfc(-x / kRoot2) / 2; }
// sigmoid(two_u(x)) is the gate of gelu's tanh form.
Exact two_u(Exact x) { return 2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x); }
// x times a gate that goes to 0 faster than x grows.
Exact gated(Exact x, Exact gate) { return x == -kInf ? 0 : x * gate; }

Exact silu_slope(Exact x) {
    if (std::isinf(x)) return x > 0 ? 1 : 0;
    return sigmoid_of(x) * (1 + x * sigmoid_of(-x));
}
Exact gelu_erf_slope(Exact x) {
    if (std::isinf(x)) return x > 0 ? 1 : 0;
    return normal_cdf(x) + x * std::exp(-x * x / 2) / kRoot2 * kInvRootPi;
}
Exact gelu_tanh_slope(Exact x) {
    if (std::abs(x) > 1000) return x > 0 ? 1 : 0;
    const Exact rate = 2 * std::sqrt(2 / kPi) * (1 + 3 * 0.044715L * x * x);
    return sigmoid_of(two_u(x)) * (1 + x * sigmoid_of(-two_u(x)) * rate);
}
Exact mish_slope(Exact x) {
    if (std::abs(x) > 5000) return x > 0 ? 1 : 0;
    const Exact t = std::tanh(softplus_of(x)), c = std::cosh(softplus_of(x));
    return t + x * sigmoid_of(x) / (c * c);
}

// ---- the rows -----------------------------------------------------------------------------------

void add_elementary(Rows& rows) {
    const auto add = [&rows](const char* name, Function f, Formula exact, const Bound& b) {
        add_row(rows, name, "", f, exact, b);
    };
    add(
        "neg", neg, [](Exact x) { return -x; }, kExact);
    add(
        "abs", abs, [](Exact x) { return std::abs(x); }, kExact);
    add(
        "square", square, [](Exact x) { return x * x; }, kRounded);
    add(
        "sqrt", sqrt, [](Exact x) { return std::sqrt(x); }, kRounded);
    add("rsqrt", rsqrt, [](Exact x) { return 1 / std::sqrt(x); }, {1.5, 1.5});
    add(
        "reciprocal", reciprocal, [](Exact x) { return 1 / x; }, kRounded);
    add("exp", exp, [](Exact x) { return std::exp(x); }, {4, 4});
    add("log", log, [](Exact x) { return std::log(x); }, {4, 4});
    add("sin", sin, [](Exact x) { return std::sin(x); },
        {4, 4, 0.502, Relative::to_small_argument});
    add("cos", cos, [](Exact x) { return std::cos(x); },
        {4, 4, 0.502, Relative::to_small_argument});
    add("tanh", tanh, [](Exact x) { return std::tanh(x); }, {4, 4});
    add("sigmoid", sigmoid, sigmoid_of, {4, 4});
    add("log1p", log1p, [](Exact x) { return std::log1p(x); }, {4, 4});
    add("expm1", expm1, [](Exact x) { return std::expm1(x); }, {4, 4});
    add("log2", log2, [](Exact x) { return std::log2(x); }, {4, 4});
    add("log10", log10, [](Exact x) { return std::log10(x); }, {4, 4});
    add("erf", tapestry::erf, [](Exact x) { return std::erf(x); }, {4, 4});
    add("tan", tan, [](Exact x) { return std::tan(x); }, {4, 4, 0.502, Relative::to_pole});
    add("asin", asin, [](Exact x) { return std::asin(x); }, {4, 4});
    add("acos", acos, [](Exact x) { return std::acos(x); }, {4, 4});
    add("atan", atan, [](Exact x) { return std::atan(x); }, {4, 4});
    add("sinh", sinh, [](Exact x) { return std::sinh(x); }, {4, 4});
    add("cosh", cosh, [](Exact x) { return std::cosh(x); }, {4, 4});
    add("sign", sign, sign_of, kExact);
    add(
        "floor", floor, [](Exact x) { return std::floor(x); }, kExact);
    add(
        "ceil", ceil, [](Exact x) { return std::ceil(x); }, kExact);
    add(
        "round", round, [](Exact x) { return std::nearbyint(x); }, kExact);
    add(
        "trunc", trunc, [](Exact x) { return std::trunc(x); }, kExact);
}

void add_activations(Rows& rows) {
    const auto add = [&rows](const char* name, const char* variant, Function f, Formula exact,
                             const Bound& b) { add_row(rows, name, variant, f, exact, b); };
    add(
        "relu", "", relu, [](Exact x) { return x <= 0 ? 0 : x; }, kExact);
    add(
        "relu_squared", "", relu_squared, [](Exact x) { return x <= 0 ? 0 : x * x; }, kRounded);
    add(
        "leaky_relu", "", [](In x) { return leaky_relu(x, 0.25); },
        [](Exact x) { return x > 0 ? x : x / 4; }, kRounded);
    add(
        "relu6", "", relu6, [](Exact x) { return clamped(x, 0, 6); }, kExact);
    add(
        "hardtanh", "", [](In x) { return hardtanh(x); }, [](Exact x) { return clamped(x, -1, 1); },
        kExact);
    add(
        "clamp", "", [](In x) { return clamp(x, -2, 3); },
        [](Exact x) { return clamped(x, -2, 3); }, kExact);
    add(
        "elu", "", [](In x) { return elu(x, 1); },
        [](Exact x) { return x > 0 ? x : std::expm1(x); }, {4, 4});
    add(
        "gelu", "tanh", [](In x) { return gelu(x, Gelu::tanh); },
        [](Exact x) { return gated(x, sigmoid_of(two_u(x))); },
        {4, 4, 0.502, Relative::to_argument});
    add(
        "gelu", "erf", [](In x) { return gelu(x, Gelu::erf); },
        [](Exact x) { return gated(x, normal_cdf(x)); }, {4, 4, 0.502, Relative::to_argument});
    add("silu", "", silu, [](Exact x) { return gated(x, sigmoid_of(x)); }, {4, 4});
    add("softplus", "", softplus, softplus_of, {4, 4});
    add("logsigmoid", "", logsigmoid, [](Exact x) { return -softplus_of(-x); }, {4, 4});
    add("softsign", "", softsign,
        [](Exact x) { return std::isinf(x) ? sign_of(x) : x / (1 + std::abs(x)); }, {4, 4});
    add("mish", "", mish, [](Exact x) { return gated(x, std::tanh(softplus_of(x))); }, {5, 5});
}

void add_elementary_slopes(Rows& rows) {
    const auto add = [&rows](const char* name, Function f, Formula exact, const Bound& b) {
        add_slope(rows, name, "gradient", f, exact, b);
    };
    const Bound to_one{4, 4, 4, Relative::to_one};
    add(
        "square", square, [](Exact x) { return 2 * x; }, kExact);
    add("sqrt", sqrt, [](Exact x) { return 0.5L / std::sqrt(x); }, {4, 4, 4});
    add("rsqrt", rsqrt, [](Exact x) { return x < 0 ? NAN : -0.5L / (x * std::sqrt(x)); },
        {6, 6, 4});
    add("reciprocal", reciprocal, [](Exact x) { return -1 / (x * x); }, {4, 4, 4});
    add("exp", exp, [](Exact x) { return std::exp(x); }, {4, 4});
    add(
        "log", log, [](Exact x) { return 1 / x; }, kRounded);
    add("sin", sin, [](Exact x) { return std::cos(x); },
        {4, 4, 0.502, Relative::to_small_argument});
    add("cos", cos, [](Exact x) { return -std::sin(x); },
        {4, 4, 0.502, Relative::to_small_argument});
    add(
        "tanh", tanh, [](Exact x) { return 1 / (std::cosh(x) * std::cosh(x)); }, to_one);
    add(
        "sigmoid", sigmoid, [](Exact x) { return sigmoid_of(x) * sigmoid_of(-x); }, to_one);
    add("log1p", log1p, [](Exact x) { return 1 / (1 + x); }, {4, 4, 4});
    add("expm1", expm1, [](Exact x) { return std::exp(x); }, {4, 4});
    add("log2", log2, [](Exact x) { return 1 / (x * std::numbers::ln2_v<Exact>); }, {4, 4, 5});
    add("log10", log10, [](Exact x) { return 1 / (x * std::numbers::ln10_v<Exact>); }, {4, 4, 5});
    add(
        "erf", tapestry::erf, [](Exact x) { return 2 * kInvRootPi * std::exp(-x * x); }, to_one);
    add("tan", tan, [](Exact x) { return 1 + std::tan(x) * std::tan(x); },
        {6, 6, 4, Relative::to_pole});
    add("asin", asin, [](Exact x) { return 1 / std::sqrt((1 - x) * (1 + x)); }, {4, 4, 4});
    add("acos", acos, [](Exact x) { return -1 / std::sqrt((1 - x) * (1 + x)); }, {4, 4, 4});
    add("atan", atan, [](Exact x) { return 1 / (1 + x * x); }, {4, 4, 4});
    add("sinh", sinh, [](Exact x) { return std::cosh(x); }, {4, 4});
    add("cosh", cosh, [](Exact x) { return std::sinh(x); }, {4, 4});
}

void add_activation_slopes(Rows& rows) {
    const auto add = [&rows](const char* name, const char* variant, Function f, Formula exact,
                             const Bound& b) { add_slope(rows, name, variant, f, exact, b); };
    const Bound to_one{4, 4, 0.502, Relative::to_one};
    add(
        "relu", "gradient", relu, [](Exact x) -> Exact { return x <= 0 ? 0 : 1; }, kExact);
    add(
        "relu_squared", "gradient", relu_squared, [](Exact x) { return x <= 0 ? 0 : 2 * x; },
        kExact);
    add(
        "elu", "gradient", [](In x) { return elu(x, 1); },
        [](Exact x) { return x > 0 ? 1 : std::exp(x); }, {4, 4});
    add("gelu", "tanh, gradient", [](In x) { return gelu(x, Gelu::tanh); }, gelu_tanh_slope,
        {24, 64, 0.502, Relative::to_one});
    add(
        "gelu", "erf, gradient", [](In x) { return gelu(x, Gelu::erf); }, gelu_erf_slope, to_one);
    add("silu", "gradient", silu, silu_slope, {16, 32, 0.502, Relative::to_one});
    add("softplus", "gradient", softplus, sigmoid_of, {4, 4, 2});
    add("logsigmoid", "gradient", logsigmoid, [](Exact x) { return sigmoid_of(-x); }, {4, 4, 2});
    add("softsign", "gradient", softsign,
        [](Exact x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }, {4, 4});
    add("mish", "gradient", mish, mish_slope, to_one);
}

Exact both(Exact a, Exact b, Exact y) { return a != a || b != b ? NAN : y; }

void add_two_operands(Rows& rows) {
    const auto add = [&rows](const char* name, const char* variant, Function2 f, Formula2 exact,
                             const Bound& b) { add_row2(rows, name, variant, f, exact, b); };
    const auto power = [&rows](const char* variant, Function f, Formula exact,
                               const Bound& b = {4, 4}) {
        add_row(rows, "pow", variant, f, exact, b);
    };
    add(
        "add", "", tapestry::add, [](Exact a, Exact b) { return a + b; }, kRounded);
    add(
        "sub", "", sub, [](Exact a, Exact b) { return a - b; }, kRounded);
    add(
        "mul", "", mul, [](Exact a, Exact b) { return a * b; }, kRounded);
    add(
        "div", "", div, [](Exact a, Exact b) { return a / b; }, kRounded);
    add(
        "maximum", "", maximum, [](Exact a, Exact b) { return both(a, b, std::max(a, b)); },
        kExact);
    add(
        "minimum", "", minimum, [](Exact a, Exact b) { return both(a, b, std::min(a, b)); },
        kExact);
    add("atan2", "", atan2, [](Exact a, Exact b) { return std::atan2(a, b); }, {4, 4});
    add(
        "fmod", "", fmod, [](Exact a, Exact b) { return std::fmod(a, b); }, kExact);
    add("pow", "", pow, [](Exact a, Exact b) { return std::pow(a, b); }, {4, 4});
    power(
        "x^3", [](In x) { return pow(x, 3); }, [](Exact x) { return x * x * x; }, {2, 2, 1.5});
    power(
        "x^4", [](In x) { return pow(x, 4); }, [](Exact x) { return x * x * x * x; });
    power(
        "x^-3", [](In x) { return pow(x, -3); }, [](Exact x) { return 1 / (x * x * x); });
    power(
        "x^1.5", [](In x) { return pow(x, 1.5); }, [](Exact x) { return std::pow(x, 1.5L); });
    power(
        "2^x", [](In x) { return pow(2, x); }, [](Exact x) { return std::exp2(x); });
    add_slope(
        rows, "pow", "x^4, gradient", [](In x) { return pow(x, 4); },
        [](Exact x) { return 4 * x * x * x; }, {4, 4, 2});
}

// Of the two sides of a binary loss, the one that y selects.
Tensor side(In y) { return to(gt(y, 0), y.dtype()); }

void add_quotients_and_losses(Rows& rows) {
    const auto add = [&rows](const char* name, const char* variant, Function2 f, Formula2 exact,
                             const Bound& b) { add_row2(rows, name, variant, f, exact, b); };
    add(
        "remainder", "", remainder,
        [](Exact a, Exact b) {
            const Exact rest = std::fmod(a, b);
            return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
        },
        kRounded);
    add("floor_divide", "", floor_divide,
        [](Exact a, Exact b) {
            if (b == 0) return a / b;
            const Exact rest = std::fmod(a, b);
            return std::round((a - rest) / b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
        },
        {0.502, 2});
    const Bound composed{3, 3, 3};
    add(
        "mse_loss", "none", [](In x, In y) { return mse_loss(x, y, Reduction::none); },
        [](Exact a, Exact b) { return (a - b) * (a - b); }, composed);
    add(
        "l1_loss", "none", [](In x, In y) { return l1_loss(x, y, Reduction::none); },
        [](Exact a, Exact b) { return std::abs(a - b); }, kRounded);
    const Formula2 huber = [](Exact a, Exact b) {
        const Exact d = std::abs(a - b);
        return d < 1 ? d * d / 2 : d - 0.5L;
    };
    add(
        "huber_loss", "none", [](In x, In y) { return huber_loss(x, y, Reduction::none); }, huber,
        composed);
    add(
        "smooth_l1_loss", "none", [](In x, In y) { return smooth_l1_loss(x, y, Reduction::none); },
        huber, composed);
    add(
        "binary_cross_entropy_with_logits", "none; targets 0 and 1; infinite logits give NaN",
        [](In x, In y) {
            return binary_cross_entropy_with_logits(x, side(y), {.reduction = Reduction::none});
        },
        [](Exact x, Exact y) {
            return x == kInf || (x == -kInf && !(y > 0)) ? NAN : softplus_of(y > 0 ? -x : x);
        },
        {4, 4});
    add(
        "binary_cross_entropy", "none; targets 0 and 1",
        [](In x, In y) { return binary_cross_entropy(x, side(y), Reduction::none); },
        [](Exact x, Exact y) {
            if (!(x >= 0 && x <= 1)) return static_cast<Exact>(NAN);
            return -std::max<Exact>(y > 0 ? std::log(x) : std::log1p(-x), -100);
        },
        {4, 4});
}

}  // namespace

const std::vector<RangeRow>& range_rows() {
    static const Rows all = [] {
        Rows rows;
        for (const auto add :
             {add_elementary, add_activations, add_two_operands, add_quotients_and_losses,
              add_elementary_slopes, add_activation_slopes}) {
            add(rows);
        }
        return rows;
    }();
    return all;
}

}  // namespace tapestry::test
