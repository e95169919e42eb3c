// RecomputedOutput: recomputes an output instead of keeping it.
//
// gelu and the norms only read what the tape keeps anyway, and computing a large output again takes
// less time than fetching it from memory. So ops that save such an output save how to compute it,
// and get the same bits when they request it. Small outputs, which a cache still holds, are kept.
// Internal to autograd.
#pragma once

#include <tapestry/autograd/op.h>

namespace tapestry {

class RecomputedOutput {
public:
    /// Recomputes the only output of `op`, which is on a tape as `place`.
    RecomputedOutput(std::shared_ptr<const Op> op, Tensors inputs, const TapeRef& place);

    /// The output. Throws AutogradError if an input has been changed in place since.
    Tensor compute() const;

    /// The size in bytes from which the output of a cheap op is not kept; halves count as f32.
    static constexpr std::size_t kLarge = std::size_t{4} << 20;

private:
    std::shared_ptr<const Op> op_;
    Tensors inputs_;
    std::vector<std::uint64_t> versions_;
    TapeRef place_;
};

}  // namespace tapestry
