// Rows of the op table: masks and dropout. Definitions: reference/view.h; dropout's statistics:
// tests/ops/dropout_test.cpp.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/masking.h>

#include <limits>

namespace tapestry::catalog {
namespace {

OpCase masked_fill_row() {
    OpCase row = op_case(
        "masked_fill", "", [](const Tensors& x) { return masked_fill(x[0], x[1], -1.25); },
        [](const auto& x) { return reference::masked_fill(x[0], x[1], -1.25); },
        {{{{3, 5}}, mask({3, 5})},
         {{{2, 3, 4}}, mask({3, 1})},
         {{{1}}, mask({1})},
         {{{}}, mask({})},
         {{{0, 2}}, mask({2})}});
    row.large = {{{70, 1000}}, mask({1000})};
    row.errors = {
        {[] {
             masked_fill(ones({2}), ones({2, 2}, DType::boolean), 0);
         },
         "masked_fill: the mask [2, 2] does not broadcast to [2]"},
        {[] { masked_fill(ones({2}), ones({3}, DType::boolean), 0); },
         "masked_fill: shapes do not broadcast: [3] and [2]"},
        {[] { masked_fill(ones({2}), ones({2}), 0); }, "masked_fill: needs bool, got f32"},
        {[] { masked_fill(arange(2), ones({2}, DType::boolean), 0.5); },
         "masked_fill: 0.5 is not a 64-bit integer, but the tensor is i64"},
        {[] { masked_fill(ones({2}, DType::boolean), ones({2}, DType::boolean), 2); },
         "masked_fill: 2 must be 0 or 1, because the tensor is bool"},
        {[] { masked_fill(Tensor(), ones({2}, DType::boolean), 0); },
         "masked_fill: got an undefined tensor"}};
    return row;
}

// Other dtypes: ignored targets (-100), and a mask with fewer true elements.
OpCase masked_fill_others_row() {
    OpCase row = op_case(
        "masked_fill", "i64 and bool",
        [](const Tensors& x) {
            return Tensors{masked_fill(x[0], x[2], -100), masked_fill(x[1], x[2], 0)};
        },
        [](const auto& x) {
            return std::vector{reference::masked_fill(x[0], x[2], -100),
                               reference::masked_fill(x[1], x[2], 0)};
        },
        {{whole_numbers({3, 5}, -9, 10), mask({3, 5}), mask({5})},
         {whole_numbers({1}, 0, 9), mask({1}), mask({1})},
         {whole_numbers({0, 2}, 0, 9), mask({0, 2}), mask({2})}});
    row.differentiable = false;
    return row;
}

OpCase triangle_row(bool lower, std::int64_t diagonal) {
    const char* name = lower ? "tril" : "triu";
    const auto op = lower ? tril : triu;
    OpCase row = op_case(
        name, fmt::format("diagonal {}", diagonal),
        [op, diagonal](const Tensors& x) { return op(x[0], diagonal); },
        [lower, diagonal](const auto& x) {
            // Avoids j - i - diagonal, which may overflow.
            return reference::triangle(x[0], [=](std::int64_t i, std::int64_t j) {
                return lower ? j - i <= diagonal : j - i >= diagonal;
            });
        },
        {{{{4, 4}}}, {{{2, 3, 5}}}, {{{5, 2}}}, {{{1, 1}}}, {{{0, 3}}}, {{{3, 0}}}});
    row.large = {{{3, 100, 300}}};
    row.errors = {
        {[op] { op(ones({3}), 0); }, std::string(name) + ": needs a matrix [..., M, N], got [3]"},
        {[op] { op(Tensor(), 0); }, std::string(name) + ": got an undefined tensor"}};
    return row;
}

// Every call draws the mask again from the same seed. Checks that values and gradients use the same
// mask; tests/ops/dropout_test.cpp checks the mask.
OpCase dropout_row() {
    constexpr double kP = 0.3;
    OpCase row = op_case(
        "dropout", "",
        [](const Tensors& x) {
            Generator generator(5);
            return dropout(x[0], kP, true, generator);
        },
        [](const auto& x) {
            Generator generator(5);
            const auto kept = bernoulli(x[0].shape, 1 - kP, generator).template to_vector<double>();
            auto y = x[0];
            for (std::size_t i = 0; i < kept.size(); ++i) y.data[i] *= kept[i] / (1 - kP);
            return y;
        },
        {{{{3, 5}}}, {{{2, 3, 17}}}, {{{1}}}, {{{}}}, {{{0, 2}}}});
    row.large = {{{70, 1000}}};
    const double nan = std::numeric_limits<double>::quiet_NaN();
    row.errors = {
        {[] { dropout(ones({2}), 1.5); }, "dropout: p must be in [0, 1], got 1.5"},
        {[] { dropout(ones({2}), -0.5, false); }, "dropout: p must be in [0, 1], got -0.5"},
        {[nan] { dropout(ones({2}), nan); }, "dropout: p must be in [0, 1], got nan"},
        {[] { dropout(arange(2), 0.5); }, "dropout: needs floating-point numbers, got i64"},
        {[] { dropout(Tensor(), 0.5); }, "dropout: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> masking_cases() {
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    return {masked_fill_row(),
            masked_fill_others_row(),
            triangle_row(true, 0),
            triangle_row(true, -1),
            triangle_row(true, 2),
            triangle_row(false, 0),
            triangle_row(false, 1),
            triangle_row(false, -2),
            triangle_row(true, kHuge),
            triangle_row(false, -kHuge - 1),
            dropout_row()};
}

}  // namespace tapestry::catalog
