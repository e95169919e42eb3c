// Where a token stands. Attention alone cannot tell: permute its inputs, and its outputs are
// permuted. Several ways to say it; this is what is added to the vectors themselves.
// Read next: nn/layers/rotary.h, what turns them inside attention.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/module/config_fields.h>

namespace tapestry {

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

}  // namespace tapestry
