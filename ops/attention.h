// Attention: each query gets a mean of the values, weighted by how well it matches their keys.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>

#include <optional>

namespace tapestry {

/// Options of scaled_dot_product_attention().
struct AttentionOptions {
    /// Query i attends to keys j <= i + S - T. Queries and keys are aligned at the end: with T = 1
    /// the newest query sees all S keys of a cache.
    bool causal = false;
    /// bool: true where a query may attend; or of q's dtype: added to the scaled scores, -inf where
    /// it may not. Broadcasts to [..., T, S].
    Tensor mask = {};
    /// Default 1 / sqrt(D).
    std::optional<double> scale = {};
    /// Probability with which a weight is dropped after the softmax (ops/dropout.h).
    double dropout = 0;
    /// Source of dropout's random numbers; default_generator() if null.
    Generator* generator = nullptr;
    /// Groups of q's heads share a head of k and v: with q [..., H, T, D], k [..., G, S, D] and v
    /// [..., G, S, E], head h of q uses head h G / H of k and v; H must be a multiple of G. Keys
    /// and values are not copied, and the gradients of the heads in a group are added in the order
    /// of the heads. PyTorch's enable_gqa. G = 1 is multi-query attention (Shazeer 2019, "Fast
    /// Transformer Decoding"), other G grouped-query attention (Ainslie et al. 2023, "GQA").
    bool grouped = false;
    /// Ops that save the result compute it again on the way back: its memory for a forward pass.
    bool recompute = false;
    /// If not null, receives the weights P [..., T, S] before dropout, as a constant; the result
    /// has the same bits either way. attention_weights() returns them with a gradient.
    Tensor* weights = nullptr;
};

/// softmax(scale q k^T) v for q [..., T, D], k [..., S, D], v [..., S, E]: [..., T, E]. Without
/// options, in plain ops:
///
///     Tensor scores = matmul(q, transpose(k, -2, -1)) * (1 / std::sqrt(D));   // [..., T, S]
///     Tensor weights = softmax(tril(scores), ...);     // causal: -inf above the diagonal
///     return matmul(weights, v);                                              // [..., T, E]
///
/// A query that may not attend to any key gets zeros, and zero gradients.
///
/// Leading axes broadcast. q, k and v are read with their own strides, so heads need not be copied
/// out of [B, T, 3 C]. For q [B, H, T, D] the result is a view [B, H, T, E] of memory [B, T, H, E]:
/// merging the heads, by transpose(y, 1, 2) and reshape to [B, T, H E], copies nothing. The same
/// holds for the gradients of q, k and v.
///
/// Gradient, with P the weights and g that of the result: P^T g to v; with
/// dS = P (g v^T - rowsum(P g v^T)), scale dS k to q, scale dS^T q to k, dS to an added mask. Saves
/// q, k and v (and which weights were dropped); recomputes P.
///
/// q, k and v are floating-point and share a dtype (DTypeError). Throws ShapeError if shapes do not
/// fit, ValueError for a scale that is not finite or dropout outside [0, 1]. Source: Vaswani et al.
/// 2017, "Attention Is All You Need", equation 1.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});

/// P = softmax(scale q k^T) under the options' mask, [..., T, S], for q [..., T, D] and k
/// [..., S, D]: only the weights, composed of plain ops, so a loss may depend on them. Dropout is
/// not applied. A query that may not attend to any key has weights 0. Dtypes, errors and source as
/// above.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options = {});

}  // namespace tapestry
