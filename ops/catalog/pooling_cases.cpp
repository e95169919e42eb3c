// Rows of the op table: pooling and interpolation. Definitions: reference/windows.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/windows.h>
#include <tapestry/ops/pooling.h>

namespace tapestry::catalog {
namespace {

const std::vector<Sample> kImages{
    {{{2, 3, 4, 6}}}, {{{1, 1, 7, 5}}}, {{{0, 2, 4, 4}}}, {{{2, 0, 4, 4}}}};
const std::vector<Sample> kRows{{{{2, 3, 8}}}, {{{1, 1, 5}}}, {{{0, 2, 6}}}};

template <class Op, class Definition>
OpCase pool_row(const char* name, const char* variant, Op op, Definition definition,
                const std::vector<Sample>& samples = kImages) {
    OpCase row = op_case(
        name, variant, [op](const Tensors& x) { return op(x[0]); },
        [definition](const auto& x) { return definition(x[0]); }, samples);
    row.no_single = "the window has several pixels";
    return row;
}

// Windows of 3 x 2 that overlap, reach into the padding, and omit the last column.
constexpr reference::Windows kOverlapping{.down = {.kernel = 3, .stride = 2, .padding = 1},
                                          .across = {.kernel = 2, .stride = 1, .padding = 1}};
const Size2d kKernel{3, 2};
const Pool2dOptions kOptions{.stride = {2, 1}, .padding = 1};
constexpr reference::Windows kHalves{.down = {.kernel = 2, .stride = 2},
                                     .across = {.kernel = 2, .stride = 2}};
constexpr reference::Windows kAlong{.across = {.kernel = 3, .stride = 2, .padding = 1}};
const Pool1dOptions kOptionsAlong{.stride = 2, .padding = 1};
// Of 5 columns, 2 by 2, the last window has one; of 4 rows it would have none.
constexpr reference::Windows kCeil{
    .down = {.kernel = 3, .stride = 2, .padding = 1, .ceil = true},
    .across = {.kernel = 2, .stride = 2, .padding = 0, .ceil = true}};
const Pool2dOptions kOptionsCeil{.stride = 2, .padding = {1, 0}, .ceil_mode = true};
const std::vector<Sample> kOdd{
    {{{2, 3, 4, 5}}}, {{{1, 1, 7, 6}}}, {{{1, 2, 1, 1}}}, {{{0, 2, 4, 4}}}};

std::vector<OpCase> max_rows() {
    std::vector<OpCase> rows{
        pool_row(
            "max_pool2d", "2 x 2", [](const Tensor& x) { return max_pool2d(x, 2); },
            [](const auto& x) { return reference::max_pool(x, kHalves); }),
        pool_row(
            "max_pool2d", "overlapping windows",
            [](const Tensor& x) { return max_pool2d(x, kKernel, kOptions); },
            [](const auto& x) { return reference::max_pool(x, kOverlapping); }),
        pool_row(
            "max_pool2d", "ceil_mode",
            [](const Tensor& x) { return max_pool2d(x, kKernel, kOptionsCeil); },
            [](const auto& x) { return reference::max_pool(x, kCeil); }, kOdd),
        pool_row(
            "max_pool1d", "", [](const Tensor& x) { return max_pool1d(x, 3, kOptionsAlong); },
            [](const auto& x) {
                return reference::as_row(reference::max_pool(reference::as_image(x), kAlong));
            },
            kRows)};
    rows[0].samples.push_back({{{1, 1, 2, 2}}});
    rows[1].large = {{{20, 16, 30, 31}}};
    rows[0].errors = {
        {[] {
             max_pool2d(ones({1, 1, 3, 7}), {5, 2});
         },
         "max_pool2d: input [1, 1, 3, 7] with kernel 5 x 2, padding 0, dilation 1 gives an output "
         "of 0 x 3"},
        {[] {
             max_pool2d(ones({1, 3, 7}), 2);
         },
         "max_pool2d: needs an input [N, C, H, W], got [1, 3, 7]"},
        {[] {
             max_pool2d(ones({1, 1, 3, 7}), 3, {.padding = 2});
         },
         "max_pool2d: padding 2 is more than half of kernel 3: a window could lie outside"},
        {[] {
             max_pool2d(ones({1, 1, 3, 7}), 0);
         },
         "max_pool2d: kernel must be positive, got 0"},
        {[] {
             max_pool2d(ones({1, 1, 3, 7}), 2, {.stride = -1});
         },
         "max_pool2d: stride must be positive, got -1"},
        {[] {
             max_pool2d(zeros({1, 1, 3, 7}, DType::i64), 2);
         },
         "max_pool2d: needs floating-point numbers, got i64"}};
    rows[3].errors = {
        {[] {
             max_pool1d(ones({1, 1, 3}), 5);
         },
         "max_pool1d: input [1, 1, 3] with kernel 5, padding 0, dilation 1 gives an output of 0"},
        {[] {
             max_pool1d(ones({1, 3}), 2);
         },
         "max_pool1d: needs an input [N, C, L], got [1, 3]"}};
    return rows;
}

std::vector<OpCase> average_rows() {
    std::vector<OpCase> rows{
        pool_row(
            "avg_pool2d", "overlapping windows",
            [](const Tensor& x) { return avg_pool2d(x, kKernel, kOptions); },
            [](const auto& x) { return reference::avg_pool(x, kOverlapping, true); }),
        pool_row(
            "avg_pool2d", "padding does not count",
            [](const Tensor& x) { return avg_pool2d(x, kKernel, kOptions, false); },
            [](const auto& x) { return reference::avg_pool(x, kOverlapping, false); }),
        pool_row(
            "avg_pool2d", "ceil_mode",
            [](const Tensor& x) { return avg_pool2d(x, kKernel, kOptionsCeil); },
            [](const auto& x) { return reference::avg_pool_ceil(x, kCeil); }, kOdd),
        pool_row(
            "avg_pool1d", "",
            [](const Tensor& x) { return avg_pool1d(x, 3, kOptionsAlong, false); },
            [](const auto& x) {
                return reference::as_row(
                    reference::avg_pool(reference::as_image(x), kAlong, false));
            },
            kRows)};
    rows[0].large = {{{20, 16, 30, 31}}};
    rows[0].errors = {
        {[] {
             avg_pool2d(ones({1, 1, 3, 7}), 4);
         },
         "avg_pool2d: input [1, 1, 3, 7] with kernel 4 x 4, padding 0, dilation 1 gives an output "
         "of 0 x 1"},
        {[] {
             avg_pool2d(ones({3, 7}), 2);
         },
         "avg_pool2d: needs an input [N, C, H, W], got [3, 7]"}};
    rows[3].errors = {{[] {
                           avg_pool1d(ones({1, 1, 3}), 2, {.padding = 2});
                       },
                       "avg_pool1d: padding 2 is more than half of kernel 2"}};
    return rows;
}

OpCase interpolate_row(const char* variant, const Size2d& size, Interpolation method,
                       bool align_corners = false) {
    OpCase row = op_case(
        "interpolate", variant,
        [=](const Tensors& x) { return interpolate(x[0], size, method, align_corners); },
        [=](const auto& x) {
            return reference::interpolate(x[0], size.rows, size.columns,
                                          method == Interpolation::bilinear, align_corners);
        },
        {{{{2, 3, 4, 5}}}, {{{1, 1, 1, 1}}}, {{{1, 2, 3, 1}}}, {{{0, 2, 3, 3}}}});
    row.errors = {{[] {
                       interpolate(ones({2, 3}), 2);
                   },
                   "interpolate: needs an input [N, C, H, W], got [2, 3]"},
                  {[] {
                       interpolate(ones({2, 3, 0, 4}), 2);
                   },
                   "interpolate: images [2, 3, 0, 4] have no pixels"},
                  {[] {
                       interpolate(ones({2, 3, 4, 4}), {0, 3});
                   },
                   "interpolate: the size must be positive, got 0 x 3"},
                  {[] {
                       interpolate(ones({2, 3, 4, 4}), 2, Interpolation::nearest, true);
                   },
                   "interpolate: align_corners is for bilinear; nearest has no corners to align"},
                  {[] {
                       interpolate(zeros({2, 3, 4, 4}, DType::boolean), 2);
                   },
                   "interpolate: needs floating-point numbers, got bool"}};
    return row;
}

std::vector<OpCase> adaptive_rows() {
    const auto make = [](const char* variant, const Size2d& size, std::vector<Sample> samples) {
        return op_case(
            "adaptive_avg_pool2d", variant,
            [=](const Tensors& x) { return adaptive_avg_pool2d(x[0], size); },
            [=](const auto& x) {
                return reference::adaptive_avg_pool(x[0], size.rows, size.columns);
            },
            std::move(samples));
    };
    OpCase shared = make("windows that share pixels", {3, 2},
                         {{{{2, 3, 5, 7}}}, {{{1, 2, 2, 3}}}, {{{1, 1, 1, 1}}}, {{{0, 2, 4, 5}}}});
    shared.large = {{{20, 16, 30, 31}}};
    shared.errors = {{[] {
                          adaptive_avg_pool2d(ones({2, 3}), 2);
                      },
                      "adaptive_avg_pool2d: needs an input [N, C, H, W], got [2, 3]"},
                     {[] {
                          adaptive_avg_pool2d(ones({2, 3, 0, 4}), 2);
                      },
                      "adaptive_avg_pool2d: images [2, 3, 0, 4] have no pixels"},
                     {[] {
                          adaptive_avg_pool2d(ones({2, 3, 4, 4}), {2, 0});
                      },
                      "adaptive_avg_pool2d: the size must be positive, got 2 x 0"}};
    OpCase equal = make("equal windows", 2, {{{{2, 3, 4, 6}}}, {{{1, 1, 2, 2}}}, {{{0, 1, 2, 2}}}});
    equal.no_single = "there are four windows";
    return {shared, equal};
}

}  // namespace

std::vector<OpCase> pooling_cases() {
    std::vector<OpCase> rows = max_rows();
    for (OpCase& row : average_rows()) rows.push_back(std::move(row));
    for (OpCase& row : adaptive_rows()) rows.push_back(std::move(row));
    rows.push_back(interpolate_row("nearest", {7, 3}, Interpolation::nearest));
    rows.push_back(interpolate_row("bilinear", {7, 3}, Interpolation::bilinear));
    rows.push_back(interpolate_row("align_corners", {7, 3}, Interpolation::bilinear, true));
    rows.push_back(
        interpolate_row("align_corners, one row", {1, 6}, Interpolation::bilinear, true));
    return rows;
}

}  // namespace tapestry::catalog
