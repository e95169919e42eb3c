// Rows of the op table: reordering and repetition. Definitions: reference/view.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/indexing.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/rearrange.h>

namespace tapestry::catalog {
namespace {

OpCase flip_row() {
    OpCase row = op_case(
        "flip", "",
        [](const Tensors& x) {
            return flip(x[0], {-1, 0});
        },
        [](const auto& x) {
            return reference::flip(reference::flip(x[0], 0), x[0].shape.rank() - 1);
        },
        {{{{3, 5}}}, {{{2, 3, 4}}}, {{{1, 1}}}, {{{0, 3}}}});
    row.large = {{{70, 1000}}};
    row.errors = {{[] {
                       flip(ones({2, 3}), {0, -2});
                   },
                   "flip: axis -2 is named twice"},
                  {[] {
                       flip(ones({2, 3}), {2});
                   },
                   "flip: axis 2 is outside a tensor of rank 2"},
                  {[] { flip(Tensor(), {}); }, "flip: got an undefined tensor"}};
    return row;
}

std::vector<OpCase> roll_rows() {
    OpCase one = op_case(
        "roll", "", [](const Tensors& x) { return roll(x[0], 2, -1); },
        [](const auto& x) { return reference::roll(x[0], 2, x[0].shape.rank() - 1); },
        {{{{3, 5}}}, {{{4}}}, {{{1}}}, {{{2, 0}}}});
    one.large = {{{70, 1000}}};
    one.errors = {{[] { roll(ones({2}), 1, 1); }, "roll: axis 1 is outside a tensor of rank 1"},
                  {[] { roll(Tensor(), 1, 0); }, "roll: got an undefined tensor"}};
    OpCase several = op_case(
        "roll", "back, two axes",
        [](const Tensors& x) {
            return roll(x[0], {-8, 1}, {0, 1});
        },
        [](const auto& x) { return reference::roll(reference::roll(x[0], -8, 0), 1, 1); },
        {{{{3, 5}}}, {{{1, 1}}}, {{{0, 3}}}});
    several.errors = {{[] {
                           roll(ones({2, 3}), {1, 2}, std::vector<int>{0});
                       },
                       "roll: 2 shifts for 1 axes"},
                      {[] { roll(Tensor(), std::vector<std::int64_t>{}, std::vector<int>{}); },
                       "roll: got an undefined tensor"}};
    return {one, several};
}

std::vector<OpCase> repeat_rows() {
    OpCase row = op_case(
        "repeat", "",
        [](const Tensors& x) {
            return repeat(x[0], {2, 1, 3});
        },
        [](const auto& x) {
            auto y = x[0];
            if (y.shape.rank() == 2) y.shape.insert(0, 1);
            return reference::repeat(reference::repeat(y, 2, 0), 3, 2);
        },
        {{{{3, 5}}}, {{{2, 3, 4}}}, {{{1, 1, 1}}}, {{{2, 0}}}});
    row.large = {{{7, 30, 100}}};
    row.errors = {
        {[] {
             repeat(ones({2, 3}), {2});
         },
         "repeat: 1 counts for a tensor [2, 3]; see tile"},
        {[] {
             repeat(ones({2, 3}), {2, -1});
         },
         "repeat: counts must be >= 0, got -1 for axis 1"},
        {[] { repeat(ones({2}), {std::int64_t{1} << 62}); }, "repeat: axis 0 grows beyond 64 bits"},
        {[] { repeat(Tensor(), {1}); }, "repeat: got an undefined tensor"}};
    OpCase none = op_case(
        "repeat", "not once", [](const Tensors& x) { return repeat(x[0], {0}); },
        [](const auto& x) { return reference::repeat(x[0], 0, 0); }, {{{{3}}}, {{{1}}}, {{{0}}}});
    OpCase tiled = op_case(
        "tile", "", [](const Tensors& x) { return tile(x[0], {3}); },
        [](const auto& x) { return reference::repeat(x[0], 3, x[0].shape.rank() - 1); },
        {{{{3, 5}}}, {{{4}}}, {{{1}}}, {{{2, 0}}}});
    tiled.errors = {
        {[] { tile(ones({2}), {-1}); }, "repeat: counts must be >= 0, got -1 for axis 0"},
        {[] { tile(Tensor(), {1}); }, "tile: got an undefined tensor"}};
    return {row, none, tiled};
}

std::vector<OpCase> interleave_rows() {
    OpCase even = op_case(
        "repeat_interleave", "", [](const Tensors& x) { return repeat_interleave(x[0], 3, 0); },
        [](const auto& x) {
            return reference::along(x[0], 0, 3 * x[0].shape[0],
                                    [](std::int64_t i) { return i / 3; });
        },
        {{{{3, 5}}}, {{{4}}}, {{{1}}}, {{{0, 2}}}});
    even.large = {{{70, 1000}}};
    even.errors = {
        {[] { repeat_interleave(ones({2}), -1, 0); },
         "repeat_interleave: count must be >= 0, got -1"},
        {[] { repeat_interleave(ones({2}), 2, 1); },
         "repeat_interleave: axis 1 is outside a tensor of rank 1"},
        {[] { repeat_interleave(ones({4}), std::int64_t{1} << 62, 0); },
         "repeat_interleave: axis 0 grows beyond 64 bits"},
        {[] { repeat_interleave(Tensor(), 2, 0); }, "repeat_interleave: got an undefined tensor"}};
    OpCase counted = op_case(
        "repeat_interleave", "counts",
        [](const Tensors& x) { return repeat_interleave(x[0], x[1], -1); },
        [](const auto& x) {
            std::vector<std::int64_t> from;
            for (std::int64_t i = 0; i < x[1].size(); ++i) {
                for (std::int64_t n = reference::as_index(x[1][i]); n > 0; --n) from.push_back(i);
            }
            const auto size = static_cast<std::int64_t>(from.size());
            return reference::along(x[0], x[0].shape.rank() - 1, size, [&](std::int64_t i) {
                return from[static_cast<std::size_t>(i)];
            });
        },
        {{{{3, 5}}, indices({5}, 4)},
         {{{4}}, indices({4}, 3)},
         {{{1}}, indices({1}, 3)},
         {{{2, 0}}, indices({0}, 3)}});
    counted.errors = {
        {[] { repeat_interleave(ones({2}), tensor<std::int64_t>({1}), 0); },
         "repeat_interleave: counts [1] for axis 0 of [2]"},
        {[] {
             repeat_interleave(ones({2}), tensor<std::int64_t>({1, -2}), 0);
         },
         "repeat_interleave: counts must be from 0 to 2^48 - 1, got -2 for element 1"},
        {[] { repeat_interleave(ones({2}), ones({2}), 0); },
         "repeat_interleave: needs i64, got f32"},
        {[] { repeat_interleave(Tensor(), tensor<std::int64_t>({1}), 0); },
         "repeat_interleave: got an undefined tensor"}};
    return {even, counted};
}

std::vector<OpCase> axis_rows() {
    OpCase moved = op_case(
        "movedim", "", [](const Tensors& x) { return movedim(x[0], 0, -1); },
        [](const auto& x) {
            return reference::permute(x[0], {1, 2, 0});
        },
        {{{{2, 3, 4}}}, {{{1, 1, 1}}}, {{{3, 0, 2}}}});
    moved.errors = {{[] {
                         movedim(ones({2, 3}), 2, 0);
                     },
                     "movedim: axis 2 is outside a tensor of rank 2"},
                    {[] {
                         movedim(ones({2, 3}), 0, -3);
                     },
                     "movedim: axis -3 is outside a tensor of rank 2"},
                    {[] { movedim(Tensor(), 0, 0); }, "movedim: got an undefined tensor"}};
    OpCase swapped = op_case(
        "swapaxes", "", [](const Tensors& x) { return swapaxes(x[0], 0, -1); },
        [](const auto& x) { return reference::transpose(x[0], 0, x[0].shape.rank() - 1); },
        {{{{2, 3, 4}}}, {{{1, 1}}}, {{{3, 0}}}});
    swapped.errors = {{[] { swapaxes(Tensor(), 0, 1); }, "transpose: got an undefined tensor"}};
    return {moved, swapped};
}

// Each vector repeated along the axes of the others.
template <class Arrays>
Arrays grid_of(const Arrays& x) {
    Shape shape;
    for (const auto& vector : x) shape.push_back(vector.size());
    Arrays all;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        all.push_back(reference::pick(x[static_cast<std::size_t>(axis)], shape,
                                      [axis](const Shape& index) { return Shape{index[axis]}; }));
    }
    return all;
}

std::vector<OpCase> meshgrid_rows() {
    const std::vector<Sample> samples{
        {{{3}}, {{5}}}, {{{2}}, {{3}}, {{4}}}, {{{1}}, {{1}}}, {{{0}}, {{2}}}};
    OpCase ij = op_case(
        "meshgrid", "ij", [](const Tensors& x) { return meshgrid(x); },
        [](const auto& x) { return grid_of(x); }, samples);
    ij.errors = {
        {[] { meshgrid({}); }, "meshgrid: got no tensors"},
        {[] { meshgrid({ones({2})}, "ji"); }, "meshgrid: indexing must be ij or xy, got \"ji\""},
        {[] {
             meshgrid({ones({2}), ones({2, 3})});
         },
         "meshgrid: tensor 1 is [2, 3], not a vector"},
        {[] { meshgrid({Tensor()}); }, "meshgrid: got an undefined tensor"}};
    OpCase xy = op_case(
        "meshgrid", "xy", [](const Tensors& x) { return meshgrid(x, "xy"); },
        [](const auto& x) {
            auto all = grid_of(x);
            for (auto& y : all) y = reference::transpose(y, 0, 1);
            return all;
        },
        samples);
    return {ij, xy};
}

std::vector<OpCase> pixel_rows() {
    // Both from the definition of one: moves y's element to x's place, or back.
    const auto moved = [](const auto& x, std::int64_t r, bool shuffle) {
        const Shape& s = x.shape;
        auto y = x;
        y.shape = shuffle ? Shape{s[0], s[1] / (r * r), s[2] * r, s[3] * r}
                          : Shape{s[0], s[1] * r * r, s[2] / r, s[3] / r};
        const Shape large = shuffle ? y.shape : s, deep = shuffle ? s : y.shape;
        for (std::int64_t i = 0; i < y.size(); ++i) {
            const Shape at = reference::unravel(large, i);
            const Shape from{at[0], (at[1] * r + at[2] % r) * r + at[3] % r, at[2] / r, at[3] / r};
            const std::int64_t j = reference::ravel_broadcast(deep, from);
            if (shuffle) {
                y[i] = x[j];
            } else {
                y[j] = x[i];
            }
        }
        return y;
    };
    OpCase shuffle = op_case(
        "pixel_shuffle", "", [](const Tensors& x) { return pixel_shuffle(x[0], 2); },
        [moved](const auto& x) { return moved(x[0], 2, true); },
        {{{{2, 8, 3, 5}}}, {{{1, 4, 1, 1}}}, {{{0, 4, 2, 2}}}});
    shuffle.no_single = "a pixel has four parts";
    shuffle.large = {{{20, 16, 30, 31}}};
    shuffle.errors = {{[] {
                           pixel_shuffle(ones({1, 6, 2, 2}), 2);
                       },
                       "pixel_shuffle: 2 x 2 does not divide 6 channels"},
                      {[] {
                           pixel_shuffle(ones({6, 2, 2}), 2);
                       },
                       "pixel_shuffle: needs images [N, C, H, W], got [6, 2, 2]"},
                      {[] {
                           pixel_shuffle(ones({1, 4, 2, 2}), 0);
                       },
                       "pixel_shuffle: the factor must be in [1, 32768], got 0"}};
    OpCase back = op_case(
        "pixel_unshuffle", "", [](const Tensors& x) { return pixel_unshuffle(x[0], 2); },
        [moved](const auto& x) { return moved(x[0], 2, false); },
        {{{{2, 2, 6, 4}}}, {{{1, 1, 2, 2}}}, {{{0, 4, 2, 2}}}});
    back.no_single = "it joins four pixels";
    back.errors = {{[] {
                        pixel_unshuffle(ones({1, 4, 3, 2}), 2);
                    },
                    "pixel_unshuffle: 2 does not divide images of 3 x 2"}};
    return {shuffle, back};
}

}  // namespace

std::vector<OpCase> rearrange_cases() {
    std::vector<OpCase> rows{flip_row()};
    for (auto* more :
         {roll_rows, repeat_rows, interleave_rows, axis_rows, meshgrid_rows, pixel_rows}) {
        for (OpCase& row : more()) rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace tapestry::catalog
