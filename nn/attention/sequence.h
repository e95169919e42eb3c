// What the efficient forms of attention share: their checks, and a sequence cut into blocks, each
// with its neighbours beside it, so that nearness becomes a matter of rows and columns.
#pragma once

#include <tapestry/ops/attention.h>

#include <string_view>

namespace tapestry {

/// The sizes of one call.
struct AttentionSizes {
    std::int64_t queries, keys;  // T, S
    std::int64_t width, values;  // D, E
};

/// Throws ShapeError unless q [B, H, T, D], k [B, H, S, D], v [B, H, S, E] go together and T and S
/// are not 0, and DTypeError unless they are f32 or f64, all the same. `options.weights` is made
/// undefined: no efficient form has weights [T, S].
AttentionSizes check_attention(std::string_view form, const Tensor& q, const Tensor& k,
                               const Tensor& v, const AttentionOptions& options);

/// For forms that look from a position at others near it: throws ValueError unless T = S, or, if
/// causal, T <= S, the queries being the last ones.
void check_positions(std::string_view form, const AttentionSizes& sizes, bool causal);

/// For forms that never compute a weight: throws ValueError for dropout or a scale.
void refuse_weights(std::string_view form, const AttentionOptions& options, bool scaled);

/// A mask that says of a key, but not of a query and a key, whether it is seen: bool [B, H, 1, S],
/// any of the first two sizes may be 1. All keys if `mask` is undefined. Throws ValueError for any
/// other mask.
Tensor key_mask(std::string_view form, const Tensor& mask, std::int64_t keys);

/// [B, H, T, D] -> [B, N, b, H, D] in blocks of b positions, the last one filled up with 0.
Tensor to_blocks(const Tensor& x, std::int64_t block);

/// Back: [B, N, H, b, D] -> [B, H, T, D]
Tensor from_blocks(const Tensor& x, std::int64_t length);

/// [B, N, b, H, D] -> [B, N, H, (before + 1 + after) b, D]: the blocks before and after come to
/// each; 0 where there are none.
Tensor with_neighbours(const Tensor& blocks, std::int64_t before, std::int64_t after);

/// bool [rows, columns]: whether lowest <= row - column <= highest.
Tensor band(std::int64_t rows, std::int64_t columns, std::int64_t lowest, std::int64_t highest);

/// `rows` rows of zeros before those of x [B, H, T, D].
Tensor pad_front(const Tensor& x, std::int64_t rows);

}  // namespace tapestry
