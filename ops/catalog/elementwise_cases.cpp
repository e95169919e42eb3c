// Rows of the op table: functions of one variable. Definitions: reference/elementwise.h; accuracy:
// tests/ops/transcendental_test.cpp.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/elementwise.h>
#include <tapestry/ops/elementwise.h>

namespace tapestry::catalog {

// For both tensors and doubles; those on Dual are found by argument-dependent lookup.
using std::abs, std::cos, std::exp, std::log, std::sin, std::sqrt, std::tanh;
using tapestry::abs, tapestry::cos, tapestry::exp, tapestry::log, tapestry::sin, tapestry::sqrt,
    tapestry::tanh;

std::vector<OpCase> elementwise_cases() {
    std::vector<OpCase> rows;
    const auto add_row = [&rows](const char* name, Tensor (*op)(const Tensor&), double low,
                                 double high, auto f, bool whole = false) {
        OpCase row = unary_case(name, "", op, f, low, high);
        const std::string_view taken =
            whole ? "floating-point numbers or i64" : "floating-point numbers";
        row.errors = {{[op] { op(ones({2}, DType::boolean)); },
                       fmt::format("{}: needs {}, got bool", name, taken)},
                      {[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
        rows.push_back(row);
    };
    add_row(
        "neg", neg, -3, 3, [](auto x) { return -x; }, true);
    add_row(
        "abs", abs, -3, 3, [](auto x) { return abs(x); }, true);
    add_row(
        "square", square, -3, 3, [](auto x) { return x * x; }, true);
    add_row("reciprocal", reciprocal, 0.3, 4, [](auto x) { return decltype(x)(1) / x; });
    add_row("sqrt", sqrt, 0.1, 4, [](auto x) { return sqrt(x); });
    add_row("rsqrt", rsqrt, 0.2, 4, [](auto x) { return decltype(x)(1) / sqrt(x); });
    add_row("exp", exp, -4, 3, [](auto x) { return exp(x); });
    add_row("log", log, 0.1, 9, [](auto x) { return log(x); });
    add_row("sin", sin, -7, 7, [](auto x) { return sin(x); });
    add_row("cos", cos, -7, 7, [](auto x) { return cos(x); });
    add_row("tanh", tanh, -4, 4, [](auto x) { return tanh(x); });
    add_row("sigmoid", sigmoid, -6, 6, [](auto x) { return reference::sigmoid(x); });
    return rows;
}

// ---- logarithms, the error function, circular and hyperbolic functions --------------------------

namespace {

OpCase atan2_row() {
    const auto in = [](const Shape& y, const Shape& x) { return Sample{{y, -3, 3}, {x, -3, 3}}; };
    OpCase row = op_case(
        "atan2", "", [](const Tensors& x) { return atan2(x[0], x[1]); },
        [](const auto& x) {
            return reference::map(x[0], x[1],
                                  [](auto a, auto b) { return reference::atan2(a, b); });
        },
        {in({3, 5}, {3, 5}), in({4, 1}, {1, 5}), in({}, {2, 19}), in({1}, {1}), in({0, 3}, {3})});
    row.large = {{{70, 1000}, -3, 3}, {{1000}, -3, 3}};
    row.errors = {
        {[] {
             atan2(ones({2, 3}), ones({4}));
         },
         "atan2: shapes do not broadcast: [2, 3] and [4] (axis -1: 3 against 4)"},
        {[] { atan2(ones({2}), ones({2}, DType::f64)); }, "atan2: element types differ: f32 and"},
        {[] { atan2(arange(2), arange(2)); }, "atan2: needs floating-point numbers, got i64"},
        {[] { atan2(ones({2}), Tensor()); }, "atan2: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> transcendental_cases() {
    using std::cos, std::erf, std::exp, std::log, std::sin;
    std::vector<OpCase> rows;
    const auto add_row = [&rows](const char* name, Tensor (*op)(const Tensor&), double low,
                                 double high, auto f) {
        OpCase row = unary_case(name, "", op, f, low, high);
        row.errors = {{[op] { op(arange(3)); },
                       fmt::format("{}: needs floating-point numbers, got i64", name)},
                      {[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
        rows.push_back(row);
    };
    add_row("log1p", log1p, -0.9, 9, [](auto x) { return log(decltype(x)(1) + x); });
    add_row("expm1", expm1, -4, 3, [](auto x) { return exp(x) - decltype(x)(1); });
    add_row("log2", log2, 0.1, 9, [](auto x) { return log(x) / decltype(x)(std::log(2.0)); });
    add_row("log10", log10, 0.1, 9, [](auto x) { return log(x) / decltype(x)(std::log(10.0)); });
    add_row("erf", tapestry::erf, -3, 3, [](auto x) { return erf(x); });
    add_row("tan", tan, -1.3, 1.3, [](auto x) { return sin(x) / cos(x); });
    add_row("asin", asin, -0.9, 0.9, [](auto x) { return reference::asin(x); });
    add_row("acos", acos, -0.9, 0.9, [](auto x) { return reference::acos(x); });
    add_row("atan", atan, -5, 5, [](auto x) { return reference::atan(x); });
    add_row("sinh", sinh, -3, 3, [](auto x) { return reference::sinh(x); });
    add_row("cosh", cosh, -3, 3, [](auto x) { return reference::cosh(x); });
    add_row("logit", logit, 0.05, 0.95, [](auto x) { return log(x / (decltype(x)(1) - x)); });
    rows.push_back(atan2_row());
    return rows;
}

}  // namespace tapestry::catalog
