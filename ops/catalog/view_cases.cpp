// Rows of the op table: views. op_case.h lists the checks, reference/view.h has the definitions.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/view.h>

namespace tapestry::catalog {
namespace {

// Views do no arithmetic: values and gradients are exact, except sums of gradients.
template <class Op, class Definition>
OpCase view_row(const char* name, const char* variant, Op op, Definition definition,
                std::vector<Sample> samples) {
    return op_case(
        name, variant, [op](const Tensors& x) { return op(x[0]); },
        [definition](const auto& x) { return definition(x[0]); }, std::move(samples));
}

std::vector<OpCase> reshape_rows() {
    OpCase row = view_row(
        "reshape", "",
        [](const Tensor& x) {
            return reshape(x, {-1, 2, x.size(-1)});
        },
        [](const auto& x) {
            const std::int64_t last = x.shape.back();
            return reference::reshape(x, {x.size() / (2 * last), 2, last});
        },
        {{{{4, 5}}}, {{{2, 3, 4, 7}}}, {{{2, 1}}}, {{{2, 6, 1}}}});
    row.no_empty = "-1 needs elements; see the variant";
    row.no_single = "see the variant";
    row.large = {{{70, 1000}}};
    row.errors = {{[] {
                       reshape(ones({2, 3}), {4});
                   },
                   "reshape: 6 elements do not fill [4]"},
                  {[] {
                       reshape(ones({2, 3}), {-1, -1});
                   },
                   "reshape: more than one -1 in [-1, -1]"},
                  {[] {
                       reshape(ones({2, 3}), {-1, 4});
                   },
                   "reshape: 6 elements do not fill [-1, 4]"},
                  {[] { reshape(Tensor(), {1}); }, "reshape: got an undefined tensor"}};
    OpCase flat = view_row(
        "reshape", "to a vector", [](const Tensor& x) { return reshape(x, {x.numel()}); },
        [](const auto& x) { return reference::reshape(x, {x.size()}); },
        {{{{3, 4}}}, {{{1, 1}}}, {{{}}}, {{{3, 0}}}});
    return {row, flat};
}

std::vector<OpCase> order_rows() {
    OpCase two = view_row(
        "transpose", "", [](const Tensor& x) { return transpose(x, 0, -1); },
        [](const auto& x) { return reference::transpose(x, 0, x.shape.rank() - 1); },
        {{{{3, 5}}}, {{{2, 3, 4}}}, {{{1, 1}}}, {{{4, 0, 3}}}, {{{7}}}});
    two.errors = {{[] {
                       transpose(ones({2, 3}), 0, 2);
                   },
                   "transpose: axis 2 is outside a tensor of rank 2"},
                  {[] { transpose(Tensor(), 0, 1); }, "transpose: got an undefined tensor"}};
    OpCase all = view_row(
        "permute", "",
        [](const Tensor& x) {
            return permute(x, {2, 0, -2});
        },
        [](const auto& x) {
            return reference::permute(x, {2, 0, 1});
        },
        {{{{2, 3, 4}}}, {{{1, 1, 1}}}, {{{3, 0, 2}}}});
    all.errors = {{[] {
                       permute(ones({2, 3}), {0});
                   },
                   "permute: got 1 axes for a tensor of rank 2"},
                  {[] {
                       permute(ones({2, 3}), {0, -2});
                   },
                   "permute: axis -2 is named twice"},
                  {[] { permute(Tensor(), {}); }, "permute: got an undefined tensor"}};
    OpCase copied = view_row(
        "contiguous", "", [](const Tensor& x) { return contiguous(transpose(x, 0, 1)); },
        [](const auto& x) { return reference::transpose(x, 0, 1); },
        {{{{3, 5}}}, {{{2, 3, 4}}}, {{{1, 1}}}, {{{0, 3}}}});
    copied.large = {{{70, 1000}}};
    copied.errors = {{[] { contiguous(Tensor()); }, "contiguous: got an undefined tensor"}};
    return {two, all, copied};
}

std::vector<OpCase> slice_rows() {
    OpCase part = view_row(
        "slice", "", [](const Tensor& x) { return slice(x, -1, 1, 4); },
        [](const auto& x) { return reference::slice(x, x.shape.rank() - 1, 1, 3); },
        {{{{3, 5}}}, {{{4}}}, {{{0, 5}}}});
    part.no_single = "see the variants";
    part.large = {{{70, 1000}}};
    part.errors = {{[] {
                        slice(ones({2, 3}), 2, 0, 1);
                    },
                    "slice: axis 2 is outside a tensor of rank 2"},
                   {[] {
                        slice(ones({2, 3}), 0, 0, 1, 0);
                    },
                    "slice: the step must not be 0"},
                   {[] { slice(Tensor(), 0, 0, 1); }, "slice: got an undefined tensor"}};
    OpCase stepped = view_row(
        "slice", "every third, clipped", [](const Tensor& x) { return slice(x, 0, -100, 100, 3); },
        [](const auto& x) { return reference::slice(x, 0, 0, (x.shape[0] + 2) / 3, 3); },
        {{{{7, 2}}}, {{{6}}}, {{{1}}}, {{{0, 2}}}});
    OpCase nothing = view_row(
        "slice", "empty", [](const Tensor& x) { return slice(x, 0, 2, 1); },
        [](const auto& x) { return reference::slice(x, 0, 0, 0); }, {{{{3, 2}}}, {{{1}}}, {{{0}}}});
    OpCase back = view_row(
        "slice", "backwards", [](const Tensor& x) { return slice(x, 0, -1, -100, -2); },
        [](const auto& x) {
            const std::int64_t n = x.shape[0];
            return reference::slice(x, 0, n - 1, (n + 1) / 2, -2);
        },
        {{{{7, 2}}}, {{{6}}}, {{{1}}}, {{{0, 2}}}});
    back.large = {{{700, 100}}};
    OpCase backwards_part = view_row(
        "slice", "backwards, without the ends",
        [](const Tensor& x) { return slice(x, -1, -2, 0, -1); },
        [](const auto& x) {
            const std::int64_t n = x.shape.back();
            return reference::slice(x, x.shape.rank() - 1, n - 2, std::max<std::int64_t>(0, n - 2),
                                    -1);
        },
        {{{{3, 5}}}, {{{2}}}, {{{1}}}, {{{2, 0}}}});
    return {part, stepped, nothing, back, backwards_part};
}

std::vector<OpCase> squeeze_rows() {
    OpCase removed = view_row(
        "squeeze", "", [](const Tensor& x) { return squeeze(x, -2); },
        [](const auto& x) {
            Shape shape = x.shape;
            shape.erase(shape.rank() - 2);
            return reference::reshape(x, shape);
        },
        {{{{3, 1, 5}}}, {{{1, 1}}}, {{{0, 1, 2}}}});
    removed.errors = {
        {[] {
             squeeze(ones({2, 3}), 1);
         },
         "squeeze: axis 1 of [2, 3] has size 3, not 1"},
        {[] { squeeze(ones({1}), 1); }, "squeeze: axis 1 is outside a tensor of rank 1"},
        {[] { squeeze(Tensor(), 0); }, "squeeze: got an undefined tensor"}};
    OpCase added = view_row(
        "unsqueeze", "", [](const Tensor& x) { return unsqueeze(unsqueeze(x, -1), 0); },
        [](const auto& x) {
            Shape shape = x.shape;
            shape.push_back(1);
            shape.insert(0, 1);
            return reference::reshape(x, shape);
        },
        {{{{3, 5}}}, {{{}}}, {{{0, 2}}}});
    added.errors = {
        {[] { unsqueeze(ones({2}), 2); }, "unsqueeze: axis 2 is outside a tensor of rank 2"},
        {[] { unsqueeze(Tensor(), 0); }, "unsqueeze: got an undefined tensor"}};
    OpCase merged = view_row(
        "flatten", "", [](const Tensor& x) { return flatten(x, 1, 2); },
        [](const auto& x) {
            Shape shape = x.shape;
            shape[1] *= shape[2];
            shape.erase(2);
            return reference::reshape(x, shape);
        },
        {{{{2, 3, 4, 5}}}, {{{1, 1, 1}}}, {{{2, 0, 3}}}});
    merged.errors = {{[] {
                          flatten(ones({2, 3}), 1, 0);
                      },
                      "flatten: axis 1 comes after axis 0 in [2, 3]"},
                     {[] {
                          flatten(ones({2, 3}), 0, 2);
                      },
                      "flatten: axis 2 is outside a tensor of rank 2"},
                     {[] { flatten(Tensor()); }, "flatten: got an undefined tensor"}};
    OpCase whole = view_row(
        "flatten", "all axes", [](const Tensor& x) { return flatten(x); },
        [](const auto& x) { return reference::reshape(x, {x.size()}); },
        {{{{2, 3}}}, {{{}}}, {{{2, 0}}}});
    return {removed, added, merged, whole};
}

OpCase expand_row() {
    OpCase row = view_row(
        "expand", "",
        [](const Tensor& x) {
            return expand(x, {2, 3, 4});
        },
        [](const auto& x) {
            return reference::expand(x, {2, 3, 4});
        },
        {{{{3, 1}}}, {{{4}}}, {{{1}}}, {{{}}}, {{{2, 3, 4}}}});
    row.no_empty = "see the variant";
    row.errors = {{[] {
                       expand(ones({2, 3}), {2, 2});
                   },
                   "expand: shapes do not broadcast: [2, 3] and [2, 2]"},
                  {[] {
                       expand(ones({2, 3}), {1, 3});
                   },
                   "expand: [2, 3] does not broadcast to [1, 3]"},
                  {[] { expand(Tensor(), {1}); }, "expand: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> view_cases() {
    std::vector<OpCase> rows;
    for (auto* more : {reshape_rows, order_rows, slice_rows, squeeze_rows}) {
        for (OpCase& row : more()) rows.push_back(std::move(row));
    }
    rows.push_back(expand_row());
    rows.push_back(view_row(
        "expand", "to nothing",
        [](const Tensor& x) {
            return expand(x, {0, 3});
        },
        [](const auto& x) {
            return reference::expand(x, {0, 3});
        },
        {{{{1, 3}}}, {{{0, 1}}}, {{{}}}}));
    return rows;
}

// ---- windows and diagonals ----------------------------------------------------------------------

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
        {[] { unfold(ones({2}), 0, 1, 0); }, "unfold: step must be positive, got 0"},
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
                   "diagonal: axes 1 and -1 of [2, 3] are the same"},
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
