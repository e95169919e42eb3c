// Gradients lost without any operation failing. Part of Tape, in a separate file because the tape
// can be understood without it.
//
// A constant that does depend on a leaf holds a mark of how it lost the tape; the error message
// uses it if its gradient is requested. And a parameter that got a gradient but is in no optimiser
// is noted in the leaves of the same walk that are in one, where the optimiser's next step finds
// it.
#include <tapestry/autograd/tape.h>

#include <limits>

namespace tapestry {
namespace {

// Takes the place of a tape's number in a constant that does depend on a leaf. Only affects the
// words of an error.
constexpr std::uint64_t kUnrecorded = std::numeric_limits<std::uint64_t>::max();  // without a tape
constexpr std::uint64_t kFromConstant = kUnrecorded - 1;  // on a tape, from such a constant

}  // namespace

std::string Tape::why_constant(const Tensor& x) {
    const std::uint64_t tape = x.tape_ref().tape;
    if (tape == 0) {
        return "depends on nothing that requires a gradient; ask for one with set_requires_grad() "
               "before computing";
    }
    if (tape == kUnrecorded) {
        return "was computed while no tape was recording; make the Tape before computing";
    }
    if (tape == kFromConstant) {
        return "depends on a leaf only through a tensor that this tape did not record; make the "
               "Tape before computing, and change a leaf in place, as in w.copy_(w - lr * g), "
               "because w = w - lr * g makes another tensor";
    }
    return "was recorded by another tape; only that tape can run backward from it, while it exists";
}

// This is not yet an error: a state carried over, a copy of the weights averaged over steps and an
// example moved along its gradient are intended constants, computed in the same way as a weight
// that was replaced by mistake. Only a request for a gradient tells them apart.
void Tape::note_loss(const TensorRefs& inputs, Tensor& y) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& x = inputs[i];
        if (!x.requires_grad() && x.tape_ref().tape == 0) continue;
        y.set_tape_ref({is_recording() ? kFromConstant : kUnrecorded, -1});
        return;
    }
}

// The leaves in an optimiser remember one that is in none, for the optimiser's next step to check.
void Tape::tell_trained(const std::shared_ptr<const Leaf>& untrained) {
    for (const Slot& slot : slots_) {
        if (slot.leaf && slot.leaf->optimizers > 0) slot.leaf->untrained = untrained;
    }
}

}  // namespace tapestry
