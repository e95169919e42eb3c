// Rows of the op table: matrix products. The samples cover every path of ops/matmul.cpp: one
// product, a batch distributed to threads, a batch merged into one product. Definitions:
// reference/linalg.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/low_rank_linear.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

namespace tapestry::catalog {
namespace {

OpCase matmul_row() {
    OpCase row = op_case(
        "matmul", "", [](const Tensors& x) { return matmul(x[0], x[1]); },
        [](const auto& x) { return reference::matmul(x[0], x[1]); },
        {{{{3, 5}}, {{5, 4}}},
         {{{7, 33}}, {{33, 19}}},
         {{{2, 3, 4}}, {{4, 5}}},        // many matrices on the left, one on the right
         {{{3, 4}}, {{2, 4, 5}}},        // one matrix on the left
         {{{2, 1, 3, 4}}, {{3, 4, 2}}},  // batches broadcast both ways
         {{{9, 2, 3}}, {{9, 3, 4}}},     // enough for one product per thread
         {{{2, 3, 4}}, {{1, 4, 5}}},
         {{{1, 1}}, {{1, 1}}},
         {{{3, 0}}, {{0, 4}}},  // an empty sum is 0
         {{{0, 3}}, {{3, 4}}},
         {{{0, 2, 3}}, {{3, 4}}},
         {{{2, 3}}, {{3, 0}}}});
    row.large = {{{12, 64, 90}}, {{12, 90, 70}}};
    row.errors = {{[] {
                       matmul(ones({4, 3}), ones({2, 5}));
                   },
                   "matmul: inner sizes differ: [4, 3] x [2, 5] (3 against 2)"},
                  {[] { matmul(ones({3}), ones({2})); },
                   "matmul: inner sizes differ: [3] x [2] (3 against 2)"},
                  {[] {
                       matmul(ones({2, 3, 4}), ones({3, 4, 5}));
                   },
                   "matmul: batch axes: shapes do not broadcast: [2] and [3]"},
                  {[] { matmul(ones({}), ones({3})); },
                   "matmul: [] x [3]: a scalar is not a matrix; use mul"},
                  {[] {
                       matmul(ones({2, 2}), ones({2, 2}, DType::f64));
                   },
                   "matmul: element types differ: f32 and f64"},
                  {[] {
                       matmul(zeros({2, 2}, DType::i64), zeros({2, 2}, DType::i64));
                   },
                   "matmul: needs floating-point numbers, got i64"},
                  {[] {
                       matmul(ones({2, 2}), Tensor());
                   },
                   "matmul: got an undefined tensor"}};
    return row;
}

// Large enough for several threads to share one product, and several blocks of k.
OpCase one_product_row() {
    OpCase row = op_case(
        "matmul", "one large product",
        [](const Tensors& x) { return matmul(transpose(x[0], 0, 1), transpose(x[1], 0, 1)); },
        [](const auto& x) {
            return reference::matmul(reference::transpose(x[0], 0, 1),
                                     reference::transpose(x[1], 0, 1));
        },
        {{{{5, 3}}, {{4, 5}}}, {{{1, 1}}, {{1, 1}}}, {{{0, 3}}, {{4, 0}}}});
    row.large = {{{600, 130}}, {{140, 600}}};
    return row;
}

// One or a few rows, with B in both layouts: gemm_few_rows.h. Tails in every direction.
OpCase few_rows_row(bool transposed) {
    OpCase row = op_case(
        "matmul", transposed ? "few rows, transposed" : "few rows",
        [transposed](const Tensors& x) {
            return matmul(x[0], transposed ? transpose(x[1], 0, 1) : x[1]);
        },
        [transposed](const auto& x) {
            return reference::matmul(x[0], transposed ? reference::transpose(x[1], 0, 1) : x[1]);
        },
        {});
    const auto sample = [transposed](std::int64_t m, std::int64_t k, std::int64_t n) {
        return Sample{{{m, k}}, transposed ? Input{{n, k}} : Input{{k, n}}};
    };
    row.samples = {sample(1, 9, 70), sample(2, 37, 5), sample(4, 3, 33), sample(1, 1, 1),
                   sample(3, 0, 2)};
    row.large = sample(3, 700, 900);
    return row;
}

OpCase broadcast_row() {
    OpCase row = op_case(
        "matmul", "one matrix for a batch", [](const Tensors& x) { return matmul(x[0], x[1]); },
        [](const auto& x) { return reference::matmul(x[0], x[1]); },
        {{{{2, 2, 3, 4}}, {{4, 5}}}, {{{1, 1, 1}}, {{1, 1}}}, {{{2, 0, 3}}, {{3, 2}}}});
    row.large = {{{12, 64, 128}}, {{128, 96}}};
    return row;
}

// A vector is a row on the left and a column on the right.
template <class Definition>
OpCase vector_row(const char* variant, Definition definition, std::vector<Sample> samples) {
    return op_case(
        "matmul", variant, [](const Tensors& x) { return matmul(x[0], x[1]); }, definition,
        std::move(samples));
}

std::vector<OpCase> vector_rows() {
    const auto row_of = [](const auto& x) { return reference::reshape(x, {1, x.size()}); };
    const auto column_of = [](const auto& x) { return reference::reshape(x, {x.size(), 1}); };
    return {
        vector_row("vector x vector",
                   [=](const auto& x) {
                       return reference::reshape(reference::matmul(row_of(x[0]), column_of(x[1])),
                                                 {});
                   },
                   {{{{5}}, {{5}}}, {{{1}}, {{1}}}, {{{0}}, {{0}}}}),
        vector_row("vector x matrix",
                   [=](const auto& x) {
                       auto y = reference::matmul(row_of(x[0]), x[1]);
                       y.shape.erase(y.shape.rank() - 2);
                       return y;
                   },
                   {{{{5}}, {{5, 3}}}, {{{4}}, {{2, 4, 3}}}, {{{1}}, {{1, 1}}}, {{{0}}, {{0, 2}}}}),
        vector_row(
            "matrix x vector",
            [=](const auto& x) {
                auto y = reference::matmul(x[0], column_of(x[1]));
                y.shape.erase(y.shape.rank() - 1);
                return y;
            },
            {{{{3, 5}}, {{5}}}, {{{2, 3, 4}}, {{4}}}, {{{1, 1}}, {{1}}}, {{{2, 0}}, {{0}}}})};
}

OpCase linear_row() {
    OpCase row = op_case(
        "linear", "", [](const Tensors& x) { return linear(x[0], x[1], x[2]); },
        [](const auto& x) { return reference::linear(x[0], x[1], &x[2]); },
        {{{{3, 5}}, {{4, 5}}, {{4}}},
         {{{2, 3, 33}}, {{17, 33}}, {{17}}},
         {{{5}}, {{4, 5}}, {{4}}},
         {{{1}}, {{1, 1}}, {{1}}},
         {{{0, 3}}, {{2, 3}}, {{2}}},
         {{{2, 0}}, {{3, 0}}, {{3}}},
         {{{2, 3}}, {{0, 3}}, {{0}}}});
    row.large = {{{12, 64, 128}}, {{192, 128}}, {{192}}};
    row.errors = {{[] {
                       linear(ones({2, 3}), ones({4, 5}));
                   },
                   "linear: x [2, 3] does not end in the 5 features of the weight [4, 5]"},
                  {[] {
                       linear(ones({}), ones({4, 5}));
                   },
                   "linear: x [] does not end in the 5 features"},
                  {[] {
                       linear(ones({2, 3}), ones({3}));
                   },
                   "linear: the weight must be [out, in], got [3]"},
                  {[] {
                       linear(ones({2, 3}), ones({4, 3}), ones({3}));
                   },
                   "linear: the bias is [3], the weight [4, 3] needs [4]"},
                  {[] {
                       linear(ones({2, 3}), ones({4, 3}, DType::f64));
                   },
                   "linear: element types differ: f32 and f64"},
                  {[] {
                       linear(ones({2, 3}), ones({4, 3}), ones({4}, DType::f64));
                   },
                   "linear: element types differ: f32 and f64"},
                  {[] {
                       linear(arange(3), ones({4, 3}));
                   },
                   "linear: needs floating-point numbers, got i64"},
                  {[] {
                       linear(ones({2, 3}), Tensor());
                   },
                   "linear: got an undefined tensor"}};
    return row;
}

std::vector<ErrorCase> low_rank_linear_errors() {
    const auto call = [](const Shape& a, const Shape& b, std::int64_t first) {
        return [=] {
            low_rank_linear(ones({2, 3}), ones({4, 3}), {}, {{ones(a), ones(b), 1, first}});
        };
    };
    return {{call({2, 5}, {4, 2}, 0),
             "low_rank_linear: an update A [2, 5], B [4, 2] of a layer with 3 inputs"},
            {call({2, 3}, {4, 5}, 0),
             "low_rank_linear: an update A [2, 3], B [4, 5] of a layer with 3 inputs"},
            {call({2, 3}, {2, 2}, 3), "low_rank_linear: an update of 2 outputs from 3 on, of 4"},
            {call({2, 3}, {2, 2}, -1), "low_rank_linear: an update of 2 outputs from -1 on, of 4"},
            {[] {
                 low_rank_linear(ones({2, 3}), ones({4, 3}), {},
                                 {{ones({2, 3}), ones({4, 2}), 1, 0, ones({3, 3})}});
             },
             "low_rank_linear: the update's input [3, 3], the layer's [2, 3]"},
            {[] {
                 low_rank_linear(ones({2, 3}), ones({4, 3}), {},
                                 {{ones({2, 3}, DType::f64), ones({4, 2})}});
             },
             "low_rank_linear: element types differ: f32 and f64"},
            {[] {
                 low_rank_linear(ones({2, 3}), ones({4, 5}), {}, {});
             },
             "linear: x [2, 3] does not end in the 5 features of the weight [4, 5]"}};
}

// Two updates: one reads the layer's input, the other a separate one.
OpCase low_rank_linear_row() {
    constexpr std::int64_t kSecond = 3;  // its first column
    OpCase row = op_case(
        "low_rank_linear", "",
        [](const Tensors& x) {
            return low_rank_linear(x[0], x[1], x[2],
                                   {{x[3], x[4], 0.75, 0}, {x[5], x[6], 2, kSecond, x[7]}});
        },
        [](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            auto y = reference::linear(x[0], x[1], &x[2]);
            const auto add = [&y](const auto& in, const auto& a, const auto& b, double scale,
                                  std::int64_t first) {
                const auto update =
                    reference::linear<T>(reference::linear<T>(in, a, nullptr), b, nullptr);
                const std::int64_t columns = b.shape[0], out = y.shape.back();
                for (std::int64_t i = 0; i < update.size(); ++i) {
                    y[i / columns * out + first + i % columns] += T(scale) * update[i];
                }
            };
            add(x[0], x[3], x[4], 0.75, 0);
            add(x[7], x[5], x[6], 2, kSecond);
            return y;
        },
        {{{{3, 5}}, {{6, 5}}, {{6}}, {{2, 5}}, {{2, 2}}, {{3, 5}}, {{3, 3}}, {{3, 5}}},
         {{{2, 3, 33}},
          {{17, 33}},
          {{17}},
          {{4, 33}},
          {{3, 4}},
          {{1, 33}},
          {{14, 1}},
          {{2, 3, 33}}},
         {{{1}}, {{4, 1}}, {{4}}, {{1, 1}}, {{3, 1}}, {{1, 1}}, {{1, 1}}, {{1}}},
         {{{0, 3}}, {{5, 3}}, {{5}}, {{2, 3}}, {{1, 2}}, {{2, 3}}, {{2, 2}}, {{0, 3}}}});
    row.large = {{{12, 64, 128}}, {{192, 128}}, {{192}},    {{8, 128}},
                 {{64, 8}},       {{4, 128}},   {{128, 4}}, {{12, 64, 128}}};
    row.no_single = "has several operands; a scalar layer is among the samples";
    row.errors = low_rank_linear_errors();
    return row;
}

}  // namespace

std::vector<OpCase> matmul_cases() {
    std::vector<OpCase> rows{matmul_row(),       one_product_row(), few_rows_row(false),
                             few_rows_row(true), broadcast_row(),   linear_row()};
    for (OpCase& row : vector_rows()) rows.push_back(std::move(row));
    rows.push_back(low_rank_linear_row());
    rows.push_back(op_case(
        "linear", "no bias", [](const Tensors& x) { return linear(x[0], x[1]); },
        [](const auto& x) {
            return reference::linear<std::decay_t<decltype(x[0][0])>>(x[0], x[1], nullptr);
        },
        {{{{3, 5}}, {{4, 5}}}, {{{1}}, {{1, 1}}}, {{{0, 3}}, {{2, 3}}}}));
    return rows;
}

// ---- products by name ---------------------------------------------------------------------------
// They use einsum's definition.

namespace {

template <class Op>
OpCase row_of(const char* name, const char* variant, Op op, const std::vector<std::string>& terms,
              const char* output, std::vector<Sample> samples) {
    return op_case(
        name, variant, op, [=](const auto& x) { return reference::einsum(terms, output, x); },
        std::move(samples));
}

// The errors of every binary product for dtypes and undefined operands.
template <class Op>
std::vector<ErrorCase> type_errors(const std::string& name, Op op, const Shape& a, const Shape& b) {
    return {
        {[=] { op(ones(a), ones(b, DType::f64)); }, name + ": element types differ: f32 and f64"},
        {[=] { op(zeros(a, DType::i64), zeros(b, DType::i64)); },
         name + ": needs floating-point numbers, got i64"},
        {[=] { op(ones(a), Tensor()); }, name + ": got an undefined tensor"}};
}

// `wrong` has shapes that do not fit, and the expected messages.
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
                   "trace: needs square matrices, got [2, 3]"},
                  {[] { trace(ones({3})); }, "trace: needs square matrices, got [3]"},
                  {[] {
                       trace(zeros({2, 2}, DType::i64));
                   },
                   "trace: needs floating-point numbers, got i64"}};
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
