// From ids to vectors: a table looked up by number (Embedding), what is added to say where a token
// stands (PositionalEncoding), and what stood before it (TokenHistory). Read next:
// nn/layers/rotary.h, positions that turn the vectors inside attention; nn/models/gpt.h, which adds
// all of them.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>

#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

/// ids i64 [...] -> [..., dim]: row ids[i] of weight [count, dim], which is normal at the start.
class Embedding : public Module {
public:
    Tensor weight;  // [count, dim]

    /// Throws ValueError unless both sizes are positive.
    Embedding(std::int64_t count, std::int64_t dim, Generator& generator = default_generator());

    /// Throws IndexError for an id outside [0, count).
    Tensor operator()(const Tensor& ids) const;
    std::string settings() const override;
};

// ---- positions ----------------------------------------------------------------------------------

// Where a token stands. Attention alone cannot tell: permute its inputs, and its outputs are
// permuted. Several ways to say it; this is what is added to the vectors themselves.

/// How a model learns where its tokens stand.
enum class Positions {
    learned,     ///< a vector per position is added, PositionalEncoding
    sinusoidal,  ///< and a wave of it
    rotary,      ///< attention turns queries and keys (nn/layers/rotary.h)
    alibi,       ///< it adds a slope to its scores (nn/attention/position_bias.h)
    relative,    ///< or a learned number per head and distance
    none         ///< not at all: a causal model can still tell, by how much it sees
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

/// Are they added to the vectors before anything else, and no business of attention's?
constexpr bool are_added(Positions positions) {
    return positions == Positions::learned || positions == Positions::sinusoidal;
}

/// Rows first .. first + length - 1 of an endless table, [length, dim]:
///     P(pos, 2 i) = sin(pos / 10000^(2 i / dim)),  P(pos, 2 i + 1) = cos of the same,
/// waves of which each is longer than the one before; P(pos + k) is a rotation of P(pos). A
/// constant. Throws ValueError for a negative length or first, or dim < 1.
/// Source: Vaswani et al. 2017, section 3.5.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, std::int64_t first = 0,
                            DType dtype = DType::f32);

/// x [B, T, C] plus a vector per position: position t gets row first + t.
class PositionalEncoding : public Module {
public:
    Tensor weight;  // [count, dim] if learned, otherwise undefined

    /// `positions` learned (normal at the start) or sinusoidal, which has no parameters and no end;
    /// others are not added but belong to attention (ValueError).
    PositionalEncoding(Positions positions, std::int64_t count, std::int64_t dim,
                       Generator& generator = default_generator());

    /// Throws ShapeError for a sequence that is longer than the table of learned positions.
    Tensor operator()(const Tensor& x, std::int64_t first = 0) const;
    std::string settings() const override;

private:
    std::int64_t count_;
    std::int64_t dim_;
};

// ---- earlier tokens -----------------------------------------------------------------------------

// What stood before a token, told to the first layer: vectors of the tokens one, two, ... places
// before it, and of it and its predecessor as a pair, to be added to the token's own. A Transformer
// has to learn heads that look one place back before it knows what a table of pairs tells at once.

struct TokenHistoryConfig {
    std::int64_t vocab = 0;
    std::int64_t dim = 0;
    std::int64_t earlier = 0;  ///< places back, each with a table of its own
    std::int64_t pairs = 0;    ///< rows of the table of pairs; 0: none
};

/// ids i64 [B, T] -> [B, T, dim]:
///     y_t = sum_k earlier_k[ids_(t-k)] + pairs[(V ids_(t-1) + ids_t) mod rows],  k = 1 .. earlier,
/// where a place before the beginning has the id V. With (V + 1) V rows every pair has its own;
/// with fewer some share one. Tables are normal at the start, that of pairs zeros. Sources: Bengio
/// et al. 2003, "A Neural Probabilistic Language Model" (a table for each place); pairs by a hash:
/// Svenstrup et al. 2017, "Hash Embeddings for Efficient Word Representations".
class TokenHistory : public Module {
public:
    std::vector<std::unique_ptr<Embedding>> earlier;  // [V + 1, dim] each
    std::optional<Embedding> pairs;                   // [rows, dim]

    /// Throws ValueError for negative sizes, and unless there is something to tell.
    explicit TokenHistory(const TokenHistoryConfig& config,
                          Generator& generator = default_generator());

    /// `before`, i64 [B, n], stands before ids, the latest at its end; it may be undefined. Ids are
    /// in [0, V) (not checked where no table is read by them).
    Tensor operator()(const Tensor& ids, const Tensor& before = {}) const;

    /// Of `before` and ids what the next call may want to know: their last ids, i64 [B, n].
    Tensor latest(const Tensor& ids, const Tensor& before = {}) const;

    std::string settings() const override;

private:
    /// How many places it looks back.
    std::int64_t reach() const;
    Tensor joined(const Tensor& ids, const Tensor& before) const;

    TokenHistoryConfig config_;
};

}  // namespace tapestry
