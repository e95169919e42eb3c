// Sequences of different lengths in one batch, all padded to the longest: how many steps of each
// are real. As a mask: length_mask in nn/attention/masks.h.
#pragma once

#include <tapestry/core/tensor.h>

#include <string_view>
#include <vector>

namespace tapestry {

/// The numbers of `lengths` after a check in the name of `owner`: i64 [batch] (DTypeError,
/// ShapeError), each from 1 to `steps` (ValueError, which tells the position and the value).
std::vector<std::int64_t> checked_lengths(std::string_view owner, const Tensor& lengths,
                                          std::int64_t batch, std::int64_t steps);

}  // namespace tapestry
