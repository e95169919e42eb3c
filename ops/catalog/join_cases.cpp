// Rows of the op table: concat, stack, split, pad. Definitions: reference/view.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry::catalog {
namespace {

OpCase concat_row() {
    OpCase row = op_case(
        "concat", "", [](const Tensors& x) { return concat(x, -1); },
        [](const auto& x) { return reference::concat(x, x[0].shape.rank() - 1); },
        {{{{3, 2}}, {{3, 5}}, {{3, 1}}},
         {{{2, 3, 4}}, {{2, 3, 4}}},
         {{{1}}},
         {{{2, 0}}, {{2, 3}}},
         {{{0, 2}}, {{0, 1}}}});
    row.large = {{{70, 600}}, {{70, 400}}};
    row.errors = {{[] { concat({}, 0); }, "concat: got no tensors"},
                  {[] { concat({Tensor()}, 0); }, "concat: got an undefined tensor"},
                  {[] {
                       concat({ones({2}), Tensor()}, 0);
                   },
                   "concat: got an undefined tensor"},
                  {[] { concat({ones({2})}, 1); }, "concat: axis 1 is outside a tensor of rank 1"},
                  {[] {
                       concat({ones({2, 3}), ones({3, 3})}, 1);
                   },
                   "concat: tensor 1 is [3, 3], the first [2, 3]: only axis 1 may differ"},
                  {[] {
                       concat({ones({2, 3}), ones({2})}, 0);
                   },
                   "concat: tensor 1 is [2], the first [2, 3]: only axis 0 may differ"},
                  {[] {
                       const Tensor half = expand(ones({1}), {std::int64_t{1} << 62});
                       concat({half, half}, 0);
                   },
                   "concat: axis 0 grows beyond 64 bits"},
                  {[] {
                       concat({ones({2}), arange(2)}, 0);
                   },
                   "concat: element types differ: f32 and i64"}};
    return row;
}

OpCase stack_row() {
    OpCase row = op_case(
        "stack", "", [](const Tensors& x) { return stack(x, 1); },
        [](auto x) {
            for (auto& part : x) part.shape.insert(1, 1);
            return reference::concat(x, 1);
        },
        {{{{3, 2}}, {{3, 2}}, {{3, 2}}}, {{{1}}}, {{{5}}, {{5}}}, {{{0, 2}}, {{0, 2}}}});
    row.errors = {{[] { stack({}, 0); }, "stack: got no tensors"},
                  {[] { stack({Tensor()}, 0); }, "stack: got an undefined tensor"},
                  {[] { stack({ones({2})}, 2); }, "stack: axis 2 is outside a tensor of rank 2"},
                  {[] {
                       stack({ones({2}), ones({3})}, 0);
                   },
                   "stack: tensor 1 is [3], the first [2]"},
                  {[] {
                       stack({ones({2}), arange(2)}, 0);
                   },
                   "stack: element types differ: f32 and i64"}};
    return row;
}

OpCase split_row() {
    OpCase row = op_case(
        "split", "sizes",
        [](const Tensors& x) {
            return split(x[0], {2, 1, 3}, 1);
        },
        [](const auto& x) {
            return std::decay_t<decltype(x)>{reference::slice(x[0], 1, 0, 2),
                                             reference::slice(x[0], 1, 2, 1),
                                             reference::slice(x[0], 1, 3, 3)};
        },
        {{{{3, 6}}}, {{{2, 6, 5}}}, {{{0, 6}}}});
    row.no_single = "see the variant";
    return row;
}

// Rejoins the pieces in another order without one of them, whose gradient split must fill with
// zeros.
OpCase split_and_join_row() {
    OpCase row = op_case(
        "split", "and joined again",
        [](const Tensors& x) {
            const Tensors pieces = split(x[0], {2, 1, 3}, 1);
            return concat({pieces[2], pieces[0]}, 1);
        },
        [](const auto& x) {
            std::decay_t<decltype(x)> parts{reference::slice(x[0], 1, 3, 3),
                                            reference::slice(x[0], 1, 0, 2)};
            return reference::concat(parts, 1);
        },
        {{{{3, 6}}}, {{{2, 6, 5}}}, {{{0, 6}}}});
    row.no_single = "see the variant";
    row.errors = {{[] {
                       split(ones({6}), std::vector<std::int64_t>{2, 3}, 0);
                   },
                   "split: sizes 2, 3 do not add up to axis 0 of [6]"},
                  {[] {
                       split(ones({6}), std::vector<std::int64_t>{4, 3}, 0);
                   },
                   "split: sizes 4, 3 do not add up to axis 0 of [6]"},
                  {[] {
                       split(ones({6}), std::vector<std::int64_t>{7, -1}, 0);
                   },
                   "split: sizes 7, -1 do not add up to axis 0 of [6]"},
                  {[] { split(ones({6}), std::vector<std::int64_t>{}, 0); }, "split: got no sizes"},
                  {[] { split(ones({6}), std::vector<std::int64_t>{6}, 1); },
                   "split: axis 1 is outside a tensor of rank 1"},
                  {[] { split(Tensor(), std::vector<std::int64_t>{6}, 1); },
                   "split: got an undefined tensor"}};
    return row;
}

OpCase chunk_row() {
    OpCase row = op_case(
        "split", "chunks", [](const Tensors& x) { return concat(split(x[0], 2, -1), 0); },
        [](const auto& x) {
            std::decay_t<decltype(x)> parts;
            const int axis = x[0].shape.rank() - 1;
            for (std::int64_t i = 0; i < x[0].shape[axis]; i += 2) {
                parts.push_back(reference::slice(x[0], axis, i, 2));
            }
            return reference::concat(parts, 0);
        },
        {{{{3, 6}}}, {{{2, 3, 2}}}, {{{0, 4}}}});
    row.no_single = "see the variant";
    row.large = {{{70, 1000}}};
    row.errors = {{[] { split(ones({6}), 0, 0); }, "split: pieces of 0 along an axis"},
                  {[] { split(Tensor(), 2, 0); }, "split: got an undefined tensor"}};
    return row;
}

// A given number of pieces: each of ceil(size / 4).
OpCase by_number_row() {
    OpCase row = op_case(
        "chunk", "", [](const Tensors& x) { return chunk(x[0], 4, -1); },
        [](const auto& x) {
            const int axis = x[0].shape.rank() - 1;
            const std::int64_t size = x[0].shape[axis];
            const std::int64_t piece = (size + 3) / 4;
            std::decay_t<decltype(x)> parts;
            for (std::int64_t i = 0; i < size; i += piece) {
                parts.push_back(reference::slice(x[0], axis, i, std::min(piece, size - i)));
            }
            if (size == 0) parts.assign(4, x[0]);
            return parts;
        },
        {{{{3, 8}}}, {{{2, 9}}}, {{{1}}}, {{{0, 5}}}, {{{3, 0}}}});
    row.errors = {{[] { chunk(ones({6}), 0); }, "chunk: 0 pieces; needs at least 1"},
                  {[] { chunk(ones({6}), 2, 1); }, "chunk: axis 1 is outside a tensor of rank 1"},
                  {[] { chunk(ones({0}), std::int64_t{1} << 40); },
                   "chunk: 1099511627776 pieces of an empty axis; at most 1048576 are supported"},
                  {[] { chunk(Tensor(), 2); }, "chunk: got an undefined tensor"}};
    return row;
}

OpCase unbind_row() {
    OpCase row = op_case(
        "unbind", "", [](const Tensors& x) { return unbind(x[0], -1); },
        [](const auto& x) {
            Shape shape = x[0].shape;
            const int axis = shape.rank() - 1;
            shape.erase(axis);
            std::decay_t<decltype(x)> parts;
            for (std::int64_t i = 0; i < x[0].shape[axis]; ++i) {
                parts.push_back(reference::reshape(reference::slice(x[0], axis, i, 1), shape));
            }
            return parts;
        },
        {{{{3, 4}}}, {{{5}}}, {{{1}}}, {{{0, 3}}}});
    row.errors = {{[] { unbind(ones({})); }, "unbind: axis 0 is outside a tensor of rank 0"},
                  {[] { unbind(Tensor()); }, "unbind: got an undefined tensor"}};
    return row;
}

OpCase cat_row() {
    OpCase row = op_case(
        "cat", "", [](const Tensors& x) { return cat(x, -1); },
        [](const auto& x) { return reference::concat(x, x[0].shape.rank() - 1); },
        {{{{3, 2}}, {{3, 5}}}, {{{1}}}, {{{2, 0}}, {{2, 3}}}});
    row.errors = {{[] { cat({}); }, "concat: got no tensors"}};
    return row;
}

OpCase whole_row() {
    return op_case(
        "split", "one piece", [](const Tensors& x) { return split(x[0], 5, 0)[0]; },
        [](const auto& x) { return x[0]; }, {{{{5, 2}}}, {{{3}}}, {{{1}}}, {{{0, 2}}}});
}

OpCase pad_row() {
    OpCase row = op_case(
        "pad", "",
        [](const Tensors& x) {
            return pad(x[0], {{1, 2}, {0, 3}}, 1.5);
        },
        [](const auto& x) {
            return reference::pad(x[0], {1, 0}, {2, 3}, 1.5);
        },
        {{{{3, 5}}}, {{{1, 1}}}, {{{0, 2}}}, {{{2, 0}}}});
    row.large = {{{70, 1000}}};
    row.errors = {{[] {
                       pad(ones({2, 3}), {{1, 1}});
                   },
                   "pad: 1 entries for a tensor [2, 3]; needs one {before, after} per axis"},
                  {[] {
                       pad(ones({2}), {{-1, 0}});
                   },
                   "pad: -1, 0 at axis 0 are negative; use slice"},
                  {[] {
                       pad(ones({2}), {{std::numeric_limits<std::int64_t>::max(), 0}});
                   },
                   "pad: axis 0 grows beyond 64 bits"},
                  {[] {
                       pad(arange(2), {{1, 0}}, 0.5);
                   },
                   "pad: 0.5 is not a 64-bit integer, but the tensor is i64"},
                  {[] { pad(Tensor(), {}); }, "pad: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> join_cases() {
    return {concat_row(), cat_row(),   by_number_row(),      unbind_row(),
            stack_row(),  split_row(), split_and_join_row(), chunk_row(),
            whole_row(),  pad_row()};
}

}  // namespace tapestry::catalog
