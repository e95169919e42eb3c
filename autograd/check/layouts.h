// The layouts in which an op may be given a tensor: after a transpose, a slice or an expand,
// strides and offset differ from those of new memory, and the numbers are the same. Internal to
// autograd/check. Read next: conventions.cpp, which calls rules with them.
#pragma once

#include <tapestry/core/tensor.h>

#include <array>
#include <optional>
#include <string_view>

namespace tapestry::checker {

/// How the numbers of a tensor lie in memory.
enum class Layout {
    transposed,  ///< the first axis is the innermost one in memory
    offset,      ///< contiguous, but not at the beginning of its storage
    spaced,      ///< with gaps between the numbers, and an offset
    expanded,    ///< a stride of 0 along the first axis longer than 1
};

/// All of them.
inline constexpr std::array kLayouts{Layout::transposed, Layout::offset, Layout::spaced,
                                     Layout::expanded};

/// "a transposed view", "an expanded view (stride 0)", ...
std::string_view to_string(Layout layout);

/// Whether a tensor keeps its numbers in this layout.
inline bool keeps_numbers(Layout layout) { return layout != Layout::expanded; }

/// A view of new memory, NaN between its elements, with the numbers of x; an expanded one repeats
/// those of the first index. nullopt if no tensor of this shape or dtype has the layout: only f64
/// does.
std::optional<Tensor> laid_out(const Tensor& x, Layout layout);

}  // namespace tapestry::checker
