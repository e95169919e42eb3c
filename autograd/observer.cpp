#include <tapestry/autograd/observer.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/thread_exit.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

std::vector<TapeObserver*>& observers() {
    static thread_local std::vector<TapeObserver*>* all = nullptr;
    return of_this_thread(all);
}

}  // namespace

TapeObserver::TapeObserver() { observers().push_back(this); }
TapeObserver::~TapeObserver() {
    auto& all = observers();
    all.erase(std::find(all.begin(), all.end(), this));
}

void TapeObserver::recorded(const Op&, const Tensors&, const Tensors&) {}
void TapeObserver::walking(const Op&) {}
void TapeObserver::walked(Op&, const Tensors&, Tensors&) {}
void TapeObserver::completed(Leaf&) {}

// Iterates by index because an observer that runs ops may create further observers.
void TapeObserver::tell_recorded(const Op& op, const TensorRefs& inputs,
                                 const TensorRefs& outputs) {
    if (observers().empty()) return;
    const Tensors in = inputs.copied(), out = outputs.copied();
    for (std::size_t i = 0; i < observers().size(); ++i) observers()[i]->recorded(op, in, out);
}

void TapeObserver::tell_walking(const Op& op) {
    for (std::size_t i = 0; i < observers().size(); ++i) observers()[i]->walking(op);
}

void TapeObserver::tell_walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    for (std::size_t i = 0; i < observers().size(); ++i) {
        observers()[i]->walked(op, incoming, outgoing);
    }
}

void TapeObserver::tell_completed(Leaf& leaf) {
    for (std::size_t i = 0; i < observers().size(); ++i) observers()[i]->completed(leaf);
}

// ---- hooks --------------------------------------------------------------------------------------
// User callbacks on gradients. Part of Tape, in a separate file because the tape can be understood
// without them.

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
    // A hook may register another one, for the next gradient.
    const auto apply = [&grad](const std::vector<GradientHook>& hooks) {
        for (std::size_t i = 0, count = hooks.size(); i < count; ++i) {
            const GradientHook hook = hooks[i];
            Tensor replaced = hook(grad);
            if (!replaced.defined()) continue;
            require<AutogradError>(
                replaced.shape() == grad.shape() && replaced.dtype() == grad.dtype(),
                "register_hook: the hook returned {} {} for a gradient {} {}", replaced.dtype(),
                replaced.shape(), grad.dtype(), grad.shape());
            grad = std::move(replaced);
        }
    };
    if (const auto& leaf = slots_[static_cast<std::size_t>(slot)].leaf) apply(leaf->hooks);
    if (const auto found = hooks_.find(slot); found != hooks_.end()) apply(found->second);
    return grad;
}

}  // namespace tapestry
