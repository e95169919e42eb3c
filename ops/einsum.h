// Sums of products over axes named by letters: one notation for matrix products, batches of them,
// outer products, diagonals, traces and sums.
//
//     einsum("bij,bjk->bik", {a, b});             // a batch of matrix products
//     einsum("bqhd,bkhd->bhqk", {query, key});    // the scores of attention
//     einsum("...ii->...", {x});                  // traces
//
// Read next: einsum.cpp, contraction.h (contracting two tensors, and in which order).
#pragma once

#include <tapestry/core/tensor.h>

#include <string_view>

namespace tapestry {

/// y[output letters] = sum over all other letters of the product of the operands, each indexed by
/// its own letters. Source: Einstein 1916; the notation is NumPy's.
///
/// `equation` has one term per operand with one letter (a-z, A-Z) per axis, and after "->" the
/// letters of the result in order; spaces are ignored. A letter that occurs twice in a term takes
/// the diagonal of these axes. "..." in a term covers the axes without a letter; they broadcast,
/// aligned at the last, and are summed if the output has no "...". Without "->" the output is "..."
/// if a term has it, then the letters that occur once, A to Z before a to z. An axis of size 1
/// broadcasts against the other sizes of its letter, as in PyTorch.
///
/// Two operands are one matmul() of permuted views, a mul() if no letter is summed, or a mul() and
/// a sum() if all letters kept are shared. More are contracted two at a time: up to eight operands
/// in the order with the fewest multiplications (all orders are tried), beyond that greedily,
/// always the pair whose result is smallest relative to its operands.
///
/// All operands are floating-point and share a dtype (DTypeError). Gradient: by composition. Throws
/// ValueError, with the position, for an equation that does not parse; ShapeError if the terms or
/// their axes do not match the operands, if the sizes of a letter disagree, or if a result would
/// have more than eight axes.
Tensor einsum(std::string_view equation, const Tensors& operands);

}  // namespace tapestry
