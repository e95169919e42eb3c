// Attention: every query takes a weighted mean of the values, weighted by how well it fits the
// keys.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>

#include <optional>

namespace tapestry {

/// Options of scaled_dot_product_attention().
struct AttentionOptions {
    /// Query i attends to keys j <= i + S - T: aligned at the end, so that with T = 1 the newest
    /// query sees all S keys of a cache.
    bool causal = false;
    /// bool: true where a query may attend; or f32/f64 as q: added to the scaled scores, -inf where
    /// it may not. Broadcasts to [..., T, S].
    Tensor mask = {};
    /// Default 1 / sqrt(D).
    std::optional<double> scale = {};
    /// Probability with which a weight is dropped after the softmax (ops/dropout.h).
    double dropout = 0;
    /// Where dropout takes its random numbers; default_generator() if null.
    Generator* generator = nullptr;
    /// Heads of q share those of k and v: with q [..., H, T, D], k [..., G, S, D] and v
    /// [..., G, S, E], head h of q attends by head h G / H of these, H being a multiple of G.
    /// Keys and values are not copied, and the gradients of those who share one are added in
    /// the order of the heads. PyTorch's enable_gqa. G = 1 is multi-query attention (Shazeer
    /// 2019, "Fast Transformer Decoding"), others are grouped-query (Ainslie et al. 2023, "GQA").
    bool grouped = false;
    /// Where to put the weights P [..., T, S], before dropout, if somebody wants to see them: a
    /// constant; the result is the same bits. attention_weights() gives them with a gradient.
    Tensor* weights = nullptr;
};

/// softmax(scale q k^T) v for q [..., T, D], k [..., S, D], v [..., S, E]: [..., T, E]. In plain
/// ops, without options:
///
///     Tensor scores = matmul(q, transpose(k, -2, -1)) * (1 / std::sqrt(D));   // [..., T, S]
///     Tensor weights = softmax(tril(scores), ...);     // causal: -inf above the diagonal
///     return matmul(weights, v);                                              // [..., T, E]
///
/// A query that may attend to nothing gets zeros, and zero gradients.
///
/// Leading axes broadcast. q, k and v are read with the strides they have, so heads need not be
/// copied out of [B, T, 3 C]. From [B, H, T, D] the result is a view [B, H, T, E] of memory
/// [B, T, H, E]: merging the heads, transpose(y, 1, 2) and reshape to [B, T, H E], copies nothing.
/// The same holds for the gradients of q, k and v.
///
/// Gradient, with P the weights and g that of the result: P^T g to v; with
/// dS = P (g v^T - rowsum(P g v^T)), scale dS k to q, scale dS^T q to k, dS to an added mask. q, k
/// and v are kept for it (and which weights were dropped); P is computed again.
///
/// floating numbers, q, k and v of one type (DTypeError); ShapeError where shapes do not fit;
/// ValueError for a scale that is not finite or dropout outside [0, 1]. Source: Vaswani et al.
/// 2017, "Attention Is All You Need", equation 1.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});

/// P = softmax(scale q k^T) under the options' mask, [..., T, S], for q [..., T, D] and
/// k [..., S, D]: the weights alone, composed of plain ops, so that a loss may depend on them.
/// Dropout is not applied. A query that may attend to nothing has weights 0. Dtypes, errors and
/// source as above.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options = {});

}  // namespace tapestry
