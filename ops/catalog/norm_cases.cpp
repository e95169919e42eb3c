// Rows of the op table: layer norm, RMS norm, batch norm and group norm. Definitions:
// reference/norm.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/norm.h>
#include <tapestry/ops/norm.h>

namespace tapestry::catalog {
namespace {

// Large eps, because a row of one element (deviation 0) must still have a gradient to compare.
constexpr double kEps = 1e-2;

// Inputs x, and weight and bias where `vectors` asks for them.
std::vector<Sample> samples_with(int vectors) {
    std::vector<Sample> samples;
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 65}, Shape{40, 16}, Shape{1, 1},
                               Shape{4, 1}, Shape{7}, Shape{0, 3}, Shape{2, 0}, Shape{3, 1100}}) {
        Sample sample{{shape}};
        for (int i = 0; i < vectors; ++i) sample.push_back({Shape{shape.back()}});
        samples.push_back(sample);
    }
    return samples;
}

template <class Op>
OpCase norm_row(const char* name, const char* variant, int vectors, bool centred, Op op) {
    OpCase row = op_case(
        name, variant, op,
        [=](const auto& x) {
            const std::decay_t<decltype(x[0])> none(Shape{0});
            return reference::norm(x[0], vectors > 0 ? x[1] : none, vectors > 1 ? x[2] : none, kEps,
                                   centred);
        },
        samples_with(vectors));
    row.tolerance_f32 = 1e-5;
    row.large = {{{700, 65}}};
    for (int i = 0; i < vectors; ++i) row.large.push_back({{65}});
    return row;
}

std::vector<ErrorCase> layer_norm_errors() {
    return {{[] { layer_norm(ones({})); }, "layer_norm: a scalar has no last axis to normalise"},
            {[] { layer_norm(arange(3)); }, "layer_norm: needs floating-point numbers, got i64"},
            {[] { layer_norm(Tensor()); }, "layer_norm: got an undefined tensor"},
            {[] {
                 layer_norm(ones({2, 3}), ones({2}));
             },
             "layer_norm: weight is [2], but the last axis of [2, 3] needs [3]"},
            {[] {
                 layer_norm(ones({2, 3}), ones({3}), ones({1, 3}));
             },
             "layer_norm: bias is [1, 3], but the last axis of [2, 3] needs [3]"},
            {[] {
                 layer_norm(ones({2, 3}), ones({3}, DType::f64));
             },
             "layer_norm: element types differ: f32 and f64"},
            {[] {
                 layer_norm(ones({2, 3}), {}, {}, -1);
             },
             "layer_norm: eps must be >= 0, got -1"}};
}

}  // namespace

std::vector<OpCase> norm_cases() {
    using Ts = const Tensors&;
    std::vector<OpCase> rows{
        norm_row("layer_norm", "weight and bias", 2, true,
                 [](Ts x) { return layer_norm(x[0], x[1], x[2], kEps); }),
        norm_row("layer_norm", "weight", 1, true,
                 [](Ts x) { return layer_norm(x[0], x[1], {}, kEps); }),
        norm_row("layer_norm", "plain", 0, true,
                 [](Ts x) { return layer_norm(x[0], {}, {}, kEps); }),
        norm_row("rms_norm", "weight", 1, false, [](Ts x) { return rms_norm(x[0], x[1], kEps); }),
        norm_row("rms_norm", "plain", 0, false, [](Ts x) { return rms_norm(x[0], {}, kEps); })};
    rows.front().errors = layer_norm_errors();
    rows.back().errors = {
        {[] { rms_norm(ones({})); }, "rms_norm: a scalar has no last axis to normalise"},
        {[] {
             rms_norm(ones({2, 3}), ones({2}));
         },
         "rms_norm: weight is [2], but the last axis of [2, 3] needs [3]"},
        {[] {
             rms_norm(ones({2, 3}), {}, -1);
         },
         "rms_norm: eps must be >= 0, got -1"}};
    return rows;
}

// ---- batch norm and group norm ------------------------------------------------------------------

namespace {

// Large, because equal numbers (deviation 0) must still have a gradient to compare.
constexpr double kChannelEps = 1e-2;

// Inputs x, and weight and bias where `vectors` asks for them.
std::vector<Sample> samples_with(int vectors, const std::vector<Shape>& shapes) {
    std::vector<Sample> samples;
    for (const Shape& shape : shapes) {
        Sample sample{{shape}};
        for (int i = 0; i < vectors; ++i) sample.push_back({Shape{shape[1]}});
        samples.push_back(sample);
    }
    return samples;
}

// Shapes whose pixels are gathered first, and shapes whose are not; more than a vector of them.
const std::vector<Shape> kBatches{{5, 3},     {2, 3, 4},    {3, 2, 2, 3}, {2, 2, 4, 5},
                                  {1, 3, 37}, {2, 0, 2, 2}, {4, 1}};
const std::vector<Shape> kGrouped{{3, 4},     {2, 4, 3},    {2, 6, 3, 4},
                                  {1, 2, 37}, {0, 4, 2, 2}, {2, 4, 0, 2}};

template <class Op>
OpCase norm_row(const char* name, const char* variant, int vectors, std::int64_t groups,
                const std::vector<Shape>& shapes, Op op) {
    OpCase row = op_case(
        name, variant, op,
        [=](const auto& x) {
            const std::decay_t<decltype(x[0])> none(Shape{0});
            return reference::channel_norm(x[0], vectors > 0 ? x[1] : none,
                                           vectors > 1 ? x[2] : none, kChannelEps, groups);
        },
        samples_with(vectors, shapes));
    row.tolerance_f32 = 1e-5;
    row.large = samples_with(vectors, {{40, 24, 9, 9}}).front();
    return row;
}

std::vector<OpCase> batch_norm_rows() {
    using Ts = const Tensors&;
    std::vector<OpCase> rows{
        norm_row("batch_norm", "weight and bias", 2, 0, kBatches,
                 [](Ts x) { return batch_norm(x[0], x[1], x[2], kChannelEps); }),
        norm_row("batch_norm", "plain", 0, 0, kBatches,
                 [](Ts x) { return batch_norm(x[0], Tensor(), Tensor(), kChannelEps); }),
        norm_row("batch_norm", "a pixel each", 1, 0, {{6, 2}, {4, 1}, {3, 0}},
                 [](Ts x) { return batch_norm(x[0], x[1], {}, kChannelEps); })};
    rows[2].large = samples_with(1, {{1000, 70}}).front();
    for (OpCase& row : rows) row.no_single = "one number has no variance";
    rows[0].errors = {
        {[] { batch_norm(ones({3})); }, "batch_norm: needs an input [N, C, ...], got [3]"},
        {[] {
             batch_norm(ones({1, 3}));
         },
         "batch_norm: each channel of [1, 3] has 1 of the 2 numbers that a variance needs; for "
         "evaluation give it running statistics"},
        {[] {
             batch_norm(ones({2, 3}), ones({2}));
         },
         "batch_norm: weight is [2], but the 3 channels of [2, 3] need [3]"},
        {[] {
             batch_norm(ones({2, 3}), Tensor(), ones({3, 1}));
         },
         "batch_norm: bias is [3, 1], but the 3 channels of [2, 3] need [3]"},
        {[] {
             batch_norm(ones({2, 3}), Tensor(), Tensor(), -1);
         },
         "batch_norm: eps must be >= 0, got -1"},
        {[] {
             batch_norm(ones({2, 3}), ones({3}, DType::f64));
         },
         "batch_norm: element types differ: f32 and f64"},
        {[] {
             batch_norm(zeros({2, 3}, DType::i64));
         },
         "batch_norm: needs floating-point numbers, got i64"}};
    return rows;
}

// x, mean, var, weight, bias
OpCase given_row() {
    const auto sample = [](const Shape& x) {
        const Shape channels{x[1]};
        return Sample{{x}, {channels}, {channels, 0.3, 2}, {channels}, {channels}};
    };
    OpCase row = op_case(
        "batch_norm", "statistics given",
        [](const Tensors& x) {
            return batch_norm(x[0], {x[1], x[2]}, x[3], x[4], kChannelEps);
        },
        [](const auto& x) {
            return reference::channel_norm_given(x[0], x[1], x[2], x[3], x[4], kChannelEps);
        },
        {sample({2, 3, 2, 3}), sample({4, 2}), sample({1, 1}), sample({0, 2, 3})});
    row.errors = {{[] {
                       batch_norm(ones({2, 3}), {ones({2}), ones({3})});
                   },
                   "batch_norm: the mean is [2], but the 3 channels of [2, 3] need [3]"},
                  {[] {
                       batch_norm(ones({2, 3}), {ones({3}), ones({1})});
                   },
                   "batch_norm: the var is [1], but the 3 channels of [2, 3] need [3]"},
                  {[] {
                       batch_norm(ones({2, 3}), {ones({3}), Tensor()});
                   },
                   "batch_norm: got an undefined tensor"}};
    return row;
}

std::vector<OpCase> group_norm_rows() {
    using Ts = const Tensors&;
    std::vector<OpCase> rows{
        norm_row("group_norm", "2 groups", 2, 2, kGrouped,
                 [](Ts x) { return group_norm(x[0], 2, x[1], x[2], kChannelEps); }),
        norm_row("group_norm", "plain", 0, 1, {{2, 3, 2}, {1, 1, 1}, {0, 3}},
                 [](Ts x) { return group_norm(x[0], 1, {}, {}, kChannelEps); })};
    rows[0].no_single = "two groups have two channels";
    rows[0].errors = {
        {[] {
             group_norm(ones({2, 4}), 3);
         },
         "group_norm: 3 groups do not divide the 4 channels of [2, 4]"},
        {[] {
             group_norm(ones({2, 4}), 0);
         },
         "group_norm: 0 groups do not divide the 4 channels of [2, 4]"},
        {[] { group_norm(ones({4}), 2); }, "group_norm: needs an input [N, C, ...], got [4]"},
        {[] {
             group_norm(ones({2, 4}), 2, ones({2}));
         },
         "group_norm: weight is [2], but the 4 channels of [2, 4] need [4]"},
        {[] {
             group_norm(ones({2, 4}), 2, {}, {}, -1);
         },
         "group_norm: eps must be >= 0, got -1"}};
    return rows;
}

}  // namespace

std::vector<OpCase> channel_norm_cases() {
    std::vector<OpCase> rows = batch_norm_rows();
    rows.push_back(given_row());
    for (OpCase& row : group_norm_rows()) rows.push_back(std::move(row));
    rows.push_back(
        norm_row("instance_norm", "", 2, 4, {{2, 4, 3}, {1, 4, 5, 2}, {0, 4, 3}},
                 [](const Tensors& x) { return instance_norm(x[0], x[1], x[2], kChannelEps); }));
    rows.back().no_single = "the row has four channels";
    rows.back().errors = {
        {[] { instance_norm(ones({4})); }, "instance_norm: needs an input [N, C, ...], got [4]"},
        {[] {
             instance_norm(ones({2, 4, 3}), ones({2}));
         },
         "instance_norm: weight is [2], but the 4 channels of [2, 4, 3] need "
         "[4]"}};
    return rows;
}

}  // namespace tapestry::catalog
