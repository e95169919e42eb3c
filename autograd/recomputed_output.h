// RecomputedOutput: how to compute an output again instead of keeping it.
//
// gelu and the norms read what the tape keeps anyway, and take less time than memory does to bring
// a large output back from where it went since. So those who save such an output save how it
// was computed, and what they get when they ask for it are the same bits. Small outputs, which a
// cache still holds, are kept. Internal to autograd.
#pragma once

#include <tapestry/autograd/op.h>

namespace tapestry {

class RecomputedOutput {
public:
    /// Of the one output of `op`, which stands on a tape as `place`.
    RecomputedOutput(std::shared_ptr<const Op> op, Tensors inputs, const TapeRef& place);

    /// The output. Throws AutogradError when an input has been changed in place since.
    Tensor compute() const;

    /// From so many bytes on an output of a cheap op is not kept.
    static constexpr std::size_t kLarge = std::size_t{4} << 20;

private:
    std::shared_ptr<const Op> op_;
    Tensors inputs_;
    std::vector<std::uint64_t> versions_;
    TapeRef place_;
};

}  // namespace tapestry
