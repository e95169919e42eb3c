#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/finite.h>
#include <tapestry/ops/rounding.h>

#include <algorithm>
#include <limits>

namespace tapestry::catalog {
namespace {

using In = const Tensor&;

// For x in [-2, 2) what the functions of finite.h tell apart: NaN below -1, infinite in [0, 1),
// else a number. Constant between the jumps, and beyond them.
Tensor others(In x) { return sqrt(sign(x.detach() + 1)) / clamp(floor(x.detach()), -2, 2); }

template <class F>
OpCase question(const char* name, Tensor (*op)(In), F holds) {
    OpCase row = unary_case(
        name, "", [op](In x) { return op(others(x)); },
        [holds](auto x) { return decltype(x)(holds(static_cast<double>(x)) ? 1.0 : 0.0); }, -2, 2);
    row.differentiable = false;
    row.errors = {{[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
    return row;
}

OpCase nan_to_num_row() {
    OpCase row = unary_case(
        "nan_to_num", "", [](In x) { return nan_to_num(x + others(x), -3, 5); },
        [](auto x) {
            using Number = decltype(x);
            const double floor = std::clamp(std::floor(static_cast<double>(x)), -2.0, 2.0);
            if (x < Number(-1)) return Number(-3);
            return floor == 0 ? Number(5) : x + Number((x > Number(-1) ? 1 : 0) / floor);
        },
        -2, 2);
    row.errors = {{[] { nan_to_num(arange(3)); }, "nan_to_num: needs floating numbers, got i64"},
                  {[] { nan_to_num(Tensor()); }, "nan_to_num: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> rounding_cases() {
    std::vector<OpCase> rows;
    const auto step = [&rows](const char* name, Tensor (*op)(In), double (*f)(double)) {
        OpCase row = unary_case(
            name, "", op, [f](auto x) { return decltype(x)(f(static_cast<double>(x))); }, -4, 4);
        row.errors = {{[op] { op(ones({3}, DType::boolean)); },
                       fmt::format("{}: needs floating numbers, got bool", name)},
                      {[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
        rows.push_back(row);
    };
    step("sign", sign, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; });
    step("floor", floor, [](double x) { return std::floor(x); });
    step("ceil", ceil, [](double x) { return std::ceil(x); });
    step("round", round, [](double x) { return std::nearbyint(x); });
    step("trunc", trunc, [](double x) { return std::trunc(x); });
    rows.push_back(question("isnan", isnan, [](double x) { return x < -1; }));
    rows.push_back(question("isinf", isinf, [](double x) { return x >= 0 && x < 1; }));
    rows.push_back(
        question("isfinite", isfinite, [](double x) { return (x >= -1 && x < 0) || x >= 1; }));
    rows.push_back(nan_to_num_row());
    return rows;
}

}  // namespace tapestry::catalog
