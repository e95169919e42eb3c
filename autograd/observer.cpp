#include <tapestry/autograd/observer.h>

#include <tapestry/core/thread_exit.h>

#include <algorithm>

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

// By index: an observer that runs ops of its own may make further observers.
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

}  // namespace tapestry
