#include <tapestry/autograd/recipe.h>
#include <tapestry/autograd/tape.h>

#include <utility>

namespace tapestry {
namespace {

std::uint64_t version_of(const Tensor& x) { return x.defined() ? x.storage()->version() : 0; }

}  // namespace

Recipe::Recipe(std::shared_ptr<const Op> op, Tensors inputs, const TapeRef& place)
    : op_(std::move(op)), inputs_(std::move(inputs)), place_(place) {
    for (const Tensor& x : inputs_) versions_.push_back(version_of(x));
}

Tensor Recipe::make() const {
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

// What `op` saved of cheap ops' outputs becomes their recipes; its own output gets one if it is
// cheap.
void Tape::note_recipes(const std::shared_ptr<Op>& op, const Tensors& inputs,
                        const Tensors& outputs) {
    for (Op::Saved& saved : op->saved_) {
        const TapeRef& place = saved.tensor.tape_ref();
        if (!saved.tensor.defined() || place.tape != number_) continue;
        saved.recipe = slots_[static_cast<std::size_t>(place.slot)].recipe;
        if (saved.recipe != nullptr) saved.tensor = Tensor();
    }
    if (outputs.size() != 1 || outputs[0].bytes() < Recipe::kLarge || !op->is_cheap()) return;
    const TapeRef& place = outputs[0].tape_ref();
    slots_[static_cast<std::size_t>(place.slot)].recipe =
        std::make_shared<Recipe>(op, inputs, place);
}

}  // namespace tapestry
