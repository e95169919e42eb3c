#include <tapestry/autograd/tape.h>
#include <tapestry/nn/optim/clip.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/arithmetic.h>

#include <chrono>
#include <cmath>

namespace tapestry {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void check(const TrainOptions& options, const TrainCallbacks& callbacks) {
    require(options.steps >= 1, "train: {} steps; at least 1 is needed", options.steps);
    require(options.accumulate >= 1, "train: accumulate {}; at least 1 is needed",
            options.accumulate);
    require(options.clip >= 0, "train: clip {} is negative", options.clip);
    require(options.eval_every >= 0, "train: eval_every {} is negative", options.eval_every);
    require(callbacks.loss != nullptr && options.schedule != nullptr,
            "train: a loss and a schedule are needed");
}

// Adds the gradient of the mean loss over `batches` batches to the leaves; returns that mean.
double accumulate_gradients_of(const std::function<Tensor()>& loss_of_batch, std::int64_t batches) {
    double total = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
        Tape tape;
        Tensor loss = loss_of_batch();
        total += loss.item();
        if (batches > 1) loss = loss * (1.0 / static_cast<double>(batches));
        tape.backward(loss);
    }
    return total / static_cast<double>(batches);
}

std::int64_t take_steps(Optimizer& optimizer, const TrainOptions& options,
                        const TrainCallbacks& callbacks) {
    const auto start = Clock::now();
    const Tensors parameters = optimizer.parameters();
    for (std::int64_t step = 0; step < options.steps; ++step) {
        const auto step_start = Clock::now();
        StepMetrics metrics{.step = step + 1, .lr = options.schedule(step)};
        optimizer.zero_grad();
        metrics.loss = accumulate_gradients_of(callbacks.loss, options.accumulate);
        metrics.grad_norm = grad_norm(parameters);
        require<DivergedError>(std::isfinite(metrics.loss) && std::isfinite(metrics.grad_norm),
                               "train: step {}: the loss is {} and the gradient's norm {}; a lower "
                               "learning rate or stronger clipping may help",
                               step + 1, metrics.loss, std::abs(metrics.grad_norm));  // no "-nan"
        double before_update = 0;
        if (callbacks.before_update) {
            const auto callback_start = Clock::now();
            callbacks.before_update(step + 1);
            before_update = seconds_since(callback_start);
        }
        const bool clipped = options.clip > 0 && metrics.grad_norm > options.clip;
        optimizer.set_lr(metrics.lr);
        optimizer.step(clipped ? options.clip / metrics.grad_norm : 1);
        metrics.step_seconds = seconds_since(step_start) - before_update;

        if (options.evaluates_after(step + 1) && callbacks.evaluate) {
            metrics.val_loss = callbacks.evaluate();
        }
        metrics.seconds = seconds_since(start);
        if (callbacks.report && !callbacks.report(metrics)) return step + 1;
    }
    return options.steps;
}

}  // namespace

std::int64_t train(Optimizer& optimizer, const TrainOptions& options,
                   const TrainCallbacks& callbacks) {
    check(options, callbacks);
    return take_steps(optimizer, options, callbacks);
}

}  // namespace tapestry
