// Rotary positions for attention: which elements of a head rotate, how fast, and the table of
// angles, which is cached (GrowingTable). Read next: ops/rotary.h, the op;
// nn/attention/multi_head_attention.h, which calls it.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/module/config_fields.h>
#include <tapestry/ops/rotary.h>

#include <functional>
#include <mutex>

namespace tapestry {

/// A cache of tables that depend on the sequence length: built for the longest so far, and rebuilt
/// for a longer one, at least twice as long, and for another dtype. Thread-safe.
class GrowingTable {
public:
    /// Tables for `length` positions.
    using Make = std::function<Tensors(std::int64_t length, DType dtype)>;
    /// `make` computes the tables; it may be called on any thread, one call at a time.
    explicit GrowingTable(Make make) : make_(std::move(make)) {}

    /// Tables for at least `length` positions.
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

/// The configuration of RotaryPositions.
struct RotaryConfig {
    double base = 10000;  ///< pair i of R elements turns by base^(-2 i / R) per position
    double share = 1;     ///< fraction of a head's elements that rotate, the first ones
    RotaryPairs pairs = RotaryPairs::interleaved;  ///< which elements form a pair
};

/// Rotates x [..., T, D], D even, whose rows are at positions first .. first + T - 1: the pair
/// (x_2i, x_2i+1) at position pos by the angle pos / base^(2 i / D). Then the product of a query
/// and a key depends only on their distance. Builds the table for this call. Throws ShapeError for
/// odd D or rank < 2, ValueError for a base that is not positive and finite or a negative first.
/// Source: Su et al. 2021, "RoFormer", equation 34.
Tensor rotary(const Tensor& x, std::int64_t first = 0, double base = 10000);

/// The same for a module that is called repeatedly. Rotates x [..., T, D], whose rows are at
/// positions first .. first + T - 1: pair i of the first R = share D elements, rounded down, by the
/// angle position / base^(2 i / R). Keeps cos and sin for the longest sequence so far. Sources: Su
/// et al. 2021, "RoFormer"; partial rotation: Black et al. 2022, "GPT-NeoX-20B".
class RotaryPositions {
public:
    /// For vectors of `width` elements. Throws ValueError for a base that is not positive and
    /// finite, a share outside (0, 1], or one that does not give an even number of elements.
    explicit RotaryPositions(std::int64_t width, const RotaryConfig& config = {});

    /// Throws ValueError for a negative first, and as ops/rotary.h does.
    Tensor operator()(const Tensor& x, std::int64_t first = 0) const;

    std::int64_t turned() const { return turned_; }  ///< R

private:
    std::int64_t turned_;
    RotaryPairs pairs_;
    GrowingTable tables_;  // cos and sin [N, R / 2]
};

}  // namespace tapestry
