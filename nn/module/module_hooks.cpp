// Forward hooks. The module has weak references: a hook is there as long as its owner wants it, and
// neither needs to know when the other ends.
#include <tapestry/nn/module/module.h>

namespace tapestry {

std::shared_ptr<const void> Module::register_forward_hook(ForwardHook hook) {
    require(hook != nullptr, "register_forward_hook: no function is given");
    std::erase_if(hooks_, [](const auto& one) { return one.expired(); });
    auto owned = std::make_shared<const ForwardHook>(std::move(hook));
    hooks_.push_back(owned);
    return owned;
}

Tensor Module::run_hooks(const Tensors& inputs, Tensor output) const {
    const auto hooks = hooks_;  // a hook may register another
    for (const auto& one : hooks) {
        const std::shared_ptr<const ForwardHook> hook = one.lock();
        if (!hook) continue;
        Tensor replaced = (*hook)(*this, inputs, output);
        if (replaced.defined()) output = std::move(replaced);
    }
    return output;
}

}  // namespace tapestry
