// i64 arithmetic: the functions of arithmetic.h and elementwise.h on integers.
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/rounding.h>

#include <cmath>

namespace tapestry::catalog {
namespace {

using In = const Tensor&;

constexpr char kFraction[] =
    ": 1.5 is not a 64-bit integer, but the tensor is i64; convert it with to()";

// a in [-9, 10), b in [low, high).
template <class Op, class F>
OpCase pair_row(const char* name, std::int64_t low, std::int64_t high, Op op, F f) {
    const auto in = [&](const Shape& a, const Shape& b) {
        return Sample{whole_numbers(a, -9, 10), whole_numbers(b, low, high)};
    };
    OpCase row = op_case(
        name, "i64", [op](const Tensors& x) { return op(x[0], x[1]); },
        [f](const auto& x) { return reference::map(x[0], x[1], f); },
        {in({3, 5}, {3, 5}), in({4, 1}, {1, 5}), in({}, {2, 19}), in({1}, {1}), in({0, 3}, {3})});
    row.differentiable = false;
    row.large = in({70, 1000}, {1000});
    row.errors = {{[op] { op(arange(2), arange(3)); },
                   std::string(name) + ": shapes do not broadcast: [2] and [3]"},
                  {[op] { op(arange(2), ones({2}, DType::f64)); },
                   std::string(name) + ": element types differ: i64 and f64; convert with to()"}};
    return row;
}

template <class Op, class F>
OpCase single_row(const char* name, const char* variant, Op op, F f) {
    OpCase row = op_case(
        name, variant, [op](const Tensors& x) { return op(x[0]); },
        [f](const auto& x) { return reference::map(x[0], f); },
        {{whole_numbers({3, 5}, -9, 10)},
         {whole_numbers({2, 3, 37}, -9, 10)},
         {whole_numbers({1}, -9, 10)},
         {whole_numbers({0, 3}, -9, 10)}});
    row.differentiable = false;
    row.large = {whole_numbers({70, 1000}, -9, 10)};
    return row;
}

void add_whole_pairs(std::vector<OpCase>& rows) {
    rows.push_back(pair_row(
        "add", -9, 10, [](In a, In b) { return a + b; }, [](auto a, auto b) { return a + b; }));
    rows.push_back(pair_row(
        "sub", -9, 10, [](In a, In b) { return a - b; }, [](auto a, auto b) { return a - b; }));
    rows.push_back(pair_row(
        "mul", -9, 10, [](In a, In b) { return a * b; }, [](auto a, auto b) { return a * b; }));
    rows.push_back(pair_row(
        "div", 1, 9, [](In a, In b) { return a / b; }, [](auto a, auto b) { return a / b; }));
    rows.push_back(pair_row(
        "maximum", -9, 10, [](In a, In b) { return maximum(a, b); },
        [](auto a, auto b) { return a >= b ? a : b; }));
    rows.push_back(pair_row(
        "minimum", -9, 10, [](In a, In b) { return minimum(a, b); },
        [](auto a, auto b) { return a <= b ? a : b; }));
    OpCase power = pair_row(
        "pow", 0, 9, [](In a, In b) { return tapestry::pow(a, b); },
        [](auto a, auto b) {
            decltype(a) y(1.0);
            for (decltype(b) i(0.0); i < b; i += decltype(b)(1.0)) y *= a;
            return y;
        });
    power.errors.push_back({[] {
                                tapestry::pow(arange(2), tensor<std::int64_t>({1, -2}));
                            },
                            "pow: the exponent at [1] of [2] is negative, and i64 has no "
                            "fractions; convert with to()"});
    rows.push_back(power);
}

void add_singles(std::vector<OpCase>& rows) {
    using std::abs;
    using tapestry::abs;
    rows.push_back(single_row(
        "neg", "i64", [](In x) { return -x; }, [](auto x) { return -x; }));
    rows.push_back(single_row(
        "abs", "i64", [](In x) { return abs(x); }, [](auto x) { return abs(x); }));
    rows.push_back(single_row(
        "square", "i64", [](In x) { return square(x); }, [](auto x) { return x * x; }));
    rows.push_back(single_row("sign", "i64", sign, [](auto x) {
        return decltype(x)(x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0);
    }));
    const auto stays = [&rows](const char* name, Tensor (*op)(In)) {
        rows.push_back(single_row(name, "i64", op, [](auto x) { return x; }));
    };
    stays("floor", floor);
    stays("ceil", ceil);
    stays("round", round);
    stays("trunc", trunc);
    rows.push_back(single_row(
        "add", "i64, number", [](In x) { return 2 + (x + 3); }, [](auto x) { return x + 5.0; }));
    rows.back().errors = {{[] { arange(3) + 1.5; }, std::string("add") + kFraction}};
    rows.push_back(single_row(
        "sub", "i64, number", [](In x) { return 2 - (x - 3); }, [](auto x) { return 5.0 - x; }));
    rows.back().errors = {{[] { 1.5 - arange(3); }, std::string("sub") + kFraction}};
    rows.push_back(single_row(
        "mul", "i64, number", [](In x) { return 2 * (x * -3); }, [](auto x) { return -6.0 * x; }));
    rows.back().errors = {{[] { arange(3) * 1.5; }, std::string("mul") + kFraction}};
    rows.push_back(single_row(
        "div", "i64, number", [](In x) { return x / 2.5 + 3 / (square(x) + 1); },
        [](auto x) { return x / 2.5 + 3.0 / (x * x + 1.0); }));
    rows.push_back(single_row(
        "pow", "i64, number", [](In x) { return tapestry::pow(x, 3) + tapestry::pow(2, abs(x)); },
        [](auto x) {
            return x * x * x + decltype(x)(std::exp2(std::abs(static_cast<double>(x))));
        }));
    rows.back().errors = {{[] { tapestry::pow(arange(3), -1); },
                           "pow: the exponent -1 is negative, and i64 has no fractions"}};
    rows.push_back(single_row(
        "clamp", "i64", [](In x) { return clamp(x, -3, 5); },
        [](auto x) { return x < -3.0  ? decltype(x)(-3.0)
                            : x > 5.0 ? decltype(x)(5.0)
                                      : x; }));
    rows.back().errors = {{[] { clamp(arange(3), 0.5, 2); },
                           "clamp: 0.5 is neither an integer nor infinite, but the tensor is i64"}};
}

// where() also selects among i64 and bool.
OpCase where_row(const char* variant, const std::function<Input(const Shape&)>& values) {
    OpCase row = op_case(
        "where", variant, [](const Tensors& x) { return where(x[0], x[1], x[2]); },
        [](const auto& x) {
            using A = std::decay_t<decltype(x[0])>;
            A y(x[0].shape);
            for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[0][i] != 0.0 ? x[1][i] : x[2][i];
            return y;
        },
        {{mask({3, 5}), values({3, 5}), values({3, 5})},
         {mask({1}), values({1}), values({1})},
         {mask({0}), values({0}), values({0})}});
    row.differentiable = false;
    row.large = {mask({70, 1000}), values({70, 1000}), values({70, 1000})};
    return row;
}

}  // namespace

std::vector<OpCase> whole_cases() {
    std::vector<OpCase> rows;
    add_whole_pairs(rows);
    add_singles(rows);
    rows.push_back(
        where_row("i64", [](const Shape& shape) { return whole_numbers(shape, -9, 10); }));
    rows.push_back(where_row("bool", [](const Shape& shape) { return mask(shape); }));
    return rows;
}

}  // namespace tapestry::catalog
