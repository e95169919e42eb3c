// From ids to vectors: a lookup table (Embedding), position vectors to add (PositionalEncoding),
// and vectors for the preceding tokens (TokenHistory). Read next: nn/layers/rotary.h, positions as
// rotations inside attention; nn/models/gpt.h, which uses all of them.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>

#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

/// Options of Embedding.
struct EmbeddingOptions {
    /// The id of padding: its row is initially zero and gets no gradient.
    std::optional<std::int64_t> padding_idx = {};
};

/// ids i64 [...] -> [..., dim]: row ids[i] of weight [count, dim], initially normal.
class Embedding : public Module {
public:
    Tensor weight;  ///< [count, dim]

    /// Throws ValueError unless both sizes are positive.
    Embedding(std::int64_t count, std::int64_t dim, Generator& generator = default_generator());
    /// The same; and ValueError for a padding_idx outside [0, count).
    Embedding(std::int64_t count, std::int64_t dim, const EmbeddingOptions& options,
              Generator& generator = default_generator());

    /// Throws IndexError for an id outside [0, count).
    Tensor operator()(const Tensor& ids) const;
    std::string settings() const override;

private:
    EmbeddingOptions options_;
};

// ---- positions ----------------------------------------------------------------------------------

// A token's position. Attention by itself does not depend on it: permuting its inputs permutes its
// outputs. There are several ways to encode it; this one adds a vector to each token's.

/// How a model encodes the positions of its tokens.
enum class Positions {
    learned,     ///< adds a learned vector per position: PositionalEncoding
    sinusoidal,  ///< adds a fixed sinusoidal vector per position
    rotary,      ///< rotates queries and keys in attention (nn/layers/rotary.h)
    alibi,       ///< adds a slope to attention scores (nn/attention/position_bias.h)
    relative,    ///< adds a learned number per head and distance to them
    none         ///< none; a causal model can still infer them from how much it sees
};

template <>
struct NamesOf<Positions> {
    static constexpr EnumNames<Positions, 6> list{{{Positions::learned, "learned"},
                                                   {Positions::sinusoidal, "sinusoidal"},
                                                   {Positions::rotary, "rotary"},
                                                   {Positions::alibi, "alibi"},
                                                   {Positions::relative, "relative"},
                                                   {Positions::none, "none"}}};
};

/// Whether they are added to the embeddings, rather than handled inside attention.
constexpr bool are_added(Positions positions) {
    return positions == Positions::learned || positions == Positions::sinusoidal;
}

/// Rows first .. first + length - 1 of an unbounded table, [length, dim]:
///     P(pos, 2 i) = sin(pos / 10000^(2 i / dim)),  P(pos, 2 i + 1) = cos of the same,
/// with wavelengths that increase with i; P(pos + k) is a rotation of P(pos). A constant. Throws
/// ValueError for a negative length or first, or dim < 1.
/// Source: Vaswani et al. 2017, section 3.5.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, std::int64_t first = 0,
                            DType dtype = DType::f32);

/// x [B, T, C] plus a vector per position: position t gets row first + t.
class PositionalEncoding : public Module {
public:
    Tensor weight;  ///< [count, dim] if learned, otherwise undefined

    /// `positions` is learned (initially normal) or sinusoidal, which has no parameters and no
    /// maximum length; the others belong to attention (ValueError).
    PositionalEncoding(Positions positions, std::int64_t count, std::int64_t dim,
                       Generator& generator = default_generator());

    /// Throws ShapeError for a sequence longer than the table of learned positions.
    Tensor operator()(const Tensor& x, std::int64_t first = 0) const;
    std::string settings() const override;

private:
    std::int64_t count_;
    std::int64_t dim_;
};

// ---- earlier tokens -----------------------------------------------------------------------------

// Tells the first layer about the preceding tokens: adds to a token's vector those of the tokens
// one, two, ... places before it, and one for the pair of it and its predecessor. A Transformer
// would otherwise have to learn heads that look one place back before it knew what a table of pairs
// provides at once.

/// The configuration of a TokenHistory.
struct TokenHistoryConfig {
    std::int64_t vocab = 0;    ///< V, tokens in the vocabulary
    std::int64_t dim = 0;      ///< C, width of the vectors
    std::int64_t earlier = 0;  ///< places back, each with its own table
    std::int64_t pairs = 0;    ///< rows of the table of pairs; 0: none
};

/// ids i64 [B, T] -> [B, T, dim]:
///     y_t = sum_k earlier_k[ids_(t-k)] + pairs[(V ids_(t-1) + ids_t) mod rows],  k = 1 .. earlier,
/// where places before the beginning have the id V. With (V + 1) V rows every pair has its own;
/// with fewer, some share one. Tables are initially normal, that of pairs zero. Sources: Bengio et
/// al. 2003, "A Neural Probabilistic Language Model" (a table for each place); hashed pairs:
/// Svenstrup et al. 2017, "Hash Embeddings for Efficient Word Representations".
class TokenHistory : public Module {
public:
    /// [V + 1, dim] each; table k for k + 1 places back
    std::vector<Submodule<Embedding>> earlier;
    std::optional<Embedding> pairs;  ///< [rows, dim]

    /// Throws ValueError for negative sizes, and if both `earlier` and `pairs` are 0.
    explicit TokenHistory(const TokenHistoryConfig& config,
                          Generator& generator = default_generator());

    /// `before`, i64 [B, n], holds the ids that precede `ids`, the latest last; it may be
    /// undefined. Ids must be in [0, V) (not checked if no table is indexed by them).
    Tensor operator()(const Tensor& ids, const Tensor& before = {}) const;

    /// The trailing ids of `before` and `ids` that the next call needs, i64 [B, n].
    Tensor latest(const Tensor& ids, const Tensor& before = {}) const;

    std::string settings() const override;

private:
    /// Number of places that it looks back.
    std::int64_t reach() const;
    Tensor joined(const Tensor& ids, const Tensor& before) const;

    TokenHistoryConfig config_;
};

}  // namespace tapestry
