// In which order to contract more than two tensors: (A B) v or A (B v)? The numbers of
// multiplications differ by orders of magnitude. Internal to ops.
#pragma once

#include <tapestry/ops/contraction.h>

#include <array>
#include <utility>
#include <vector>

namespace tapestry {

/// Of every label; as double, for products of them leave 64 bits.
using LabelSizes = std::array<double, 64>;

/// How many numbers a tensor with these labels has.
double volume(LabelSet labels, const LabelSizes& sizes);

/// Tensors up to which all orders are looked at: 3^8 / 2 pairs of subsets, some 20 microseconds.
inline constexpr std::size_t kExactOrder = 8;

/// The pairs to contract, one after the other: tensors are numbered in the order given, and each
/// result has the next number. `output`: the labels that the last one keeps. The sum over pairs of
/// the volume of their labels, which is the number of multiplications, is the smallest there is up
/// to kExactOrder tensors. Beyond, each step takes the pair whose result is smallest against the
/// two together. One tensor needs no pairs.
std::vector<std::pair<std::size_t, std::size_t>> contraction_order(
    const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes);

}  // namespace tapestry
