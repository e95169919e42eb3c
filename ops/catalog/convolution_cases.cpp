// Rows of the op table: convolutions. Definitions: reference/windows.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/windows.h>
#include <tapestry/ops/convolution.h>

namespace tapestry::catalog {
namespace {

OpCase conv2d_row(const char* variant, std::int64_t stride, std::int64_t padding,
                  std::int64_t dilation, std::int64_t groups, std::vector<Sample> samples) {
    OpCase row = op_case(
        "conv2d", variant,
        [=](const Tensors& x) {
            return conv2d(
                x[0], x[1], x.size() > 2 ? x[2] : Tensor(),
                {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups});
        },
        [=](const auto& x) {
            const reference::Steps steps{
                .stride = stride, .padding = padding, .dilation = dilation};
            return reference::conv2d(x[0], x[1], x.size() > 2 ? &x[2] : nullptr, {steps, steps},
                                     groups);
        },
        std::move(samples));
    row.tolerance_f32 = 1e-5;
    return row;
}

// Errors of conv2d with an input and a weight of these shapes.
ErrorCase refused(const Shape& x, const Shape& weight, const Conv2dOptions& options,
                  const std::string& message) {
    return {[=] { conv2d(ones(x), ones(weight), {}, options); }, "conv2d: " + message};
}

std::vector<ErrorCase> conv2d_errors() {
    const Shape x{1, 6, 8, 8}, w{4, 6, 3, 3}, half{4, 2, 3, 3};
    return {
        refused({2, 1, 3, 7}, {4, 1, 5, 5}, {},
                "input [2, 1, 3, 7] with kernel 5 x 5, padding 0, dilation 1 gives an output of "
                "-1 x 3"),
        refused({2, 1, 8, 2}, {4, 1, 3, 3}, {.stride = 2, .padding = {1, 0}},
                "input [2, 1, 8, 2] with kernel 3 x 3, padding 1 x 0, dilation 1 gives an output "
                "of 4 x 0"),
        refused({1, 8, 8}, w, {}, "needs an input [N, C, H, W], got [1, 8, 8]"),
        refused(x, {4, 9}, {}, "the weight must be [out, in / groups, rows, columns], got [4, 9]"),
        refused({1, 3, 8, 8}, half, {},
                "input [1, 3, 8, 8] has 3 channels; the weight [4, 2, 3, 3] in 1 group takes 2"),
        refused(x, half, {.groups = 2},
                "input [1, 6, 8, 8] has 6 channels; the weight [4, 2, 3, 3] in 2 groups takes 4"),
        refused(x, half, {.groups = 3},
                "3 groups do not divide the 4 outputs of weight [4, 2, 3, 3]"),
        refused(x, {0, 4, 3, 3}, {.groups = std::int64_t{1} << 62},
                "4611686018427387904 groups do not divide the 0 outputs of weight [0, 4, 3, 3]"),
        refused(x, half, {.groups = 0}, "groups must be positive, got 0"),
        refused(x, {4, 6, 0, 3}, {}, "kernel must be positive, got 0 x 3"),
        refused(x, w, {.stride = {1, 0}}, "stride must be positive, got 1 x 0"),
        refused(x, w, {.padding = -1}, "padding must be 0 or more, got -1"),
        refused(x, w, {.dilation = std::int64_t{1} << 40},
                "dilation must be at most 2147483648, got 1099511627776"),
        {[=] { conv2d(ones(x), ones(w), ones({2})); },
         "conv2d: the bias is [2], the weight [4, 6, 3, 3] needs [4]"},
        {[=] { conv2d(ones(x), ones(w, DType::f64)); },
         "conv2d: element types differ: f32 and f64"},
        {[=] { conv2d(ones(x), ones(w), ones({4}, DType::f64)); },
         "conv2d: element types differ: f32 and f64"},
        {[=] { conv2d(zeros(x, DType::i64), zeros(w, DType::i64)); },
         "conv2d: needs floating-point numbers, got i64"},
        {[=] { conv2d(ones(x), Tensor()); }, "conv2d: got an undefined tensor"}};
}

OpCase plain_row() {
    OpCase row = conv2d_row("", 1, 0, 1, 1,
                            {{{{2, 3, 5, 6}}, {{4, 3, 3, 2}}, {{4}}},
                             {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}, {{1}}},
                             {{{3, 2, 4, 19}}, {{3, 2, 1, 3}}, {{3}}},  // more than a vector
                             {{{2, 2, 3, 3}}, {{3, 2, 3, 3}}, {{3}}},   // one window
                             {{{0, 2, 4, 4}}, {{3, 2, 3, 3}}, {{3}}},
                             {{{2, 0, 4, 4}}, {{3, 0, 3, 3}}, {{3}}},
                             {{{2, 3, 4, 4}}, {{0, 3, 3, 3}}, {{0}}}});
    row.large = {{{200, 5, 8, 9}}, {{12, 5, 3, 3}}, {{12}}};
    row.errors = conv2d_errors();
    return row;
}

// Each side of the kernel reaches into the padding; no window reads the last rows and columns.
OpCase stepping_row() {
    OpCase row = conv2d_row("stride 2, padding 1, dilation 2", 2, 1, 2, 1,
                            {{{{2, 2, 7, 8}}, {{3, 2, 3, 3}}},
                             {{{1, 1, 4, 6}}, {{1, 1, 2, 3}}},
                             {{{0, 2, 5, 5}}, {{3, 2, 3, 3}}}});
    row.large = {{{30, 4, 31, 30}}, {{8, 4, 3, 3}}};
    row.no_single = "the window is wider than one pixel";
    return row;
}

// Several strips per image (convolution_loops.cpp), and a single image for all threads.
OpCase strips_row() {
    OpCase row = conv2d_row("one large image", 1, 1, 1, 1,
                            {{{{1, 1, 3, 3}}, {{1, 1, 3, 3}}, {{1}}},
                             {{{0, 1, 3, 3}}, {{1, 1, 3, 3}}, {{1}}},
                             {{{1, 30, 20, 9}}, {{1, 30, 11, 11}}, {{1}}}});
    row.large = {{{1, 16, 90, 90}}, {{24, 16, 3, 3}}, {{24}}};
    return row;
}

OpCase groups_row() {
    OpCase row = conv2d_row("groups", 1, 1, 1, 2,
                            {{{{2, 4, 3, 4}}, {{6, 2, 3, 3}}, {{6}}},
                             {{{2, 2, 3, 3}}, {{2, 1, 3, 3}}, {{2}}},  // depthwise
                             {{{1, 2, 1, 1}}, {{2, 1, 3, 3}}, {{2}}},
                             {{{0, 4, 3, 3}}, {{2, 2, 3, 3}}, {{2}}}});
    row.large = {{{24, 6, 20, 20}}, {{8, 3, 3, 3}}, {{8}}};
    row.no_single = "two groups have two channels";
    return row;
}

OpCase conv1d_row() {
    OpCase row = op_case(
        "conv1d", "stride 2, padding 1, groups 2",
        [](const Tensors& x) {
            return conv1d(x[0], x[1], x[2], {.stride = 2, .padding = 1, .groups = 2});
        },
        [](const auto& x) {
            const reference::Steps across{.stride = 2, .padding = 1};
            return reference::as_row(reference::conv2d(reference::as_image(x[0]),
                                                       reference::as_image(x[1]), &x[2],
                                                       {.across = across}, 2));
        },
        {{{{2, 4, 9}}, {{6, 2, 3}}, {{6}}}, {{{0, 2, 9}}, {{2, 1, 3}}, {{2}}}});
    row.no_single = "two groups have two channels";
    row.errors = {
        {[] {
             conv1d(ones({2, 1, 3}), ones({4, 1, 5}));
         },
         "conv1d: input [2, 1, 3] with kernel 5, padding 0, dilation 1 gives an output of -1"},
        {[] {
             conv1d(ones({1, 8}), ones({4, 1, 3}));
         },
         "conv1d: needs an input [N, C, L], got [1, 8]"},
        {[] {
             conv1d(ones({1, 1, 8}), ones({4, 3}));
         },
         "conv1d: the weight must be [out, in / groups, length], got [4, 3]"},
        {[] {
             conv1d(ones({1, 1, 8}), ones({4, 1, 3}), {}, {.stride = 0});
         },
         "conv1d: stride must be positive, got 0"},
        {[] {
             conv1d(ones({1, 3, 8}), ones({4, 1, 3}));
         },
         "conv1d: input [1, 3, 8] has 3 channels; the weight [4, 1, 3] in 1 group takes 1"}};
    return row;
}

OpCase causal_row() {
    OpCase row = op_case(
        "conv1d", "causal, stride 2, dilation 3",
        [](const Tensors& x) {
            return conv1d(x[0], x[1], x[2], {.stride = 2, .dilation = 3, .causal = true});
        },
        [](const auto& x) {
            // Padding on both sides gives more outputs; those that look ahead come last.
            const std::int64_t before = 3 * (x[1].shape[2] - 1);
            const reference::Steps across{.stride = 2, .padding = before, .dilation = 3};
            const auto all = reference::conv2d(reference::as_image(x[0]), reference::as_image(x[1]),
                                               &x[2], {.across = across}, 1);
            auto y = all;
            y.shape[3] = (x[0].shape[2] - 1) / 2 + 1;
            y.data.resize(static_cast<std::size_t>(numel(y.shape)));
            for (std::int64_t i = 0; i < y.size(); ++i) {
                y[i] = all[i / y.shape[3] * all.shape[3] + i % y.shape[3]];
            }
            return reference::as_row(y);
        },
        {{{{2, 4, 9}}, {{6, 4, 3}}, {{6}}},
         {{{1, 1, 1}}, {{1, 1, 1}}, {{1}}},
         {{{0, 2, 9}}, {{2, 2, 3}}, {{2}}}});
    row.errors = {{[] {
                       conv1d(ones({1, 1, 8}), ones({4, 1, 3}), {}, {.padding = 1, .causal = true});
                   },
                   "conv1d: causal has its own padding; padding must be 0, got 1"},
                  {[] {
                       conv1d(ones({1, 1, 8}), ones({4, 1, 3}), {},
                              {.dilation = std::int64_t{1} << 60, .causal = true});
                   },
                   "conv1d: dilation must be at most 2147483648"}};
    return row;
}

// ---- transposed ---------------------------------------------------------------------------------

// Error of conv_transpose2d with an input and a weight of these shapes.
ErrorCase transpose_refused(const Shape& x, const Shape& weight,
                            const ConvTranspose2dOptions& options, const std::string& message) {
    return {[=] { conv_transpose2d(ones(x), ones(weight), {}, options); },
            "conv_transpose2d: " + message};
}

OpCase transposed_row(const char* variant, const ConvTranspose2dOptions& options,
                      std::vector<Sample> samples) {
    OpCase row = op_case(
        "conv_transpose2d", variant,
        [=](const Tensors& x) {
            return conv_transpose2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options);
        },
        [=](const auto& x) {
            const auto steps = [](std::int64_t stride, std::int64_t padding,
                                  std::int64_t dilation) {
                return reference::Steps{.stride = stride, .padding = padding, .dilation = dilation};
            };
            return reference::conv_transpose2d(
                x[0], x[1], x.size() > 2 ? &x[2] : nullptr,
                {steps(options.stride.rows, options.padding.rows, options.dilation.rows),
                 steps(options.stride.columns, options.padding.columns, options.dilation.columns)},
                options.output_padding.rows, options.output_padding.columns, options.groups);
        },
        std::move(samples));
    row.tolerance_f32 = 1e-5;
    return row;
}

std::vector<ErrorCase> transposed_errors() {
    const Shape x{1, 6, 8, 8}, w{6, 2, 3, 3};
    return {transpose_refused({6, 8, 8}, w, {}, "needs an input [N, C, H, W], got [6, 8, 8]"),
            transpose_refused(x, {6, 9}, {},
                              "the weight must be [in, out / groups, rows, columns], got [6, 9]"),
            transpose_refused({1, 3, 8, 8}, w, {},
                              "input [1, 3, 8, 8] has 3 channels; the weight [6, 2, 3, 3] takes 6"),
            transpose_refused(x, w, {.groups = 4},
                              "4 groups do not divide the 6 inputs of weight [6, 2, 3, 3]"),
            transpose_refused(
                {1, 0, 8, 8}, {0, 4, 3, 3}, {.groups = std::int64_t{1} << 62},
                "4611686018427387904 groups do not divide the 0 inputs of weight [0, 4, 3, 3]"),
            transpose_refused(x, w, {.groups = 0}, "groups must be positive, got 0"),
            transpose_refused(
                x, w, {.stride = 0},
                "stride and dilation must be positive and padding 0 or more, got 0, 1 and 0"),
            transpose_refused(x, w, {.output_padding = 1},
                              "output_padding must be less than the stride, got 1"),
            transpose_refused(x, w, {.output_padding = 1, .dilation = 2},
                              "output_padding must be less than the stride, got 1"),
            transpose_refused({1, 6, 8, 0}, w, {}, "input and kernel need elements, got 0 and 3"),
            transpose_refused(
                {1, 6, 1, 8}, w, {.padding = {2, 0}},
                "input [1, 6, 1, 8] with kernel 3 x 3, padding 2 x 0 gives an output of -1 x 10"),
            {[=] { conv_transpose2d(ones(x), ones(w), ones({3})); },
             "conv_transpose2d: the bias is [3], the weight [6, 2, 3, 3] needs [2]"},
            {[=] { conv_transpose2d(ones(x), ones(w, DType::f64)); },
             "conv_transpose2d: element types differ: f32 and f64"}};
}

std::vector<OpCase> transposed_rows() {
    OpCase plain = transposed_row("", {},
                                  {{{{2, 3, 4, 5}}, {{3, 4, 3, 2}}, {{4}}},
                                   {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}, {{1}}},
                                   {{{0, 2, 4, 4}}, {{2, 3, 3, 3}}, {{3}}}});
    plain.large = {{{20, 12, 18, 19}}, {{12, 5, 3, 3}}, {{5}}};
    plain.errors = transposed_errors();
    OpCase wide = transposed_row(
        "stride 3 x 2, padding 1, output_padding 2 x 1, dilation 1 x 2, groups 2",
        {.stride = {3, 2}, .padding = 1, .output_padding = {2, 1}, .groups = 2, .dilation = {1, 2}},
        {{{{2, 4, 3, 4}}, {{4, 3, 3, 2}}, {{6}}}, {{{0, 2, 3, 3}}, {{2, 1, 3, 3}}, {{2}}}});
    wide.no_single = "two groups have two channels";
    OpCase row = op_case(
        "conv_transpose1d", "stride 2, padding 1",
        [](const Tensors& in) {
            return conv_transpose1d(in[0], in[1], in[2], {.stride = 2, .padding = 1});
        },
        [](const auto& in) {
            return reference::as_row(
                reference::conv_transpose2d(reference::as_image(in[0]), reference::as_image(in[1]),
                                            &in[2], {{}, {.stride = 2, .padding = 1}}, 0, 0, 1));
        },
        {{{{2, 3, 5}}, {{3, 4, 4}}, {{4}}},
         {{{1, 1, 1}}, {{1, 1, 3}}, {{1}}},
         {{{0, 2, 4}}, {{2, 3, 3}}, {{3}}}});
    row.tolerance_f32 = 1e-5;
    row.errors = {{[] {
                       conv_transpose1d(ones({3, 7}), ones({1, 1, 3}));
                   },
                   "conv_transpose1d: needs an input [N, C, L], got [3, 7]"},
                  {[] {
                       conv_transpose1d(ones({1, 1, 7}), ones({1, 3}));
                   },
                   "conv_transpose1d: the weight must be [in, out / groups, length], got [1, 3]"},
                  {[] {
                       conv_transpose1d(ones({1, 1, 0}), ones({1, 1, 3}));
                   },
                   "conv_transpose1d: input and kernel need elements, got 0 and 3"},
                  {[] {
                       conv_transpose1d(ones({1, 1, 1}), ones({1, 1, 2}), {}, {.padding = 1});
                   },
                   "conv_transpose1d: input [1, 1, 1] with kernel 2, padding 1 gives an output of "
                   "0"}};
    return {plain, wide, row};
}

}  // namespace

std::vector<OpCase> convolution_cases() {
    std::vector<OpCase> rows{plain_row(),  stepping_row(), strips_row(),
                             groups_row(), conv1d_row(),   causal_row()};
    for (OpCase& row : transposed_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace tapestry::catalog
