// Sums of products, the axes named by letters: one notation for matrix products, batches of them,
// outer products, diagonals, traces and sums.
//
//     einsum("bij,bjk->bik", {a, b});             // a batch of matrix products
//     einsum("bqhd,bkhd->bhqk", {query, key});    // the scores of attention
//     einsum("...ii->...", {x});                  // traces
//
// Read next: einsum.cpp, contraction.h (two tensors become one, and which two).
#pragma once

#include <tapestry/core/tensor.h>

#include <string_view>

namespace tapestry {

/// y[output letters] = sum over all other letters of the product of the operands, each read at its
/// own letters. Source: Einstein 1916; the notation is NumPy's.
///
/// `equation` has a term per operand, a letter (a-z, A-Z) per axis, and after "->" the letters of
/// the result in their order; spaces do not count. A letter twice in a term reads the diagonal of
/// these axes. "..." in a term stands for the axes that no letter names; aligned at the last of
/// them they broadcast, and they are summed where the output has no "...". Without "->" the output
/// is "..." if a term has it, then the letters that occur once, A to Z before a to z. An axis of
/// size 1 broadcasts against the other sizes of its letter, as in PyTorch.
///
/// Two operands are one matmul() of permuted views; where no letter is summed, or no other is left,
/// a mul(). More are contracted two at a time: up to eight operands in the order with the fewest
/// multiplications (all orders are looked at), beyond that always the pair that makes the largest
/// tensors disappear.
///
/// floating numbers, all operands of one type (DTypeError). Gradient: that of the ops it is made
/// of. Throws ValueError for an equation that does not parse, with the position; ShapeError where
/// it has more or fewer terms or axes than the operands, where the sizes of a letter disagree, and
/// where a result would have more than eight axes.
Tensor einsum(std::string_view equation, const Tensors& operands);

}  // namespace tapestry
