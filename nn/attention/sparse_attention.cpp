// Cuts a sequence into blocks with their neighbours, which turns distances into rows and columns.
#include <tapestry/nn/attention/sparse_attention.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapestry {
namespace {

// [B, H, T, D] -> [B, N, b, H, D] in blocks of b positions, the last one padded with 0.
Tensor to_blocks(const Tensor& x, std::int64_t block) {
    const std::int64_t length = x.size(2), count = (length - 1) / block + 1;
    Tensor rows = transpose(x, 1, 2);  // [B, T, H, D]
    if (count * block > length) {
        rows = pad(rows, {{}, {.before = 0, .after = count * block - length}, {}, {}});
    }
    return reshape(rows, {x.size(0), count, block, x.size(1), x.size(3)});
}

// The inverse: [B, N, H, b, D] -> [B, H, T, D]
Tensor from_blocks(const Tensor& x, std::int64_t length) {
    const Tensor rows = transpose(x, 2, 3);  // [B, N, b, H, D]
    const Tensor joined = flatten(rows, 1, 2);
    return transpose(slice(joined, 1, 0, length), 1, 2);
}

// [B, N, b, H, D] -> [B, N, H, (2 + after) b, D]: each block between the one before it and, if
// `after` is 1, the one after it; 0 where there is none.
Tensor with_neighbours(const Tensor& blocks, std::int64_t after) {
    const std::int64_t count = blocks.size(1);
    const Tensor framed = pad(blocks, {{}, {.before = 1, .after = after}, {}, {}, {}});
    Tensors shifted;  // [B, N, b, H, D] each
    for (std::int64_t i = 0; i < 2 + after; ++i) {
        shifted.push_back(slice(framed, 1, i, i + count));
    }
    return transpose(concat(shifted, 2), 2, 3);
}

// bool [rows, columns]: whether lowest <= row - column <= highest.
Tensor band(std::int64_t rows, std::int64_t columns, std::int64_t lowest, std::int64_t highest) {
    return triu(tril(ones({rows, columns}, DType::boolean), -lowest), -highest);
}

// `rows` rows of zeros before those of x [B, H, T, D].
Tensor pad_front(const Tensor& x, std::int64_t rows) {
    return rows == 0 ? x : pad(x, {{}, {}, {.before = rows, .after = 0}, {}});
}

}  // namespace

// ---- sliding window -----------------------------------------------------------------------------

// Blocks are at least as long as the window, so a block only needs its neighbours. Query r of a
// block and key c of [the block before, the block itself, the block after] are r + b - c apart.

namespace {

constexpr std::int64_t kSmallestBlock = 32;  // shorter ones cost more overhead than they save

}  // namespace

SlidingWindowAttention::SlidingWindowAttention(std::int64_t window)
    : AttentionForm("SlidingWindowAttention"), window_(window) {
    require(window >= 0, "SlidingWindowAttention: the window must be >= 0, got {}", window);
}

Tensor SlidingWindowAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    check_positions(kind(), sizes, options.causal);
    const Tensor seen = key_mask(kind(), options.mask, sizes.keys);  // [B, H, 1, S]
    const std::int64_t block = std::max(window_, kSmallestBlock);
    const std::int64_t ahead = options.causal ? 0 : window_;
    AttentionOptions inside{
        .scale = options.scale, .dropout = options.dropout, .generator = options.generator};

    if (sizes.queries <= block) {  // one block, and the keys it can reach
        const std::int64_t first = std::max<std::int64_t>(0, sizes.keys - sizes.queries - window_);
        const auto reached = [&](const Tensor& x, int axis) {
            return slice(x, axis, first, sizes.keys);
        };
        const std::int64_t columns = sizes.keys - first, shift = columns - sizes.queries;
        inside.mask = logical_and(reached(seen, 3), band(sizes.queries, columns, -ahead - shift,
                                                         window_ - shift));  // [B, H, T, S']
        const Tensor near = scaled_dot_product_attention(q, reached(k, 2), reached(v, 2), inside);
        return hooked(near, q, k, v);
    }
    const std::int64_t after = options.causal ? 0 : 1, columns = (2 + after) * block;
    const auto near = [&](const Tensor& x) { return with_neighbours(to_blocks(x, block), after); };
    const Tensor queries = pad_front(q, sizes.keys - sizes.queries);
    const Tensor visible = transpose(near(transpose(seen, 2, 3)), 3, 4);  // [B, N, H, 1, L]
    inside.mask = logical_and(visible, band(block, columns, -ahead - block, window_ - block));
    const Tensor y = scaled_dot_product_attention(  // [B, N, H, b, E]
        transpose(to_blocks(queries, block), 2, 3), near(k), near(v), inside);
    const Tensor all = from_blocks(y, sizes.keys);  // [B, H, S, E]
    return hooked(slice(all, 2, sizes.keys - sizes.queries, sizes.keys), q, k, v);
}

std::string SlidingWindowAttention::settings() const { return fmt::format("window {}", window_); }

// ---- strided ------------------------------------------------------------------------------------

// The sequence is a matrix with rows of l = stride positions. Scores along rows and along columns
// are two batches of small products, concatenated for one softmax.

namespace {

Tensor block_columns(const Tensor& blocks) {  // [B, N, l, H, D] -> [B, H, l, N, D]
    return permute(blocks, {0, 3, 2, 1, 4});
}
Tensor rows_of(const Tensor& columns) {  // [B, H, l, N, D] -> [B, N, H, l, D], and back
    return permute(columns, {0, 3, 1, 2, 4});
}
Tensor from_rows(const Tensor& rows) { return permute(rows, {0, 2, 3, 1, 4}); }

// bool [B, N, H, l, L + N]: what position c of row n sees, of the L positions in its row and the
// neighbouring ones, and of the N in its column. seen: [B, N, l, H, 1].
Tensor visible_to_rows(const Tensor& seen, std::int64_t after, bool causal) {
    const std::int64_t rows = seen.size(1), stride = seen.size(2), width = (2 + after) * stride;
    const std::int64_t ahead = causal ? 0 : stride - 1;
    const Tensor near = logical_and(transpose(with_neighbours(seen, after), 3, 4),
                                    band(stride, width, -ahead - stride, -1));
    // The position's own row is already among the near ones.
    const Tensor past = band(rows, rows, 1, rows);
    const Tensor others = causal ? past : logical_or(past, transpose(past, 0, 1));
    const Tensor column = logical_and(permute(seen, {0, 4, 3, 2, 1}),  // [B, 1, H, l, N]
                                      reshape(others, {rows, 1, 1, rows}));
    const Shape common{seen.size(0), rows, seen.size(3), stride};
    const auto widened = [&common](const Tensor& x) {
        return expand(x, common + Shape{x.size(-1)});
    };
    return concat({widened(near), widened(column)}, -1);
}

}  // namespace

StridedAttention::StridedAttention(std::int64_t stride)
    : AttentionForm("StridedAttention"), stride_(stride) {
    require(stride > 0, "StridedAttention: the stride must be positive, got {}", stride);
}

Tensor StridedAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    check_positions(kind(), sizes, options.causal);
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(sizes.width)));
    const std::int64_t stride = std::min(stride_, sizes.keys);  // a longer row would be padding
    const Tensor queries = pad_front(q * scale, sizes.keys - sizes.queries);
    const Tensor q_rows = to_blocks(queries, stride);  // [B, N, l, H, D]
    const Tensor k_rows = to_blocks(k, stride), v_rows = to_blocks(v, stride);
    const std::int64_t after = options.causal ? 0 : 1;
    const Tensor mask = transpose(key_mask(kind(), options.mask, sizes.keys), 2, 3);
    const Tensor seen = visible_to_rows(to_blocks(mask, stride), after, options.causal);

    const Tensor near_keys = with_neighbours(k_rows, after);  // [B, N, H, L, D]
    const Tensor near = matmul(transpose(q_rows, 2, 3), transpose(near_keys, -2, -1));
    const Tensor column = matmul(block_columns(q_rows), transpose(block_columns(k_rows), -2, -1));
    const Tensor scores = concat({near, rows_of(column)}, -1);  // [B, N, H, l, L + N]
    Tensor weights = softmax(
        masked_fill(scores, logical_not(seen), -std::numeric_limits<double>::infinity()), -1);
    weights = dropout(weights, options.dropout, true,
                      options.generator != nullptr ? *options.generator : default_generator());
    const Tensors parts = split(weights, {near.size(-1), column.size(-1)}, -1);
    const Tensor y = matmul(parts[0], with_neighbours(v_rows, after)) +  // [B, N, H, l, E]
                     rows_of(matmul(from_rows(parts[1]), block_columns(v_rows)));
    const Tensor all = from_blocks(y, sizes.keys);  // [B, H, S, E]
    return hooked(slice(all, 2, sizes.keys - sizes.queries, sizes.keys), q, k, v);
}

std::string StridedAttention::settings() const { return fmt::format("stride {}", stride_); }

}  // namespace tapestry
