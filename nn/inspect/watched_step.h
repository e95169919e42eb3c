// One training step of a trained model, watched by an Inspector: what `tapestry inspect` and the
// tasks with --page show. Read next: inspector.h.
#pragma once

#include <tapestry/nn/inspect/inspector.h>

#include <functional>
#include <optional>

namespace tapestry {

class WatchedStep {
public:
    /// Takes the step on what `loss` computes, in evaluation mode, so that nothing is dropped; the
    /// weights stay as they are. Another step before it goes unwatched: memory and caches are then
    /// as in any later one.
    /// `products` is what most of them are of: shares are told of its peak.
    WatchedStep(Module& model, const std::function<Tensor()>& loss, DType products = DType::f32);

    const Inspector& inspector() const { return *inspector_; }
    double loss() const { return loss_; }
    /// Of all attentions together.
    std::int64_t heads() const;

private:
    std::optional<Inspector> inspector_;
    double loss_ = 0;
};

}  // namespace tapestry
