#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/elementwise.h>
#include <tapestry/ops/elementwise.h>

namespace tapestry::catalog {

// The op on tensors, and the definition on doubles; on dual numbers it is found by its argument.
using std::abs, std::cos, std::exp, std::log, std::sin, std::sqrt, std::tanh;
using tapestry::abs, tapestry::cos, tapestry::exp, tapestry::log, tapestry::sin, tapestry::sqrt,
    tapestry::tanh;

std::vector<OpCase> elementwise_cases() {
    std::vector<OpCase> rows;
    const auto add_row = [&rows](const char* name, Tensor (*op)(const Tensor&), double low,
                                 double high, auto f, bool whole = false) {
        OpCase row = unary_case(name, "", op, f, low, high);
        const std::string_view taken = whole ? "floating numbers or i64" : "floating numbers";
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

}  // namespace tapestry::catalog
