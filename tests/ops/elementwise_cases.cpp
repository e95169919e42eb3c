#include <tapestry/core/create.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/tests/ops/op_case.h>
#include <tapestry/tests/reference/elementwise.h>

namespace tapestry::test {

using tapestry::abs, tapestry::cos, tapestry::exp, tapestry::log, tapestry::sin, tapestry::sqrt,
    tapestry::tanh;

std::vector<OpCase> elementwise_cases() {
    std::vector<OpCase> rows;
    const auto add_row = [&rows](const char* name, Tensor (*op)(const Tensor&), auto f, double low,
                                 double high) {
        OpCase row = unary_case(name, "", op, f, low, high);
        row.errors = {{[op] { op(arange(3)); }, fmt::format("{}: needs f32 or f64, got i64", name)},
                      {[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
        rows.push_back(row);
    };
    add_row("neg", neg, [](auto x) { return -x; }, -3, 3);
    add_row("abs", abs, [](auto x) { using std::abs; return abs(x); }, -3, 3);
    add_row("square", square, [](auto x) { return x * x; }, -3, 3);
    add_row("sqrt", sqrt, [](auto x) { using std::sqrt; return sqrt(x); }, 0.1, 4);
    add_row("rsqrt", rsqrt, [](auto x) { using std::sqrt; return decltype(x)(1) / sqrt(x); }, 0.2, 4);
    add_row("exp", exp, [](auto x) { using std::exp; return exp(x); }, -4, 3);
    add_row("log", log, [](auto x) { using std::log; return log(x); }, 0.1, 9);
    add_row("sin", sin, [](auto x) { using std::sin; return sin(x); }, -7, 7);
    add_row("cos", cos, [](auto x) { using std::cos; return cos(x); }, -7, 7);
    add_row("tanh", tanh, [](auto x) { using std::tanh; return tanh(x); }, -4, 4);
    add_row("sigmoid", sigmoid, [](auto x) { return reference::sigmoid(x); }, -6, 6);
    return rows;
}

}  // namespace tapestry::test
