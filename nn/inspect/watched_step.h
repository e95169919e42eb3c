// One training step of a trained model, watched by an Inspector: what `tapestry inspect` shows, and
// the tasks with --page.
#pragma once

#include <tapestry/nn/pages/page.h>
#include <tapestry/ops/ceiling.h>

#include <functional>
#include <optional>

namespace tapestry::examples {

class WatchedStep {
public:
    /// Takes the step on what `loss` computes, in evaluation mode, so that nothing is dropped; the
    /// weights stay as they are. Another step before it goes unwatched: memory and caches are then
    /// as in any later one.
    WatchedStep(Module& model, const std::function<Tensor()>& loss) {
        model.eval();
        const Ceiling ceiling = measure_ceiling();
        take(loss);
        model.zero_grad();
        inspector_.emplace(model, ceiling);
        loss_ = take(loss);
        inspector_->finish();
    }

    const Inspector& inspector() const { return *inspector_; }
    double loss() const { return loss_; }
    std::int64_t heads() const {
        std::int64_t heads = 0;
        for (const AttentionTrace& attention : inspector_->attention()) heads += attention.heads;
        return heads;
    }

private:
    static double take(const std::function<Tensor()>& loss) {
        Tape tape;
        const Tensor value = loss();
        tape.backward(value);
        return value.item();
    }

    std::optional<Inspector> inspector_;
    double loss_ = 0;
};

/// The tokens of an encoder-decoder whose parts are called so: what it reads, and what the decoder
/// looks at while it writes.
inline std::vector<PageText> texts_of_both(const std::vector<std::string>& read,
                                           const std::vector<std::string>& written) {
    return {{.module = "encoder", .queries = read},
            {.module = "decoder", .queries = written, .keys = read}};
}

}  // namespace tapestry::examples
