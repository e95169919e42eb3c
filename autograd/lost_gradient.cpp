// Gradients that get lost without an operation going wrong. Part of Tape; it stands here because
// one can understand the tape without it.
//
// A constant that depends on a leaf after all keeps a word of how it lost the tape, for the error
// of whoever asks for a gradient there; and a parameter that got a gradient, but that no optimiser
// holds, is told to those beside it that one does hold, for the next step to ask.
#include <tapestry/autograd/tape.h>

#include <limits>

namespace tapestry {
namespace {

// What stands in place of a tape's number in a constant that depends on a leaf all the same. It
// changes nothing but the words of an error.
constexpr std::uint64_t kUnrecorded = std::numeric_limits<std::uint64_t>::max();  // without a tape
constexpr std::uint64_t kFromConstant = kUnrecorded - 1;  // on a tape, from one that is lost to it

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
               "Tape before computing, and change a leaf in place, as in w.copy_(w - lr * g), for "
               "w = w - lr * g makes another tensor";
    }
    return "was recorded by another tape; only that one walks back from it, while it lives";
}

// Nothing can be said here yet: a state carried over, a copy of the weights averaged over steps and
// an example moved along its gradient are constants that are meant, and are computed in the same
// way as a weight that was replaced by mistake. Only asking for a gradient tells them apart.
void Tape::note_loss(const TensorRefs& inputs, Tensor& y) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& x = inputs[i];
        if (!x.requires_grad() && x.tape_ref().tape == 0) continue;
        y.set_tape_ref({is_recording() ? kFromConstant : kUnrecorded, -1});
        return;
    }
}

// Those that stand in an optimiser remember one that stands in none, for its next step to ask.
void Tape::tell_trained(const std::shared_ptr<const Leaf>& untrained) {
    for (const Slot& slot : slots_) {
        if (slot.leaf && slot.leaf->optimizers > 0) slot.leaf->untrained = untrained;
    }
}

}  // namespace tapestry
