// RecomputedOutput: recomputes an output instead of keeping it.
//
// gelu, the norms and products of elements only read what the tape keeps anyway, and computing a
// large output again takes less time than fetching it from memory. So ops that save such an output
// save how to compute it, and get the same bits when they request it; an input of this that is
// itself not kept is computed first, if that reads what is kept: longer chains, whose links would
// all be computed again, end there. Small outputs, which a cache still holds, are kept. A view
// costs nothing: it is computed again if what it shows is.
// Internal to autograd.
#pragma once

#include <tapestry/autograd/op.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tapestry {

class RecomputedOutput {
public:
    using Recomputed = std::shared_ptr<const RecomputedOutput>;

    /// Recomputes the only output of `op`, which is on a tape as `place`. Inputs that are undefined
    /// here are those of `recomputed`, null for the others.
    /// `is_view`: the output shows its input's elements.
    RecomputedOutput(std::shared_ptr<const Op> op, Tensors inputs,
                     std::vector<Recomputed> recomputed, const TapeRef& place, bool is_view);

    /// The output. Throws AutogradError if an input has been changed in place since.
    Tensor compute() const;

    /// Whether an input is not kept; for a view, an input of what it shows.
    bool recomputes_inputs() const;

    /// The size in bytes from which the output of a cheap op is not kept; halves count as f32.
    static constexpr std::size_t kLarge = std::size_t{2} << 20;

private:
    std::shared_ptr<const Op> op_;
    Tensors inputs_;
    std::vector<Recomputed> recomputed_;
    std::vector<std::uint64_t> versions_;
    TapeRef place_;
    bool is_view_;
};

}  // namespace tapestry
