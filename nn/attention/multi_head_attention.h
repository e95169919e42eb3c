// Multi-head attention: several heads side by side, each in its own subspace; and QK-norm, which
// normalises queries and keys per head, which bounds the scores however large the projections
// become. Read next: attention_form.h, what a head does; cache.h, which keeps keys and values.
#pragma once

#include <tapestry/nn/attention/attention_form.h>
#include <tapestry/nn/attention/cache.h>
#include <tapestry/nn/attention/position_bias.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/module/config_fields.h>

#include <optional>

namespace tapestry {

/// Normalisation of queries and keys.
enum class QKNorm {
    none,  ///< neither is normalised
    rms,   ///< RMS norm
    layer  ///< layer norm
};

template <>
struct NamesOf<QKNorm> {
    static constexpr EnumNames<QKNorm, 3> list{
        {{QKNorm::none, "none"}, {QKNorm::rms, "rms"}, {QKNorm::layer, "layer"}}};
};

/// Normalises each vector of x [..., D], with one weight (and bias) for all heads. Sources: Henry
/// et al. 2020, "Query-Key Normalization for Transformers"; layer norm: Dehghani et al. 2023,
/// "Scaling Vision Transformers to 22 Billion Parameters"; RMS norm: Qwen 3, Gemma 3.
class HeadNorm : public Module {
public:
    Tensor weight;  ///< [D], ones
    Tensor bias;    ///< [D], zeros; undefined for RMS norm, or without bias

    /// `kind` is rms or layer (ops/norm.h).
    HeadNorm(QKNorm kind, std::int64_t width, double eps, bool with_bias);
    Tensor operator()(const Tensor& x) const;  ///< x [..., D] -> [..., D]
    std::string settings() const override;

private:
    QKNorm kind_;
    double eps_;
};

/// The configuration of a MultiHeadAttention.
struct MultiHeadAttentionConfig {
    std::int64_t dim = 0;        ///< C, the width of the model
    std::int64_t heads = 1;      ///< H, of the queries; divides dim unless head_dim is given
    std::int64_t kv_heads = 0;   ///< of keys and values, each used by heads / kv_heads; 0: heads
    std::int64_t head_dim = 0;   ///< D, width of a head; dim / heads if 0
    std::int64_t key_dim = 0;    ///< size of the vectors that keys are computed from; dim if 0
    std::int64_t value_dim = 0;  ///< the same for values
    bool causal = false;         ///< position t attends to positions 0 .. t
    double dropout = 0;          ///< on the attention weights, in training
    double head_dropout = 0;     ///< on whole heads of a sequence, in training
    bool bias = true;            ///< whether the linear layers have biases
    std::optional<bool> output_bias = {};  ///< whether W_O has one, if different
    std::optional<double> scale = {};      ///< of the scores; 1 / sqrt(D) if not given
    /// Position t attends to the last `window` positions up to t only; to all if 0.
    std::int64_t window = 0;
    /// Rotary, alibi and relative positions are applied here; the others were added before.
    Positions positions = Positions::none;
    RotaryConfig rotary = {};        ///< for rotary positions
    QKNorm qk_norm = QKNorm::none;   ///< normalisation of queries and keys, before rotation
    double norm_eps = 1e-5;          ///< epsilon of that normalisation
    AttentionFormFactory form = {};  ///< softmax if empty
};

/// What one call computed, for inspection. Constants.
struct AttentionRecord {
    Tensor weights;  ///< [B, H, T, S], before dropout; undefined if the form has none
    Tensor heads;    ///< [B, H, T, D]: each head's output, before they are mixed
};

/// Inputs of attention other than the queries' x.
struct AttentionInputs {
    Tensor keys = {};    ///< [B, S, key_dim], what to attend to; x itself if undefined
    Tensor values = {};  ///< [B, S, value_dim]; the keys if undefined
    Tensor mask = {};    ///< as in AttentionOptions; broadcasts to [B, H, T, S]
    /// Self-attention appends x's keys and values to it and attends to all that it holds.
    /// Cross-attention (with `keys`) fills an empty cache and afterwards reads it instead of them.
    KeyValueCache* cache = nullptr;
    AttentionRecord* record = nullptr;  ///< filled if not null; the result is the same
};

/// x [B, T, C] -> [B, T, C], attending to itself or to other vectors:
///     head_i = softmax(Q_i K_i^T / sqrt(D)) V_i,  y = [head_1 ... head_H] W_O,
///     D = C / heads unless head_dim is given,  Q = x W_Q,  K = keys W_K,  V = values W_V.
/// Head dropout zeroes a head of a sequence with probability p and scales the others by 1 / (1 -
/// p). With kv_heads = G < H, K and V have G heads, and head i uses their head i G / H
/// (ops/attention.h); a cache holds these G.
/// Sources: Vaswani et al. 2017, section 3.2; head dropout: Zhou et al. 2020, "Scheduled DropHead".
class MultiHeadAttention : public Module {
public:
    /// W_Q, W_K and W_V in one matrix, [3 C, C], or [(H + 2 G) D, C]: self-attention is one
    /// product. [2 C, C], without W_Q, if the form's queries are its keys. Three matrices instead,
    /// if keys or values are computed from vectors of another size.
    std::optional<Linear> qkv;
    std::optional<Linear> query,                ///< W_Q
        key,                                    ///< W_K
        value;                                  ///< W_V
    Linear output;                              ///< [C, H D]
    std::optional<HeadNorm> query_norm,         ///< [D]; with qk_norm
        key_norm;                               ///< [D]; with qk_norm
    std::optional<RelativeBias> relative_bias;  ///< [buckets, H]; with relative positions

    /// Throws ValueError when heads do not divide dim or kv_heads do not divide heads, for sizes
    /// that are not positive and invalid probabilities, and as RotaryPositions does; and for a form
    /// whose queries are its keys, if kv_heads, key_dim or value_dim differ from the queries'.
    explicit MultiHeadAttention(const MultiHeadAttentionConfig& config,
                                Generator& generator = default_generator());

    /// x [B, T, C] -> [B, T, C]. Throws ShapeError for inputs of other shapes, ValueError for keys
    /// that the positions, or the form, cannot take.
    Tensor operator()(const Tensor& x, const AttentionInputs& inputs = {}) const;

    /// As given; kv_heads, head_dim, key_dim and value_dim are never 0.
    const MultiHeadAttentionConfig& config() const { return config_; }
    std::string settings() const override;

private:
    struct Projected {
        Tensor q, k, v;  // [B, H, T, D], [B, G, S, D], [B, G, S, D]
    };
    Projected project(const Tensor& x, const AttentionInputs& inputs) const;
    Tensors project_packed(const Tensor& x, const AttentionInputs& inputs) const;
    Projected project_cached(const Tensor& x, const AttentionInputs& inputs) const;
    Tensor project_part(const Tensor& x, std::int64_t first, std::int64_t last) const;
    Tensor split_heads(const Tensor& x, const std::optional<HeadNorm>& norm = {}) const;
    Tensor mask_with_positions(const Tensor& mask, std::int64_t queries, std::int64_t keys,
                               DType dtype) const;
    Tensor attend(const Projected& p, const AttentionInputs& inputs) const;

    MultiHeadAttentionConfig config_;
    std::unique_ptr<AttentionForm> form_;
    std::optional<RotaryPositions> rotary_;
    std::optional<AlibiBias> alibi_;
    Dropout head_dropout_;
    Generator& generator_;
};

}  // namespace tapestry
