// Rows of the op table: views with strides of their own, windows and diagonals. Definitions:
// reference/rearrange.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/rearrange.h>
#include <tapestry/ops/diagonal.h>
#include <tapestry/ops/unfold.h>

namespace tapestry::catalog {
namespace {

std::vector<OpCase> unfold_rows() {
    OpCase row = op_case(
        "unfold", "overlapping", [](const Tensors& x) { return unfold(x[0], 0, 3); },
        [](const auto& x) { return reference::unfold(x[0], 0, 3, 1); },
        {{{{5}}}, {{{3, 4}}}, {{{7, 2}}}, {{{4, 0}}}});
    row.no_single = "see the variant";
    row.large = {{{300, 100}}};
    row.errors = {
        {[] { unfold(ones({2}), 0, 3); }, "unfold: windows of 3 do not fit axis 0 of [2]"},
        {[] { unfold(ones({2}), 0, 0); }, "unfold: windows of 0 do not fit axis 0 of [2]"},
        {[] { unfold(ones({2}), 0, 1, 0); }, "unfold: step 0 is not positive"},
        {[] { unfold(ones({2}), 1, 1); }, "unfold: axis 1 is outside a tensor of rank 1"},
        {[] { unfold(Tensor(), 0, 1); }, "unfold: got an undefined tensor"}};
    OpCase apart = op_case(
        "unfold", "apart", [](const Tensors& x) { return unfold(x[0], -1, 1, 2); },
        [](const auto& x) { return reference::unfold(x[0], x[0].shape.rank() - 1, 1, 2); },
        {{{{3, 5}}}, {{{1}}}, {{{0, 4}}}});
    OpCase stepped = op_case(
        "unfold", "by two", [](const Tensors& x) { return unfold(x[0], 1, 3, 2); },
        [](const auto& x) { return reference::unfold(x[0], 1, 3, 2); },
        {{{{2, 8, 3}}}, {{{2, 3}}}, {{{0, 3}}}});
    stepped.no_single = "see the variant";
    return {row, apart, stepped};
}

std::vector<OpCase> diagonal_rows() {
    OpCase row = op_case(
        "diagonal", "", [](const Tensors& x) { return diagonal(x[0]); },
        [](const auto& x) { return reference::diagonal(x[0], 0); },
        {{{{3, 5}}}, {{{4, 2}}}, {{{1, 1}}}, {{{0, 3}}}});
    row.errors = {{[] { diagonal(ones({2})); }, "diagonal: axis 1 is outside a tensor of rank 1"},
                  {[] {
                       diagonal(ones({2, 3}), 0, 1, -1);
                   },
                   "diagonal: axes 1 and -1 of [2, 3] are one"},
                  {[] { diagonal(Tensor()); }, "diagonal: got an undefined tensor"}};
    OpCase others = op_case(
        "diagonal", "below, of the outer axes",
        [](const Tensors& x) { return diagonal(x[0], -1, -1, 0); },
        [](const auto& x) {  // x[j, b, i] with j = i - 1
            const Shape& whole = x[0].shape;
            const std::int64_t count = std::min(whole[2] - 1, whole[0]);
            return reference::pick(x[0], {whole[1], std::max<std::int64_t>(0, count)},
                                   [](const Shape& index) {
                                       return Shape{index[1], index[0], index[1] + 1};
                                   });
        },
        {{{{3, 2, 5}}}, {{{4, 1, 2}}}, {{{1, 1, 1}}}, {{{2, 0, 3}}}});
    return {row, others};
}

std::vector<OpCase> diag_rows() {
    std::vector<OpCase> rows;
    for (const int offset : {0, 2, -1}) {
        rows.push_back(op_case(
            "diag", fmt::format("of a matrix, {}", offset),
            [offset](const Tensors& x) { return diag(x[0], offset); },
            [offset](const auto& x) { return reference::diagonal(x[0], offset); },
            {{{{3, 5}}}, {{{4, 2}}}, {{{1, 1}}}, {{{0, 3}}}}));
        rows.push_back(op_case(
            "diag", fmt::format("of a vector, {}", offset),
            [offset](const Tensors& x) { return diag(x[0], offset); },
            [offset](const auto& x) { return reference::from_diagonal(x[0], offset); },
            {{{{3}}}, {{{1}}}, {{{0}}}}));
    }
    rows[0].errors = {
        {[] { diag(ones({})); }, "diag: needs a vector or a matrix, got []; see diagonal"},
        {[] { diag(ones({2}), std::int64_t{1} << 40); },
         "diag: offset 1099511627776 makes too large a matrix"},
        {[] { diag(Tensor()); }, "diag: got an undefined tensor"}};
    return rows;
}

}  // namespace

std::vector<OpCase> strided_cases() {
    std::vector<OpCase> rows;
    for (auto* more : {unfold_rows, diagonal_rows, diag_rows}) {
        for (OpCase& row : more()) rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace tapestry::catalog
