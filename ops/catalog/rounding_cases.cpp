// Rows of the op table: rounding, NaN and infinities, integer quotients and remainders.
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/rounding.h>

#include <algorithm>
#include <limits>

namespace tapestry::catalog {
namespace {

using In = const Tensor&;

// For x in [-2, 2), all classes of isnan, isinf and isfinite: NaN below -1, infinite in [0, 1),
// else a number. Piecewise constant.
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
    row.errors = {
        {[] { nan_to_num(arange(3)); }, "nan_to_num: needs floating-point numbers, got i64"},
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
                       fmt::format("{}: needs floating-point numbers, got bool", name)},
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

// ---- integer quotients --------------------------------------------------------------------------

namespace {

using Division = Tensor (*)(In, In);

// Rounds a quotient: down, or toward zero.
using Rounding = double (*)(double);

// a - b q, or q itself, where q is the integer quotient, constant in the derivative.
template <class N>
N definition(N a, N b, Rounding rounding, bool of_quotient) {
    const N quotient(rounding(static_cast<double>(a) / static_cast<double>(b)));
    return of_quotient ? quotient : a - b * quotient;
}

std::vector<ErrorCase> errors_of(const std::string& name, Division op) {
    const auto zero_inside = [op] { op(arange(6), tensor<std::int64_t>({{1}, {2}, {0}})); };
    const auto of_truth = [op] { op(ones({2}, DType::boolean), ones({2}, DType::boolean)); };
    return {{zero_inside, name + ": division by zero, at [2, 0] of the divisor [3, 1]"},
            {[op] { op(arange(6), scalar(0, DType::i64)); }, name + ": division by zero"},
            {of_truth, name + ": needs floating-point numbers or i64, got bool"},
            {[op] { op(ones({2}), arange(2)); },
             name + ": element types differ: f32 and i64; convert with to()"},
            {[op] { op(ones({2}), ones({3})); }, name + ": shapes do not broadcast: [2] and [3]"},
            {[op] { op(ones({2}), Tensor()); }, name + ": got an undefined tensor"}};
}

void add_rows(std::vector<OpCase>& rows, const char* name, Division op,
              Tensor (*number)(In, double), Rounding rounding, bool of_quotient) {
    const auto by_definition = [=](const auto& x) {
        return reference::map(
            x[0], x[1], [=](auto a, auto b) { return definition(a, b, rounding, of_quotient); });
    };
    const auto called = [op](const Tensors& x) { return op(x[0], x[1]); };
    const auto real = [](const Shape& a, const Shape& b, double low, double high) {
        return Sample{{a, -7, 7}, {b, low, high}};
    };
    OpCase row =
        op_case(name, "", called, by_definition,
                {real({3, 5}, {3, 5}, 0.5, 3), real({4, 1}, {1, 5}, -3, -0.5),
                 real({}, {2, 19}, 0.5, 3), real({1}, {1}, 0.5, 3), real({0, 3}, {3}, 0.5, 3)});
    row.large = real({70, 1000}, {1000}, 0.5, 3);
    row.errors = errors_of(name, op);
    rows.push_back(row);

    const auto whole = [](const Shape& a, const Shape& b, std::int64_t low, std::int64_t high) {
        return Sample{whole_numbers(a, -20, 20), whole_numbers(b, low, high)};
    };
    OpCase on_whole = op_case(name, "i64", called, by_definition,
                              {whole({3, 5}, {3, 5}, 1, 6), whole({4, 1}, {1, 5}, -6, 0),
                               whole({1}, {1}, 1, 6), whole({0, 3}, {3}, 1, 6)});
    on_whole.differentiable = false;
    on_whole.large = whole({70, 1000}, {1000}, 1, 6);
    rows.push_back(on_whole);

    rows.push_back(unary_case(
        name, "number", [number](In x) { return number(x, -1.5); },
        [=](auto x) { return definition(x, decltype(x)(-1.5), rounding, of_quotient); }, -7, 7));
    rows.back().errors = {{[number] { number(arange(3), 1.5); },
                           fmt::format("{}: 1.5 is not a 64-bit integer", name)}};
}

}  // namespace

std::vector<OpCase> division_cases() {
    const Rounding down = [](double x) { return std::floor(x); };
    const Rounding towards_zero = [](double x) { return std::trunc(x); };
    std::vector<OpCase> rows;
    add_rows(rows, "floor_divide", floor_divide, floor_divide, down, true);
    add_rows(rows, "remainder", remainder, remainder, down, false);
    add_rows(rows, "fmod", tapestry::fmod, tapestry::fmod, towards_zero, false);
    return rows;
}

}  // namespace tapestry::catalog
