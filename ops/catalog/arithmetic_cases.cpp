#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/catalog/op_case.h>

namespace tapestry::catalog {
namespace {

// For both tensors and doubles; those on Dual are found by argument-dependent lookup.
using std::pow, std::sqrt;
using tapestry::pow;

// All ways in which two shapes can broadcast, with values in [low, high).
std::vector<Sample> pairs(double low, double high) {
    const auto in = [&](const Shape& a, const Shape& b) {
        return Sample{{a, low, high}, {b, low, high}};
    };
    return {in({3, 5}, {3, 5}), in({2, 3, 19}, {19}),    in({4, 1}, {1, 5}), in({2, 1, 3}, {5, 1}),
            in({}, {2, 3}),     in({2, 17}, {}),         in({1}, {1}),       in({0, 3}, {3}),
            in({3, 1}, {1, 0}), in({2, 3, 4}, {2, 3, 4})};
}

using In = const Tensor&;
template <class T>
using Binary = T(T, T);

OpCase binary_row(const char* name, double low, double high, Tensor (*op)(In, In),
                  const Generic<Binary>& f) {
    OpCase row = op_case(
        name, "", [op](const Tensors& x) { return op(x[0], x[1]); },
        [f](const auto& x) { return reference::map(x[0], x[1], f); }, pairs(low, high));
    row.large = {{{70, 1000}, low, high}, {{1000}, low, high}};
    const std::string prefix = std::string(name) + ": ";
    row.errors = {{[op] {
                       op(ones({2, 3}), ones({4}));
                   },
                   prefix + "shapes do not broadcast: [2, 3] and [4] (axis -1: 3 against 4)"},
                  {[op] { op(ones({2}), ones({2}, DType::f64)); },
                   prefix + "element types differ: f32 and f64; convert with to()"},
                  {[op] {
                       const Tensor truth = ones({2}, DType::boolean);
                       op(truth, truth);
                   },
                   prefix + "needs floating-point numbers or i64, got bool"},
                  {[op] { op(arange(2), ones({2})); },
                   prefix + "element types differ: i64 and f32; convert with to()"},
                  {[op] { op(ones({2}), Tensor()); }, prefix + "got an undefined tensor"}};
    return row;
}

// A tensor and a number.
template <class F>
OpCase number_row(const char* name, const char* variant, double low, double high, Tensor (*op)(In),
                  F f) {
    OpCase row = unary_case(name, variant, op, f, low, high);
    row.errors = {{[op] { op(ones({3}, DType::boolean)); },
                   std::string(name) + ": needs floating-point numbers or i64, got bool"}};
    return row;
}

// Two tensors.
void add_pairs(std::vector<OpCase>& rows) {
    rows.push_back(binary_row(
        "add", -3, 3, [](In a, In b) { return a + b; }, [](auto a, auto b) { return a + b; }));
    rows.push_back(binary_row(
        "sub", -3, 3, [](In a, In b) { return a - b; }, [](auto a, auto b) { return a - b; }));
    rows.push_back(binary_row(
        "mul", -3, 3, [](In a, In b) { return a * b; }, [](auto a, auto b) { return a * b; }));
    rows.push_back(binary_row(
        "div", 0.5, 3, [](In a, In b) { return a / b; }, [](auto a, auto b) { return a / b; }));
    rows.push_back(binary_row(
        "pow", 0.3, 3, [](In a, In b) { return pow(a, b); },
        [](auto a, auto b) { return pow(a, b); }));
    rows.push_back(binary_row(
        "maximum", -3, 3, [](In a, In b) { return maximum(a, b); },
        [](auto a, auto b) { return a >= b ? a : b; }));
    rows.push_back(binary_row(
        "minimum", -3, 3, [](In a, In b) { return minimum(a, b); },
        [](auto a, auto b) { return a <= b ? a : b; }));
}

void add_numbers(std::vector<OpCase>& rows) {
    rows.push_back(number_row(
        "add", "number", -3, 3, [](In x) { return 1.5 + (x + 0.25); },
        [](auto x) { return x + 1.75; }));
    rows.push_back(number_row(
        "sub", "number", -3, 3, [](In x) { return 1.5 - (x - 0.25); },
        [](auto x) { return 1.75 - x; }));
    rows.push_back(number_row(
        "mul", "number", -3, 3, [](In x) { return 2.0 * (x * 1.5); },
        [](auto x) { return 3.0 * x; }));
    rows.push_back(number_row(
        "div", "number", 0.5, 3, [](In x) { return 2.0 / (x / 1.5); },
        [](auto x) { return decltype(x)(3.0) / x; }));
}

void add_powers(std::vector<OpCase>& rows) {
    rows.push_back(number_row(
        "pow", "square", -3, 3, [](In x) { return pow(x, 2); }, [](auto x) { return x * x; }));
    rows.push_back(number_row(
        "pow", "cube", -2, 2, [](In x) { return pow(x, 3); }, [](auto x) { return x * x * x; }));
    rows.push_back(number_row(
        "pow", "fourth", -2, 2, [](In x) { return pow(x, 4); },
        [](auto x) { return x * x * x * x; }));
    rows.push_back(number_row(
        "pow", "roots and inverses", 0.3, 3,
        [](In x) { return pow(x, 0.5) + pow(x, -0.5) + pow(x, -1) + pow(x, 1); },
        [](auto x) {
            const decltype(x) one(1.0);
            return sqrt(x) + one / sqrt(x) + one / x + x;
        }));
    rows.push_back(number_row(
        "pow", "zeroth", -2, 2, [](In x) { return pow(x, 0); },
        [](auto x) { return decltype(x)(1.0); }));
    rows.push_back(number_row(
        "pow", "of a number", -2, 2, [](In x) { return pow(1.75, x); },
        [](auto x) { return pow(decltype(x)(1.75), x); }));
}

OpCase where_number_row() {
    OpCase row = op_case(
        "where", "number",
        [](const Tensors& x) {
            return Tensors{where(x[0], x[1], 0.5), where(x[0], 0, x[1]), where(x[0], x[2], -100)};
        },
        [](const auto& x) {
            using N = std::decay_t<decltype(x[0][0])>;
            const auto chosen = [&](auto f) { return reference::map(x[0], x[1], f); };
            return std::vector{
                chosen([](N c, N a) { return c != N(0) ? a : N(0.5); }),
                chosen([](N c, N a) { return c != N(0) ? N(0) : a; }),
                reference::map(x[0], x[2], [](N c, N a) { return c != N(0) ? a : N(-100); })};
        },
        {{mask({3, 5}), {{3, 5}}, whole_numbers({3, 5}, 0, 9)},
         {mask({5}), {{2, 5}}, whole_numbers({}, 0, 9)},
         {mask({1}), {{1}}, whole_numbers({1}, 0, 9)},
         {mask({0}), {{2, 1}}, whole_numbers({0}, 0, 9)}});
    row.errors = {
        {[] { where(ones({2}, DType::boolean), arange(2), 0.5); },
         "where: 0.5 is not a 64-bit integer, but the tensor is i64"},
        {[] { where(ones({2}, DType::boolean), 2, ones({2}, DType::boolean)); },
         "where: 2 must be 0 or 1, because the tensor is bool"},
        {[] { where(ones({2}), 1, ones({2})); }, "where: needs bool, got f32"},
        {[] { where(ones({2}, DType::boolean), Tensor(), 1); }, "where: got an undefined tensor"}};
    return row;
}

OpCase where_row() {
    OpCase row = op_case(
        "where", "", [](const Tensors& x) { return where(x[0], x[1], x[2]); },
        [](const auto& x) {
            using A = std::decay_t<decltype(x[0])>;
            A y(broadcast_shapes("", x[0].shape, broadcast_shapes("", x[1].shape, x[2].shape)));
            for (std::int64_t i = 0; i < y.size(); ++i) {
                const Shape index = reference::unravel(y.shape, i);
                const auto& from =
                    x[0][reference::ravel_broadcast(x[0].shape, index)] != 0.0 ? x[1] : x[2];
                y[i] = from[reference::ravel_broadcast(from.shape, index)];
            }
            return y;
        },
        {{mask({3, 5}), {{3, 5}}, {{3, 5}}},
         {mask({4, 1}), {{5}}, {{4, 5}}},
         {mask({5}), {{3, 5}}, {{}}},
         {mask({1}), {{1}}, {{1}}},
         {mask({0}), {{1}}, {{0}}}});
    row.large = {mask({70, 1000}), {{1000}}, {{70, 1000}}};
    row.errors = {{[] { where(ones({2}), ones({2}), ones({2})); }, "where: needs bool, got f32"},
                  {[] { where(ones({2}, DType::boolean), ones({2}), ones({2}, DType::f64)); },
                   "where: element types differ: f32 and f64"},
                  {[] { where(ones({2}, DType::boolean), ones({3}), ones({3})); },
                   "where: shapes do not broadcast: [2] and [3]"}};
    return row;
}

OpCase clamp_row() {
    OpCase row = unary_case(
        "clamp", "", [](In x) { return clamp(x, -1, 1.5); },
        [](auto x) { return x < -1.0  ? decltype(x)(-1.0)
                            : x > 1.5 ? decltype(x)(1.5)
                                      : x; }, -3,
        3);
    row.errors = {{[] { clamp(ones({2}), 1, 0); }, "clamp: low must be at most high, got 1 and 0"},
                  {[] { clamp(ones({2}, DType::boolean), 0, 1); },
                   "clamp: needs floating-point numbers or i64, got bool"}};
    return row;
}

OpCase lerp_row() {
    OpCase row = op_case(
        "lerp", "", [](const Tensors& x) { return lerp(x[0], x[1], 0.3); },
        [](const auto& x) {
            return reference::map(x[0], x[1], [](auto a, auto b) {
                return decltype(a)(0.7) * a + decltype(a)(0.3) * b;
            });
        },
        {{{{3, 5}}, {{3, 5}}}, {{{4, 1}}, {{1, 7}}}, {{{1}}, {{1}}}, {{{0, 2}}, {{2}}}});
    row.large = {{{70, 1000}}, {{1000}}};
    row.errors = {
        {[] { lerp(ones({2}), ones({2}, DType::f64), 0.5); },
         "lerp: element types differ: f32 and f64"},
        {[] { lerp(arange(2), arange(2), 0.5); }, "lerp: needs floating-point numbers, got i64"}};
    return row;
}

}  // namespace

std::vector<OpCase> arithmetic_cases() {
    std::vector<OpCase> rows;
    add_pairs(rows);
    add_numbers(rows);
    add_powers(rows);
    rows.push_back(where_row());
    rows.push_back(where_number_row());
    rows.push_back(clamp_row());
    rows.push_back(lerp_row());
    return rows;
}

}  // namespace tapestry::catalog
