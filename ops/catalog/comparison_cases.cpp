#include <tapestry/core/create.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/comparison.h>

namespace tapestry::catalog {
namespace {

using Compare = Tensor (*)(const Tensor&, const Tensor&);
using CompareNumber = Tensor (*)(const Tensor&, double);
template <class T>
using Relation = bool(T, T);

OpCase comparison(const char* name, Compare op, const Generic<Relation>& holds) {
    OpCase row = op_case(
        name, "", [op](const Tensors& x) { return op(x[0], x[1]); },
        [holds](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            return reference::map(x[0], x[1], [&](T a, T b) { return holds(a, b) ? T(1) : T(0); });
        },
        {{indices({3, 5}, 3), indices({3, 5}, 3)},
         {indices({4, 1}, 3), indices({1, 5}, 3)},
         {{{2, 17}}, {{17}}},
         {indices({1}, 2), indices({1}, 2)},
         {{{0, 2}}, {{2}}}});
    row.differentiable = false;
    row.large = {{{70, 1000}}, {{1000}}};
    row.errors = {{[op] { op(ones({2}), ones({2}, DType::f64)); },
                   std::string(name) + ": element types differ: f32 and f64"},
                  {[op] { op(ones({2}), ones({3})); },
                   std::string(name) + ": shapes do not broadcast: [2] and [3]"}};
    return row;
}

OpCase against_number(const char* name, CompareNumber op, const Generic<Relation>& holds) {
    OpCase row = op_case(
        name, "number", [op](const Tensors& x) { return op(x[0], 1); },
        [holds](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            return reference::map(x[0], [&](T a) { return holds(a, T(1)) ? T(1) : T(0); });
        },
        {{indices({3, 5}, 3)}, {indices({1}, 3)}, {indices({0}, 3)}, {indices({}, 3)}});
    row.differentiable = false;
    row.errors = {{[op] { op(Tensor(), 1); }, std::string(name) + ": got an undefined tensor"}};
    return row;
}

// Comparison with a number between the values of the elements.
OpCase against_fraction(const char* name, CompareNumber op, const Generic<Relation>& holds) {
    OpCase row = op_case(
        name, "fraction",
        [op](const Tensors& x) {
            return Tensors{op(x[0], 0.5), op(x[0], -1.5), op(x[1], 0.5)};
        },
        [holds](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            const auto against = [&](const auto& a, double b) {
                return reference::map(a, [&](T v) { return holds(v, T(b)) ? T(1) : T(0); });
            };
            return std::vector{against(x[0], 0.5), against(x[0], -1.5), against(x[1], 0.5)};
        },
        {{whole_numbers({3, 5}, -3, 4), mask({7})},
         {whole_numbers({1}, 0, 1), mask({1})},
         {whole_numbers({0}, 0, 1), mask({})}});
    row.differentiable = false;
    return row;
}

OpCase logic(const char* name, Compare op, bool (*f)(bool, bool)) {
    OpCase row = op_case(
        name, "", [op](const Tensors& x) { return op(x[0], x[1]); },
        [f](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            return reference::map(x[0], x[1],
                                  [&](T a, T b) { return f(a != T(0), b != T(0)) ? T(1) : T(0); });
        },
        {{mask({3, 5}), mask({5})}, {mask({1}), mask({1})}, {mask({0}), mask({1})}});
    row.differentiable = false;
    row.errors = {{[op] { op(ones({2}), ones({2}, DType::boolean)); },
                   std::string(name) + ": needs bool, got f32"}};
    return row;
}

}  // namespace

namespace {
OpCase isclose_row() {
    OpCase row = op_case(
        "isclose", "", [](const Tensors& x) { return isclose(x[0], x[1], 0.25, 0.5); },
        [](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            return reference::map(x[0], x[1], [](T a, T b) {
                const T apart = a < b ? b - a : a - b, size = b < T(0) ? -b : b;
                return apart <= T(0.5) + T(0.25) * size ? T(1) : T(0);
            });
        },
        {{{{3, 5}}, {{3, 5}}},
         {{{4, 1}}, {{1, 7}}},
         {whole_numbers({9}, -4, 5), whole_numbers({9}, -4, 5)},
         {{{1}}, {{1}}},
         {{{0, 2}}, {{2}}}});
    row.differentiable = false;
    row.large = {{{70, 1000}}, {{1000}}};
    row.errors = {
        {[] { isclose(ones({2}), ones({2}, DType::f64)); },
         "isclose: element types differ: f32 and f64"},
        {[] { isclose(ones({2}), ones({3})); }, "isclose: shapes do not broadcast: [2] and [3]"},
        {[] { isclose(ones({2}), ones({2}), -1); },
         "isclose: tolerances must be >= 0, got -1 and 1e-08"},
        {[] { allclose(ones({2}), ones({3})); }, "isclose: shapes do not broadcast: [2] and [3]"}};
    return row;
}
}  // namespace

std::vector<OpCase> comparison_cases() {
    std::vector<OpCase> rows;
    const auto both = [&rows](const char* name, Compare op, CompareNumber number,
                              const Generic<Relation>& holds) {
        rows.push_back(comparison(name, op, holds));
        rows.push_back(against_number(name, number, holds));
        rows.push_back(against_fraction(name, number, holds));
    };
    both("eq", eq, eq, [](auto a, auto b) { return a == b; });
    both("ne", ne, ne, [](auto a, auto b) { return a != b; });
    both("lt", lt, lt, [](auto a, auto b) { return a < b; });
    both("le", le, le, [](auto a, auto b) { return a <= b; });
    both("gt", gt, gt, [](auto a, auto b) { return a > b; });
    both("ge", ge, ge, [](auto a, auto b) { return a >= b; });
    rows.push_back(logic("logical_and", logical_and, [](bool a, bool b) { return a && b; }));
    rows.push_back(logic("logical_or", logical_or, [](bool a, bool b) { return a || b; }));

    rows.push_back(logic("logical_xor", logical_xor, [](bool a, bool b) { return a != b; }));

    OpCase negation = op_case(
        "logical_not", "", [](const Tensors& x) { return logical_not(x[0]); },
        [](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            return reference::map(x[0], [](T a) { return a == T(0) ? T(1) : T(0); });
        },
        {{mask({3, 5})}, {mask({1})}, {mask({0})}});
    negation.differentiable = false;
    negation.errors = {{[] { logical_not(ones({2})); }, "logical_not: needs bool, got f32"}};
    rows.push_back(negation);

    OpCase conversion = op_case(
        "to", "f64 and back",
        [](const Tensors& x) { return to(to(x[0], DType::f64), x[0].dtype()); },
        [](const auto& x) { return x[0]; }, {{{{3, 5}}}, {{{1}}}, {{{0, 2}}}, {{{}}}});
    conversion.errors = {{[] { to(Tensor(), DType::f64); }, "to: got an undefined tensor"}};
    rows.push_back(conversion);
    rows.push_back(isclose_row());
    return rows;
}

}  // namespace tapestry::catalog
