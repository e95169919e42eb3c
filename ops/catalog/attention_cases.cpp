// Rows of the op table: attention with each of its options. Definition: reference/attention.h;
// layouts, memory and NaNs: tests/ops/attention_test.cpp.
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/attention.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/view.h>

#include <cmath>
#include <limits>

namespace tapestry::catalog {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

double default_scale(const Shape& q) { return 1 / std::sqrt(static_cast<double>(q.back())); }

// q, k, v with the same leading axes: shapes [leading..., T, D], [.., S, D], [.., S, E].
Sample operands(const Shape& leading, std::int64_t t, std::int64_t s, std::int64_t d,
                std::int64_t e) {
    const auto matrix = [&leading](std::int64_t rows, std::int64_t columns) {
        Shape shape = leading;
        shape.push_back(rows);
        shape.push_back(columns);
        return Input{shape, -1.5, 1.5};
    };
    return {matrix(t, d), matrix(s, d), matrix(s, e)};
}

Sample with(Sample sample, const Input& more) {
    sample.push_back(more);
    return sample;
}

std::vector<Sample> usual_samples() {
    return {
        operands({2, 3}, 5, 5, 4, 4),  operands({}, 4, 7, 3, 5),  operands({2}, 6, 3, 2, 1),
        operands({1, 1}, 1, 1, 1, 1),  operands({2}, 1, 9, 4, 3), operands({0, 2}, 3, 3, 2, 2),
        operands({2}, 0, 3, 2, 2),     operands({2}, 3, 0, 2, 2), operands({2, 1, 2}, 3, 3, 2, 2),
        operands({1, 2}, 70, 70, 3, 2)};  // more queries than one block
}

OpCase attention_row(bool causal) {
    OpCase row = op_case(
        kName, causal ? "causal" : "",
        [causal](const Tensors& x) {
            return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = causal});
        },
        [causal](const auto& x) {
            return reference::attention(x[0], x[1], x[2],
                                        {.causal = causal, .scale = default_scale(x[0].shape)});
        },
        usual_samples());
    row.large = operands({3, 2}, 150, 150, 20, 20);
    const auto wrong = [](const Tensor& q, const Tensor& k, const Tensor& v) {
        return [=] { scaled_dot_product_attention(q, k, v); };
    };
    const Tensor x = ones({4, 3});
    row.errors = {
        {wrong(x, ones({5, 2}), ones({5, 2})),
         "attention: queries [4, 3] and keys [5, 2] differ in their last size (3 against 2)"},
        {wrong(x, ones({5, 3}), ones({4, 3})), "attention: 5 keys [5, 3] for 4 values [4, 3]"},
        {wrong(ones({3}), x, x), "attention: q [3], k [4, 3], v [4, 3] need at least two axes"},
        {wrong(ones({2, 4, 3}), ones({3, 4, 3}), x), "attention: shapes do not broadcast"},
        {wrong(x, x, ones({4, 3}, DType::f64)), "attention: element types differ: f32 and f64"},
        {wrong(zeros({2, 2}, DType::i64), x, x),
         "attention: needs floating-point numbers, got i64"},
        {wrong(x, Tensor(), x), "attention: got an undefined tensor"}};
    return row;
}

OpCase option_errors(OpCase row) {
    const Tensor x = ones({4, 3});
    const auto wrong = [x](AttentionOptions options) {
        return [=] { scaled_dot_product_attention(x, x, x, options); };
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    row.errors = {{wrong({.mask = ones({4, 3}, DType::boolean)}),
                   "attention: mask: shapes do not broadcast: [4, 3] and [4, 4]"},
                  {wrong({.mask = ones({2, 4, 4}, DType::boolean)}),
                   "attention: the mask [2, 4, 4] does not broadcast to the scores [4, 4]"},
                  {wrong({.mask = ones({4, 4}, DType::f64)}),
                   "attention: the mask is f64; needs bool or f32"},
                  {wrong({.scale = nan}), "attention: scale must be finite, got nan"},
                  {wrong({.dropout = 1.5}), "attention: dropout must be in [0, 1], got 1.5"}};
    return row;
}

// About half of the pairs may attend; some queries have no key.
OpCase bool_mask_row(bool causal) {
    OpCase row = op_case(
        kName, causal ? "bool mask, causal" : "bool mask",
        [causal](const Tensors& x) {
            return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = causal, .mask = x[3]});
        },
        [causal](const auto& x) {
            return reference::attention(
                x[0], x[1], x[2],
                {.causal = causal, .scale = default_scale(x[0].shape), .allowed = &x[3]});
        },
        {with(operands({2, 3}, 5, 5, 4, 4), mask({5, 5})),
         with(operands({2, 3}, 4, 4, 2, 2), mask({2, 1, 1, 4})),
         with(operands({2}, 6, 2, 2, 3), mask({2, 6, 2})),
         with(operands({3}, 4, 5, 2, 2), mask({3, 4, 1})),
         with(operands({2}, 3, 4, 2, 2), mask({4})), with(operands({1}, 1, 1, 1, 1), mask({})),
         with(operands({2}, 0, 3, 2, 2), mask({3}))});
    row.large = with(operands({3, 2}, 150, 150, 20, 20), mask({3, 1, 150, 150}));
    return row;
}

// A mask added to the scores, which also gets a gradient.
OpCase added_mask_row() {
    return op_case(
        kName, "added mask",
        [](const Tensors& x) {
            return scaled_dot_product_attention(x[0], x[1], x[2],
                                                {.causal = true, .mask = x[3], .scale = -0.7});
        },
        [](const auto& x) {
            return reference::attention(x[0], x[1], x[2],
                                        {.causal = true, .scale = -0.7, .added = &x[3]});
        },
        {with(operands({2, 3}, 5, 5, 4, 4), {{5, 5}}),
         with(operands({2, 3}, 4, 6, 2, 2), {{3, 1, 6}}), with(operands({2}, 3, 4, 2, 2), {{3, 1}}),
         with(operands({1}, 1, 1, 1, 1), {{1}}), with(operands({2}, 0, 3, 2, 2), {{3}})});
}

// The same with -inf where a query may not attend.
OpCase minus_infinity_row() {
    return op_case(
        kName, "added mask of -inf",
        [](const Tensors& x) {
            const Tensor zero = scalar(0, x[0].dtype());
            const Tensor low = scalar(-std::numeric_limits<double>::infinity(), x[0].dtype());
            return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = where(x[3], zero, low)});
        },
        [](const auto& x) {
            return reference::attention(x[0], x[1], x[2],
                                        {.scale = default_scale(x[0].shape), .allowed = &x[3]});
        },
        {with(operands({2, 3}, 5, 5, 4, 4), mask({5, 5})),
         with(operands({2}, 6, 2, 2, 3), mask({2, 6, 2})),
         with(operands({1}, 1, 1, 1, 1), mask({1})), with(operands({2}, 0, 3, 2, 2), mask({3}))});
}

OpCase attention_dropout_row() {
    constexpr double kP = 0.4;
    return op_case(
        kName, "dropout",
        [](const Tensors& x) {
            Generator generator(11);
            return scaled_dot_product_attention(
                x[0], x[1], x[2], {.causal = true, .dropout = kP, .generator = &generator});
        },
        [](const auto& x) {
            Generator generator(11);
            Shape scores = x[0].shape;
            scores.back() = x[1].shape[x[1].shape.rank() - 2];
            std::decay_t<decltype(x[0])> kept(scores);
            const auto drawn = bernoulli(scores, 1 - kP, generator).template to_vector<double>();
            for (std::size_t i = 0; i < drawn.size(); ++i) kept.data[i] = drawn[i];
            return reference::attention(x[0], x[1], x[2],
                                        {.causal = true,
                                         .scale = default_scale(x[0].shape),
                                         .kept = &kept,
                                         .keep_factor = 1 / (1 - kP)});
        },
        {operands({2, 3}, 5, 5, 4, 4), operands({2}, 3, 6, 2, 2), operands({1}, 1, 1, 1, 1),
         operands({2}, 0, 3, 2, 2), operands({1, 2}, 70, 70, 3, 2)});
}

// One set of keys and values broadcast to several heads, and one head to several batches.
OpCase broadcast_heads_row() {
    return op_case(
        kName, "broadcast heads",
        [](const Tensors& x) { return scaled_dot_product_attention(x[0], x[1], x[2]); },
        [](const auto& x) {
            const auto all = [&](const auto& y) {
                Shape shape{2, 3, y.shape[y.shape.rank() - 2], y.shape.back()};
                return reference::expand(y, shape);
            };
            return reference::attention(all(x[0]), all(x[1]), all(x[2]),
                                        {.scale = default_scale(x[0].shape)});
        },
        {{{{2, 3, 4, 2}}, {{2, 1, 5, 2}}, {{5, 3}}},
         {{{3, 1, 1}}, {{2, 1, 1, 1}}, {{1, 1}}},
         {{{2, 1, 0, 2}}, {{3, 5, 2}}, {{5, 1}}}});
}

// Query heads that share key and value heads; in the definition each has a copy.
OpCase grouped_row(bool masked) {
    OpCase row = op_case(
        kName, masked ? "grouped heads, bool mask, causal" : "grouped heads",
        [masked](const Tensors& x) {
            return masked ? scaled_dot_product_attention(
                                x[0], x[1], x[2], {.causal = true, .mask = x[3], .grouped = true})
                          : scaled_dot_product_attention(x[0], x[1], x[2], {.grouped = true});
        },
        [masked](const auto& x) {
            const std::int64_t heads = x[0].shape[x[0].shape.rank() - 3];
            return reference::attention(x[0], reference::for_each_head(x[1], heads),
                                        reference::for_each_head(x[2], heads),
                                        {.causal = masked,
                                         .scale = default_scale(x[0].shape),
                                         .allowed = masked ? &x[3] : nullptr});
        },
        {{{{2, 4, 5, 3}}, {{2, 2, 7, 3}}, {{2, 2, 7, 2}}},
         {{{6, 3, 2}}, {{1, 3, 2}}, {{1, 3, 4}}},
         {{{2, 3, 2, 2}}, {{2, 3, 2, 2}}, {{2, 3, 2, 2}}},
         {{{1, 1, 1}}, {{1, 1, 1}}, {{1, 1, 1}}},
         {{{2, 4, 0, 2}}, {{2, 2, 3, 2}}, {{2, 2, 3, 2}}},
         {{{1, 4, 70, 3}}, {{1, 2, 70, 3}}, {{1, 2, 70, 2}}}});
    row.large = {{{2, 4, 150, 20}}, {{2, 2, 150, 20}}, {{2, 2, 150, 20}}};
    if (!masked) return row;
    for (Sample& sample : row.samples) {
        const Shape& q = sample[0].shape;
        sample.push_back(mask({q[q.rank() - 3], q[q.rank() - 2], sample[1].shape[q.rank() - 2]}));
    }
    row.large.push_back(mask({150, 150}));
    return row;
}

OpCase grouped_errors(OpCase row) {
    const auto wrong = [](const Shape& q, const Shape& k, const Shape& v) {
        return [=] { scaled_dot_product_attention(ones(q), ones(k), ones(v), {.grouped = true}); };
    };
    row.errors = {
        {wrong({5, 3, 2}, {2, 3, 2}, {2, 3, 2}),
         "attention: 2 heads of keys [2, 3, 2] do not divide the 5 of queries [5, 3, 2]"},
        {wrong({4, 3, 2}, {0, 3, 2}, {0, 3, 2}),
         "attention: 0 heads of keys [0, 3, 2] do not divide the 4 of queries [4, 3, 2]"},
        {wrong({4, 3, 2}, {2, 3, 2}, {1, 3, 2}),
         "attention: 2 heads of keys [2, 3, 2] for 1 of values [1, 3, 2]"},
        {wrong({3, 2}, {3, 2}, {3, 2}),
         "attention: grouped heads need three axes, [..., H, T, D], got q [3, 2], k [3, 2], v [3, "
         "2]"},
        {wrong({2, 4, 3, 2}, {3, 2, 3, 2}, {3, 2, 3, 2}), "attention: shapes do not broadcast"}};
    return row;
}

// Heads sliced from one projection [B, T, 3 C], as in a Transformer.
OpCase projection_row() {
    OpCase row = op_case(
        kName, "of one projection",
        [](const Tensors& x) {
            const auto head = [&x](std::int64_t i) {  // [B, T, 3, H, D] -> [B, H, T, D]
                return transpose(squeeze(slice(x[0], 2, i, i + 1), 2), 1, 2);
            };
            return scaled_dot_product_attention(head(0), head(1), head(2), {.causal = true});
        },
        [](const auto& x) {
            const auto head = [&x](std::int64_t i) {
                auto part = reference::slice(x[0], 2, i, 1);
                part.shape.erase(2);
                return reference::transpose(part, 1, 2);
            };
            return reference::attention(head(0), head(1), head(2),
                                        {.causal = true, .scale = default_scale(x[0].shape)});
        },
        {{{{2, 5, 3, 2, 4}}}, {{{1, 1, 3, 1, 1}}}, {{{2, 0, 3, 2, 2}}}});
    row.no_single = "q, k and v of one element each are three";
    row.large = {{{3, 150, 3, 2, 20}}};
    return row;
}

// The weights are the result of attention with values v = I.
OpCase weights_row(bool masked) {
    OpCase row = op_case(
        "attention_weights", masked ? "bool mask, causal" : "",
        [masked](const Tensors& x) {
            return masked ? attention_weights(x[0], x[1], {.causal = true, .mask = x[2]})
                          : attention_weights(x[0], x[1]);
        },
        [masked](const auto& x) {
            const std::int64_t keys = x[1].shape[x[1].shape.rank() - 2];
            Shape shape = x[1].shape;
            shape.back() = keys;
            std::decay_t<decltype(x[0])> unit(shape);
            for (std::int64_t i = 0; i < unit.size(); ++i) {
                unit[i] = i % keys == i / keys % keys ? 1 : 0;
            }
            return reference::attention(x[0], x[1], unit,
                                        {.causal = masked,
                                         .scale = default_scale(x[0].shape),
                                         .allowed = masked ? &x[2] : nullptr});
        },
        {{{{2, 3, 5, 4}}, {{2, 3, 5, 4}}},
         {{{4, 2}}, {{7, 2}}},
         {{{2, 1, 1}}, {{2, 1, 1}}},
         {{{2, 0, 3}}, {{2, 4, 3}}},
         {{{1, 1}}, {{1, 1}}}});
    if (masked) {
        row.samples = {{{{2, 3, 5, 4}}, {{2, 3, 5, 4}}, mask({3, 5, 5})},
                       {{{4, 2}}, {{7, 2}}, mask({7})},
                       {{{1, 1, 1}}, {{1, 1, 1}}, mask({1})},
                       {{{2, 0, 3}}, {{2, 4, 3}}, mask({4})}};
    }

    const Tensor x = ones({4, 3});
    row.errors = {{[x] {
                       attention_weights(x, ones({5, 2}));
                   },
                   "attention: queries [4, 3] and keys [5, 2] differ in their last size"},
                  {[x] {
                       attention_weights(x, x, {.mask = ones({3, 4}, DType::boolean)});
                   },
                   "attention: mask: shapes do not broadcast"}};
    return row;
}

}  // namespace

std::vector<OpCase> attention_cases() {
    return {attention_row(false),    attention_row(true),   option_errors(bool_mask_row(false)),
            bool_mask_row(true),     added_mask_row(),      minus_infinity_row(),
            attention_dropout_row(), broadcast_heads_row(), grouped_errors(grouped_row(false)),
            grouped_row(true),       projection_row(),      weights_row(false),
            weights_row(true)};
}

}  // namespace tapestry::catalog
