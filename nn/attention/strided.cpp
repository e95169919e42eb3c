// The sequence is a matrix of rows of l = stride positions. Scores along rows and along columns are
// two batches of small products, laid side by side for one softmax.
#include <tapestry/nn/attention/strided.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/sequence.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

#include <cmath>
#include <limits>

namespace tapestry {
namespace {

Tensor columns_of(const Tensor& blocks) {  // [B, N, l, H, D] -> [B, H, l, N, D]
    return permute(blocks, {0, 3, 2, 1, 4});
}
Tensor rows_of(const Tensor& columns) {  // [B, H, l, N, D] -> [B, N, H, l, D], and back
    return permute(columns, {0, 3, 1, 2, 4});
}
Tensor from_rows(const Tensor& rows) { return permute(rows, {0, 2, 3, 1, 4}); }

// bool [B, N, H, l, L + N]: what position c of row n sees, of the L positions in its row and the
// neighbouring ones, and of the N in its column. seen: [B, N, l, H, 1].
Tensor visible(const Tensor& seen, std::int64_t after, bool causal) {
    const std::int64_t rows = seen.size(1), stride = seen.size(2), width = (2 + after) * stride;
    const std::int64_t ahead = causal ? 0 : stride - 1;
    const Tensor near = logical_and(transpose(with_neighbours(seen, 1, after), 3, 4),
                                    band(stride, width, -ahead - stride, -1));
    // Its own row is among the near ones already.
    const Tensor past = band(rows, rows, 1, rows);
    const Tensor others = causal ? past : logical_or(past, transpose(past, 0, 1));
    const Tensor column = logical_and(permute(seen, {0, 4, 3, 2, 1}),  // [B, 1, H, l, N]
                                      reshape(others, {rows, 1, 1, rows}));
    const Shape common{seen.size(0), rows, seen.size(3), stride};
    const auto widened = [&common](const Tensor& x) {
        Shape shape = common;
        shape.push_back(x.size(-1));
        return expand(x, shape);
    };
    return concat({widened(near), widened(column)}, -1);
}

}  // namespace

StridedAttention::StridedAttention(std::int64_t stride)
    : AttentionForm("StridedAttention"), stride_(stride) {
    require(stride > 0, "StridedAttention: the stride {} is not positive", stride);
}

Tensor StridedAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    check_positions(kind(), sizes, options.causal);
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(sizes.width)));
    const Tensor queries = pad_front(q * scale, sizes.keys - sizes.queries);
    const Tensor q_rows = to_blocks(queries, stride_);  // [B, N, l, H, D]
    const Tensor k_rows = to_blocks(k, stride_), v_rows = to_blocks(v, stride_);
    const std::int64_t after = options.causal ? 0 : 1;
    const Tensor mask = transpose(key_mask(kind(), options.mask, sizes.keys), 2, 3);
    const Tensor seen = visible(to_blocks(mask, stride_), after, options.causal);

    const Tensor near_keys = with_neighbours(k_rows, 1, after);  // [B, N, H, L, D]
    const Tensor near = matmul(transpose(q_rows, 2, 3), transpose(near_keys, -2, -1));
    const Tensor column = matmul(columns_of(q_rows), transpose(columns_of(k_rows), -2, -1));
    const Tensor scores = concat({near, rows_of(column)}, -1);  // [B, N, H, l, L + N]
    Tensor weights = softmax(
        masked_fill(scores, logical_not(seen), -std::numeric_limits<double>::infinity()), -1);
    weights = dropout(weights, options.dropout, true,
                      options.generator != nullptr ? *options.generator : default_generator());
    const Tensors parts = split(weights, {near.size(-1), column.size(-1)}, -1);
    const Tensor y = matmul(parts[0], with_neighbours(v_rows, 1, after)) +  // [B, N, H, l, E]
                     rows_of(matmul(from_rows(parts[1]), columns_of(v_rows)));
    const Tensor all = from_blocks(y, sizes.keys);  // [B, H, S, E]
    return hooked(slice(all, 2, sizes.keys - sizes.queries, sizes.keys), q, k, v);
}

std::string StridedAttention::settings() const { return fmt::format("stride {}", stride_); }

}  // namespace tapestry
