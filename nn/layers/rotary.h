// Rotary positions for one attention: which numbers of a head turn, how fast, and the table of
// their angles, which is made once (GrownTable). Read next: ops/rotary.h, the op;
// nn/attention/multi_head_attention.h, who calls it.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/ops/rotary.h>

#include <functional>
#include <mutex>

namespace tapestry {

/// Constants of a module that grow with the sequence: made for the longest so far, and twice as
/// long when a longer one comes. Any number of threads may ask for it at once.
class GrownTable {
public:
    /// Tables for `length` positions.
    using Make = std::function<Tensors(std::int64_t length, DType dtype)>;
    explicit GrownTable(Make make) : make_(std::move(make)) {}

    /// Those for `length` positions, or for more.
    Tensors at_least(std::int64_t length, DType dtype) const;

private:
    Make make_;
    mutable std::mutex mutex_;
    mutable std::int64_t length_ = 0;
    mutable Tensors tables_;
};

template <>
struct NamesOf<RotaryPairs> {
    static constexpr EnumNames<RotaryPairs, 2> list{
        {{RotaryPairs::interleaved, "interleaved"}, {RotaryPairs::halves, "halves"}}};
};

struct RotaryConfig {
    double base = 10000;  ///< pair i of R numbers turns by base^(-2 i / R) per position
    double share = 1;     ///< of a head's numbers that turn, the first ones; the others stay
    RotaryPairs pairs = RotaryPairs::interleaved;
};

/// x [..., T, D], D even, whose rows stand at positions first .. first + T - 1, with the pair
/// (x_2i, x_2i+1) of position pos turned by the angle pos / base^(2 i / D): the product of a query
/// and a key then depends on their distance alone. The table is made for this call. Throws
/// ShapeError for odd D or rank < 2, ValueError for a base that is not positive and finite or a
/// negative first. Source: Su et al. 2021, "RoFormer", equation 34.
Tensor rotary(const Tensor& x, std::int64_t first = 0, double base = 10000);

/// The same for a module that is called again and again. x [..., T, D] whose rows stand at
/// positions first .. first + T - 1, turned: pair i of the first R = share D numbers, rounded down,
/// by the angle position / base^(2 i / R). cos and sin are kept for the longest sequence so far.
/// Sources: Su et al. 2021, "RoFormer"; a share of the numbers: Black et al. 2022, "GPT-NeoX-20B".
class RotaryPositions {
public:
    /// For vectors of `width` numbers. Throws ValueError for a base that is not positive and
    /// finite, a share outside (0, 1], or one that leaves no even number of numbers.
    explicit RotaryPositions(std::int64_t width, const RotaryConfig& config = {});

    /// Throws ValueError for a negative first, and as ops/rotary.h does.
    Tensor operator()(const Tensor& x, std::int64_t first = 0) const;

    std::int64_t turned() const { return turned_; }  ///< R

private:
    std::int64_t turned_;
    RotaryPairs pairs_;
    GrownTable tables_;  // cos and sin [N, R / 2]
};

}  // namespace tapestry
