// What users hang on a gradient. Part of Tape; it stands here because one can understand the tape
// without it.
#include <tapestry/autograd/tape.h>

#include <utility>

namespace tapestry {

void Tape::add_hook(const Tensor& x, GradientHook hook) {
    const int slot = known_slot(x);
    require<AutogradError>(slot >= 0, "register_hook: this tape has not recorded the tensor {}",
                           x.shape());
    hooks_[slot].push_back(std::move(hook));
}

void register_hook(const Tensor& x, GradientHook hook) {
    if (x.requires_grad()) return x.leaf()->hooks.push_back(std::move(hook));
    require<AutogradError>(is_recording(), "register_hook: no tape records");
    Tape::current()->add_hook(x, std::move(hook));
}

Tensor Tape::hooked(int slot, Tensor grad) const {
    const auto apply = [&grad](const std::vector<GradientHook>& hooks) {
        for (const GradientHook& hook : hooks) {
            Tensor replaced = hook(grad);
            if (!replaced.defined()) continue;
            require<AutogradError>(
                replaced.shape() == grad.shape() && replaced.dtype() == grad.dtype(),
                "register_hook: the hook gave {} {} in place of a gradient {} {}", replaced.dtype(),
                replaced.shape(), grad.dtype(), grad.shape());
            grad = std::move(replaced);
        }
    };
    if (const auto& leaf = slots_[static_cast<std::size_t>(slot)].leaf) apply(leaf->hooks);
    if (const auto found = hooks_.find(slot); found != hooks_.end()) apply(found->second);
    return grad;
}

}  // namespace tapestry
