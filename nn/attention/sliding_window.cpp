// Blocks at least as long as the window: then a block needs no more than its neighbours. Query r of
// a block and key c of [the block before, the block itself, the block after] are r + b - c apart.
#include <tapestry/nn/attention/sliding_window.h>

#include <tapestry/nn/attention/sequence.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {
namespace {

constexpr std::int64_t kSmallestBlock = 32;  // shorter ones cost more in going round than they save

}  // namespace

SlidingWindowAttention::SlidingWindowAttention(std::int64_t window)
    : AttentionForm("SlidingWindowAttention"), window_(window) {
    require(window >= 0, "SlidingWindowAttention: the window {} is negative", window);
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
    const auto near = [&](const Tensor& x) {
        return with_neighbours(to_blocks(x, block), 1, after);
    };
    const Tensor queries = pad_front(q, sizes.keys - sizes.queries);
    const Tensor visible = transpose(near(transpose(seen, 2, 3)), 3, 4);  // [B, N, H, 1, L]
    inside.mask = logical_and(visible, band(block, columns, -ahead - block, window_ - block));
    const Tensor y = scaled_dot_product_attention(  // [B, N, H, b, E]
        transpose(to_blocks(queries, block), 2, 3), near(k), near(v), inside);
    const Tensor all = from_blocks(y, sizes.keys);  // [B, H, S, E]
    return hooked(slice(all, 2, sizes.keys - sizes.queries, sizes.keys), q, k, v);
}

std::string SlidingWindowAttention::settings() const { return fmt::format("window {}", window_); }

}  // namespace tapestry
