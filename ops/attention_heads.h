// Attention head by head: the fused forward and backward passes behind ops/attention.cpp, on raw
// data, without a tape. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The sizes of an attention problem and its resolved options. q [leading..., T, D], k
/// [shared..., S, D] and v [shared..., S, E] agree on the axes before the heads.
struct Attend {
    Shape leading;            ///< [..., H]
    Shape shared;             ///< [..., G], the heads of k and v: H / G heads of q share one
    std::int64_t t, s, d, e;  ///< queries, keys, size of q and k, size of v
    double scale;
    bool causal;
    double dropout;
    bool recompute = false;  ///< y, for ops that save it

    std::int64_t heads() const { return numel(leading); }
    /// Number of (consecutive) heads of q that share one of k and v.
    std::int64_t group() const { return leading == shared ? 1 : leading.back() / shared.back(); }
    /// [leading..., rows, columns]
    Shape shape(std::int64_t rows, std::int64_t columns) const;
    /// How many keys query i sees; may be below 0 (none) or above S (all).
    std::int64_t visible(std::int64_t i) const { return causal ? i + 1 + s - t : s; }
    /// The same, clamped to [0, S].
    std::int64_t seen(std::int64_t i) const;
    /// [heads..., rows, columns] as a view of uninitialised memory in the order
    /// [..., rows, H, columns], in which merging the heads is free.
    static Tensor heads_inside(const Shape& heads, std::int64_t rows, std::int64_t columns,
                               DType dtype);
};

/// Outputs of forward, and the dropout mask that it reads.
struct Attended {
    Tensor y = {};        ///< [..., T, E]
    Tensor weights = {};  ///< [..., T, S], before dropout; not computed if undefined
    Tensor kept = {};     ///< bool [..., T, S]: the weights that dropout keeps; all if undefined
};

/// Fills out.y, and out.weights if that is defined; reads out.kept. `mask` may be undefined.
void attend(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
            Attended& out);

/// Gradients; undefined ones are not computed.
struct AttendGradients {
    Tensor q, k, v;
};

/// Fills `out` from the gradient g of y.
void attend_backward(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& mask, const Tensor& kept, const Tensor& g, AttendGradients& out);

}  // namespace tapestry
