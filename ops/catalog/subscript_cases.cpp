// Rows of the op table: indexing by position, by mask and by tensors. Definitions:
// reference/indexing.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/indexing.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/subscript.h>

#include <algorithm>

namespace tapestry::catalog {
namespace {

using reference::pick;

// Indices that count from the start or, if negative, from the end.
Input either_way(const Shape& shape, std::int64_t size) {
    return whole_numbers(shape, -size, size);
}

OpCase select_row() {
    OpCase row = op_case(
        "select", "", [](const Tensors& x) { return select(x[0], -2, -1); },
        [](const auto& x) {
            const int axis = x[0].shape.rank() - 2;
            Shape shape = x[0].shape;
            shape.erase(axis);
            return pick(x[0], shape, [&](Shape index) {
                index.insert(axis, x[0].shape[axis] - 1);
                return index;
            });
        },
        {{{{3, 5}}}, {{{2, 3, 4}}}, {{{1, 1}}}, {{{0, 3, 2}}}});
    row.large = {{{70, 3, 1000}}};
    row.errors = {{[] {
                       select(ones({2, 3}), 1, 3);
                   },
                   "select: index 3 is outside axis 1 of [2, 3]"},
                  {[] {
                       select(ones({2, 3}), -1, -4);
                   },
                   "select: index -4 is outside axis -1 of [2, 3]"},
                  {[] { select(ones({0}), 0, 0); }, "select: index 0 is outside axis 0 of [0]"},
                  {[] { select(ones({}), 0, 0); }, "select: axis 0 is outside a tensor of rank 0"},
                  {[] { select(Tensor(), 0, 0); }, "select: got an undefined tensor"}};
    return row;
}

OpCase narrow_row() {
    OpCase row = op_case(
        "narrow", "", [](const Tensors& x) { return narrow(x[0], 0, -1, 1); },
        [](const auto& x) { return reference::slice(x[0], 0, x[0].shape[0] - 1, 1); },
        {{{{3, 5}}}, {{{4}}}, {{{1}}}, {{{2, 0}}}});
    row.errors = {
        {[] {
             narrow(ones({2, 3}), 1, 2, 2);
         },
         "narrow: 2 elements from 2 on are not within axis 1 of [2, 3]"},
        {[] { narrow(ones({2}), 0, -3, 1); },
         "narrow: 1 elements from -3 on are not within axis 0 of [2]"},
        {[] { narrow(ones({2}), 0, 0, -1); },
         "narrow: -1 elements from 0 on are not within axis 0 of [2]"},
        {[] { narrow(ones({2}), 1, 0, 1); }, "narrow: axis 1 is outside a tensor of rank 1"},
        {[] { narrow(Tensor(), 0, 0, 1); }, "narrow: got an undefined tensor"}};
    return row;
}

// x[0, ::-2, None, ..., -1]
OpCase position_row() {
    OpCase row = op_case(
        "index", "positions and slices",
        [](const Tensors& x) {
            return index(x[0], {0, Slice{.step = -2}, kNewAxis, kEllipsis, -1});
        },
        [](const auto& x) {
            const Shape& whole = x[0].shape;
            Shape shape = whole.sub(1, whole.rank() - 1);
            shape[0] = (shape[0] + 1) / 2;
            shape.insert(1, 1);
            return pick(x[0], shape, [&](Shape index) {
                index.erase(1);
                index[0] = whole[1] - 1 - 2 * index[0];
                index.insert(0, 0);
                index.push_back(whole.back() - 1);
                return index;
            });
        },
        {{{{2, 5, 3}}}, {{{3, 4, 2, 2}}}, {{{1, 1, 1}}}, {{{2, 0, 3}}}});
    row.large = {{{2, 3000, 40, 2}}};
    row.errors = {{[] {
                       index(ones({2, 3}), {kAll, 3});
                   },
                   "index: index 3 is outside axis 1 of [2, 3]"},
                  {[] {
                       index(ones({2, 3}), {0, -4});
                   },
                   "index: index -4 is outside axis 1 of [2, 3]"},
                  {[] {
                       index(ones({2, 3}), {0, 0, 0});
                   },
                   "index: indices for 3 axes of a tensor [2, 3]"},
                  {[] {
                       index(ones({2, 3}), {kEllipsis, 0, kEllipsis});
                   },
                   "index: more than one kEllipsis"},
                  {[] { index(ones({2}), {Slice{.step = 0}}); }, "slice: the step must not be 0"},
                  {[] { index(Tensor(), {0}); }, "index: got an undefined tensor"}};
    return row;
}

// x[1:3], with bounds omitted, clipped, and counted from the end
OpCase bounds_row() {
    return op_case(
        "index", "bounds",
        [](const Tensors& x) {
            return index(x[0], {Slice{1, 100}, Slice{{}, -1}, Slice{-2, {}}});
        },
        [](const auto& x) {
            const Shape& shape = x[0].shape;
            const auto last = reference::slice(x[0], 2, std::max<std::int64_t>(0, shape[2] - 2),
                                               std::min<std::int64_t>(2, shape[2]));
            return reference::slice(reference::slice(last, 1, 0, shape[1] - 1), 0, 1, shape[0] - 1);
        },
        {{{{3, 2, 5}}}, {{{2, 4, 1}}}, {{{1, 1, 1}}}, {{{1, 3, 0}}}});
}

OpCase mask_row() {
    OpCase row = op_case(
        "index", "mask", [](const Tensors& x) { return index(x[0], {x[1]}); },
        [](const auto& x) { return reference::masked_rows(x[0], x[1]); },
        {{{{5, 3}}, mask({5})},
         {{{2, 3, 4}}, mask({2, 3})},
         {{{7}}, mask({7})},
         {{{1}}, mask({1})},
         {{{0, 2}}, mask({0})}});
    row.large = {{{300, 200}}, mask({300})};
    row.errors = {
        {[] {
             index(ones({3, 2}), {ones({4}, DType::boolean)});
         },
         "index: the mask [4] does not match axes of sizes [3] of a tensor [3, 2]"},
        {[] {
             index(ones({3, 2}), {ones({3, 3}, DType::boolean)});
         },
         "index: the mask [3, 3] does not match axes of sizes [3, 2] of a tensor [3, 2]"},
        {[] {
             index(ones({3}), {ones({3, 3}, DType::boolean)});
         },
         "index: indices for 2 axes of a tensor [3]"},
        {[] { index(ones({3}), {ones({}, DType::boolean)}); }, "index: a mask of no axes"}};
    return row;
}

OpCase ids_row() {
    OpCase row = op_case(
        "index", "numbers",
        [](const Tensors& x) {
            return index(x[0], {kEllipsis, x[1]});
        },
        [](const auto& x) {
            Shape shape = x[0].shape;
            shape.erase(shape.rank() - 1);
            for (const std::int64_t size : x[1].shape) shape.push_back(size);
            const auto ids = reference::from_start(x[1], x[0].shape.back());
            auto y = reference::index_select(x[0], x[0].shape.rank() - 1, ids);
            y.shape = shape;
            return y;
        },
        {{{{5, 3}}, indices({2, 4}, 3)},
         {{{2, 5}}, either_way({3, 7}, 5)},
         {{{6}}, either_way({}, 6)},
         {{{1}}, either_way({1}, 1)},
         {{{2, 3}}, indices({0, 2}, 3)}});
    row.large = {{{40, 200}}, either_way({30, 10}, 200)};
    row.errors = {{[] {
                       index(ones({2, 3}), {kAll, tensor<std::int64_t>({0, 3})});
                   },
                   "index: index 3 is outside axis 1 of [2, 3]"},
                  {[] { index(ones({2}), {tensor<std::int64_t>({-3})}); },
                   "index: index -3 is outside axis 0 of [2]"},
                  {[] { index(ones({2}), {ones({2})}); }, "index: needs i64, got f32"},
                  {[] { index(ones({2}), {Tensor()}); }, "index: got an undefined tensor"}};
    return row;
}

OpCase two_axes_row() {
    OpCase row = op_case(
        "index", "numbers for two axes",
        [](const Tensors& x) {
            return index(x[0], {kAll, x[1], x[2]});
        },
        [](const auto& x) { return reference::two_axes(x[0], x[1], x[2]); },
        {{{{2, 5, 4, 3}}, either_way({3, 1}, 5), either_way({2}, 4)},
         {{{1, 1, 1, 1}}, indices({1}, 1), indices({}, 1)},
         {{{2, 3, 4, 0}}, indices({7}, 3), indices({7}, 4)},
         {{{2, 3, 4, 1}}, indices({0}, 3), indices({0}, 4)}});
    const Tensor ids = tensor<std::int64_t>({0, 1});
    row.errors = {{[ids] {
                       index(ones({2, 3, 4}), {ids, kAll, ids});
                   },
                   "index: the axes that tensors index in [2, 3, 4] must be adjacent"},
                  {[ids] {
                       index(ones({2, 3}), {ids, tensor<std::int64_t>({0, 1, 2})});
                   },
                   "index: shapes do not broadcast: [2] and [3]"}};
    return row;
}

OpCase masked_select_row() {
    OpCase row = op_case(
        "masked_select", "", [](const Tensors& x) { return masked_select(x[0], x[1]); },
        [](const auto& x) { return reference::masked_select(x[0], x[1]); },
        {{{{3, 5}}, mask({3, 5})},
         {{{3, 5}}, mask({5})},
         {{{3, 1}}, mask({2, 1, 4})},
         {{{1}}, mask({1})},
         {{{}}, mask({})},
         {{{0, 3}}, mask({0, 3})}});
    row.large = {{{300, 200}}, mask({300, 200})};
    row.errors = {
        {[] {
             masked_select(ones({2, 3}), ones({2}, DType::boolean));
         },
         "masked_select: shapes do not broadcast: [2, 3] and [2]"},
        {[] { masked_select(ones({2}), ones({2})); }, "masked_select: needs bool, got f32"},
        {[] { masked_select(Tensor(), ones({2}, DType::boolean)); },
         "masked_select: got an undefined tensor"}};
    return row;
}

std::vector<OpCase> put_rows() {
    OpCase set = op_case(
        "index_put", "",
        [](const Tensors& x) {
            return index_put(x[0], {kAll, Slice{.step = 2}}, x[1]);
        },
        [](const auto& x) { return reference::put_in_every_second(x[0], x[1]); },
        {{{{3, 5}}, {{3, 3}}},
         {{{2, 8}}, {{4}}},
         {{{4, 2}}, {{}}},
         {{{1, 1}}, {{1}}},
         {{{0, 3}}, {{2}}}});
    set.large = {{{300, 200}}, {{300, 100}}};
    set.errors = {
        {[] {
             index_put(zeros({3, 4}), {0}, ones({3}));
         },
         "index_put: shapes do not broadcast: [3] and [4]"},
        {[] {
             index_put(zeros({3, 4}), {0}, ones({2, 4}));
         },
         "index_put: values [2, 4] for a part [4]"},
        {[] { index_put(zeros({3}), {0}, arange(1)); },
         "index_put: element types differ: f32 and i64"},
        {[] { index_put(zeros({3}), {3}, ones({})); }, "index: index 3 is outside axis 0 of [3]"},
        {[] { index_put(Tensor(), {0}, ones({})); }, "index_put: got an undefined tensor"}};
    OpCase added = op_case(
        "index_put", "added", [](const Tensors& x) { return index_put(x[0], {x[1]}, x[2], true); },
        [](const auto& x) { return reference::add_to_rows(x[0], x[1], x[2]); },
        {{{{4, 3}}, either_way({6}, 4), {{6, 3}}},
         {{{1, 1}}, indices({1}, 1), {{1, 1}}},
         {{{3, 2}}, indices({0}, 3), {{0, 2}}}});
    added.large = {{{40, 100}}, indices({300}, 40), {{300, 100}}};
    return {set, added};
}

OpCase nonzero_row() {
    OpCase row = op_case(
        "nonzero", "", [](const Tensors& x) { return nonzero(x[0]); },
        [](const auto& x) { return reference::nonzero(x[0]); },
        {{mask({3, 5})},
         {whole_numbers({2, 3, 4}, -1, 2)},
         {mask({})},
         {mask({1})},
         {mask({0, 2})}});
    row.differentiable = false;
    row.large = {mask({70, 1000})};
    row.errors = {{[] { nonzero(Tensor()); }, "nonzero: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> subscript_cases() {
    std::vector<OpCase> rows{select_row(),   narrow_row(),        position_row(),
                             bounds_row(),   mask_row(),          ids_row(),
                             two_axes_row(), masked_select_row(), nonzero_row()};
    for (OpCase& row : put_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace tapestry::catalog
