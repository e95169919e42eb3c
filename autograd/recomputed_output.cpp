#include <tapestry/autograd/recomputed_output.h>

#include <tapestry/autograd/tape.h>

#include <utility>

namespace tapestry {
namespace {

std::uint64_t version_of(const Tensor& x) { return x.defined() ? x.storage()->version() : 0; }

}  // namespace

RecomputedOutput::RecomputedOutput(std::shared_ptr<const Op> op, Tensors inputs,
                                   const TapeRef& place)
    : op_(std::move(op)), inputs_(std::move(inputs)), place_(place) {
    for (const Tensor& x : inputs_) versions_.push_back(version_of(x));
}

Tensor RecomputedOutput::compute() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        require<AutogradError>(version_of(inputs_[i]) == versions_[i],
                               "{}: its input {}, a tensor {}, has been changed in place since "
                               "(version {}, now {}), so its output cannot be computed again",
                               op_->described(), i, inputs_[i].shape(), versions_[i],
                               version_of(inputs_[i]));
    }
    const NoGradGuard no_grad;
    Tensor y = op_->forward(inputs_)[0];
    y.set_tape_ref(place_);
    return y;
}

// What `op` saved of cheap ops' outputs is not kept but computed again, and so will be its own
// output if it is cheap.
void Tape::note_recomputed(const std::shared_ptr<Op>& op, const TensorRefs& inputs,
                           const TensorRefs& outputs) {
    for (Op::Saved& saved : op->saved_) {
        const TapeRef& place = saved.tensor.tape_ref();
        if (!saved.tensor.defined() || place.tape != number_) continue;
        saved.recomputed = slots_[static_cast<std::size_t>(place.slot)].recomputed;
        if (saved.recomputed != nullptr) saved.tensor = Tensor();
    }
    const auto is_large = [](const Tensor& y) {  // of 16 bits, where an f32 would be
        return y.bytes() * (is_half(y.dtype()) ? 2 : 1) >= RecomputedOutput::kLarge;
    };
    if (outputs.size() != 1 || !is_large(outputs[0]) || !op->is_cheap()) return;
    const TapeRef& place = outputs[0].tape_ref();
    slots_[static_cast<std::size_t>(place.slot)].recomputed =
        std::make_shared<RecomputedOutput>(op, inputs.copied(), place);
}

}  // namespace tapestry
