// Rows of the op table: products by name. einsum's definition is theirs.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/einsum.h>
#include <tapestry/ops/products.h>

namespace tapestry::catalog {
namespace {

template <class Op>
OpCase row_of(const char* name, const char* variant, Op op, const std::vector<std::string>& terms,
              const char* output, std::vector<Sample> samples) {
    return op_case(
        name, variant, op, [=](const auto& x) { return reference::einsum(terms, output, x); },
        std::move(samples));
}

// What every product of two says of element types and undefined operands.
template <class Op>
std::vector<ErrorCase> type_errors(const std::string& name, Op op, const Shape& a, const Shape& b) {
    return {
        {[=] { op(ones(a), ones(b, DType::f64)); }, name + ": element types differ: f32 and f64"},
        {[=] { op(zeros(a, DType::i64), zeros(b, DType::i64)); },
         name + ": needs floating numbers, got i64"},
        {[=] { op(ones(a), Tensor()); }, name + ": got an undefined tensor"}};
}

// `wrong` are shapes that do not fit, and what is said of them.
template <class Op>
OpCase pair_row(const char* name, Op op, const std::vector<std::string>& terms, const char* output,
                std::vector<Sample> samples,
                const std::vector<std::tuple<Shape, Shape, std::string>>& wrong) {
    const Shape a = samples.front()[0].shape;
    const Shape b = samples.front()[1].shape;
    OpCase row = row_of(
        name, "", [op](const Tensors& x) { return op(x[0], x[1]); }, terms, output,
        std::move(samples));
    row.errors = type_errors(name, op, a, b);
    for (const auto& [left, right, message] : wrong) {
        row.errors.push_back({[op, x = ones(left), y = ones(right)] { op(x, y); }, message});
    }
    return row;
}

std::vector<OpCase> named_products() {
    return {
        pair_row("mm", mm, {"ij", "jk"}, "ik",
                 {{{{3, 5}}, {{5, 4}}}, {{{1, 1}}, {{1, 1}}}, {{{3, 0}}, {{0, 4}}}},
                 {{{4, 3}, {2, 5}, "mm: inner sizes differ: [4, 3] x [2, 5] (3 against 2)"},
                  {{4, 3}, {3}, "mm: [4, 3] x [3]: operands have 2 and 2 axes; matmul takes any"}}),
        pair_row("mv", mv, {"ij", "j"}, "i",
                 {{{{3, 5}}, {{5}}}, {{{1, 1}}, {{1}}}, {{{3, 0}}, {{0}}}},
                 {{{4, 3}, {2}, "mv: inner sizes differ: [4, 3] x [2] (3 against 2)"},
                  {{3}, {3}, "mv: [3] x [3]: operands have 2 and 1 axes"}}),
        pair_row(
            "bmm", bmm, {"bij", "bjk"}, "bik",
            {{{{2, 3, 5}}, {{2, 5, 4}}}, {{{1, 1, 1}}, {{1, 1, 1}}}, {{{0, 3, 2}}, {{0, 2, 4}}}},
            {{{2, 4, 3}, {2, 2, 5}, "bmm: inner sizes differ: [2, 4, 3] x [2, 2, 5]"},
             {{1, 2, 3}, {4, 3, 2}, "bmm: batches differ: [1, 2, 3] x [4, 3, 2] (1 against 4)"},
             {{2, 3}, {3, 2}, "bmm: [2, 3] x [3, 2]: operands have 3 and 3 axes"}}),
        pair_row("dot", dot, {"i", "i"}, "", {{{{5}}, {{5}}}, {{{1}}, {{1}}}, {{{0}}, {{0}}}},
                 {{{3}, {2}, "dot: inner sizes differ: [3] x [2] (3 against 2)"},
                  {{3, 1}, {3}, "dot: [3, 1] x [3]: operands have 1 and 1 axes"}}),
        pair_row("outer", outer, {"i", "j"}, "ij", {{{{5}}, {{3}}}, {{{1}}, {{1}}}, {{{0}}, {{2}}}},
                 {{{3, 1}, {3}, "outer: [3, 1] x [3]: operands have 1 and 1 axes"}})};
}

OpCase trace_row() {
    OpCase row = row_of("trace", "", [](const Tensors& x) { return trace(x[0]); }, {"abii"}, "ab",
                        {{{{2, 3, 4, 4}}}, {{{1, 1, 1, 1}}}, {{{2, 3, 0, 0}}}});
    row.errors = {{[] {
                       trace(ones({2, 3}));
                   },
                   "trace: [2, 3] holds no square matrices"},
                  {[] { trace(ones({3})); }, "trace: [3] holds no square matrices"},
                  {[] {
                       trace(zeros({2, 2}, DType::i64));
                   },
                   "trace: needs floating numbers, got i64"}};
    return row;
}

std::vector<OpCase> tensordot_rows() {
    const auto last_two = [](const Tensor& a, const Tensor& b) { return tensordot(a, b); };
    OpCase two = pair_row(
        "tensordot", last_two, {"aij", "ijb"}, "ab",
        {{{{2, 3, 4}}, {{3, 4, 5}}}, {{{1, 1, 1}}, {{1, 1, 1}}}, {{{2, 0, 4}}, {{0, 4, 5}}}},
        {{{2, 3}, {2, 4}, "tensordot: axis 1 of [2, 3] against axis 1 of [2, 4]"},
         {{3}, {3}, "tensordot: 2 axes of [3] and [3]"}});
    OpCase named = row_of("tensordot", "named axes",
                          [](const Tensors& x) {
                              return tensordot(x[0], x[1], {0, -1}, {2, 0});
                          },
                          {"jabi", "icj"}, "abc",
                          {{{{2, 3, 4, 5}}, {{5, 2, 2}}},
                           {{{1, 1, 1, 1}}, {{1, 1, 1}}},
                           {{{2, 0, 2, 3}}, {{3, 2, 2}}}});
    named.errors = {{[] {
                         tensordot(ones({2, 2}), ones({2, 2}), {0, -2}, {0, 1});
                     },
                     "tensordot: axis -2 of [2, 2] is named twice"},
                    {[] {
                         tensordot(ones({2, 2}), ones({2, 2}), {0, 1}, {0});
                     },
                     "tensordot: 2 axes of [2, 2] for 1 of [2, 2]"},
                    {[] {
                         tensordot(ones({2, 2}), ones({2, 2}), {2}, {0});
                     },
                     "tensordot: axis 2 is outside"}};
    OpCase none =
        row_of("tensordot", "outer", [](const Tensors& x) { return tensordot(x[0], x[1], 0); },
               {"ij", "k"}, "ijk", {{{{2, 3}}, {{4}}}, {{{1, 1}}, {{1}}}, {{{0, 2}}, {{3}}}});
    return {two, named, none};
}

}  // namespace

std::vector<OpCase> product_cases() {
    std::vector<OpCase> rows = named_products();
    rows.push_back(trace_row());
    for (OpCase& row : tensordot_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace tapestry::catalog
