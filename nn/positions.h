// Where a token stands. Attention alone cannot tell: permute its inputs, and its outputs are
// permuted. Three ways to say it.
#pragma once

#include <tapestry/nn/config_fields.h>
#include <tapestry/nn/embedding.h>

namespace tapestry {

/// How a model learns where its tokens stand.
enum class Positions { learned, sinusoidal, rotary };

template <>
struct NamesOf<Positions> {
    static constexpr EnumNames<Positions, 3> list{{{Positions::learned, "learned"},
                                                   {Positions::sinusoidal, "sinusoidal"},
                                                   {Positions::rotary, "rotary"}}};
};

/// Rows first .. first + length - 1 of an endless table, [length, dim]:
///     P(pos, 2 i) = sin(pos / 10000^(2 i / dim)),  P(pos, 2 i + 1) = cos of the same,
/// waves of which each is longer than the one before; P(pos + k) is a rotation of P(pos). A
/// constant. Throws ValueError for a negative length or first, or dim < 1.
/// Source: Vaswani et al. 2017, section 3.5.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, std::int64_t first = 0,
                            DType dtype = DType::f32);

/// x [..., T, D] with the pair (x_2i, x_2i+1) of position pos turned by the angle
/// pos / base^(2 i / D): the product of a query and a key then depends on their distance alone.
/// The first row stands at position `first`. Throws ShapeError for odd D or rank < 2, ValueError
/// for a base that is not positive and finite or a negative first. Gradient: turned back by the
/// same angles. Source: Su et al. 2021, "RoFormer", equation 34.
Tensor rotary(const Tensor& x, std::int64_t first = 0, double base = 10000);

/// x [B, T, C] plus a vector per position: position t gets row first + t.
class PositionalEncoding : public Module {
public:
    Tensor weight;  // [count, dim] if learned, otherwise undefined

    /// `positions` learned (normal at the start) or sinusoidal, which has no parameters and no end;
    /// rotary positions are not added but belong to attention (ValueError).
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
