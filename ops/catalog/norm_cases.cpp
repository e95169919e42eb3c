#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/norm.h>
#include <tapestry/ops/norm.h>

namespace tapestry::catalog {
namespace {

// eps is large here, so that a row of one element (deviation 0) still has a gradient to compare.
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
            {[] { layer_norm(arange(3)); }, "layer_norm: needs floating numbers, got i64"},
            {[] { layer_norm(Tensor()); }, "layer_norm: got an undefined tensor"},
            {[] {
                 layer_norm(ones({2, 3}), ones({2}));
             },
             "layer_norm: weight is [2], but the last axis of [2, 3] asks for [3]"},
            {[] {
                 layer_norm(ones({2, 3}), ones({3}), ones({1, 3}));
             },
             "layer_norm: bias is [1, 3], but the last axis of [2, 3] asks for [3]"},
            {[] {
                 layer_norm(ones({2, 3}), ones({3}, DType::f64));
             },
             "layer_norm: element types differ: f32 and f64"},
            {[] {
                 layer_norm(ones({2, 3}), {}, {}, -1);
             },
             "layer_norm: eps -1 is negative"}};
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
         "rms_norm: weight is [2], but the last axis of [2, 3] asks for [3]"},
        {[] {
             rms_norm(ones({2, 3}), {}, -1);
         },
         "rms_norm: eps -1 is negative"}};
    return rows;
}

}  // namespace tapestry::catalog
