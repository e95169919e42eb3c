// One training step. There is only this one: train() takes it, and so does all code that measures,
// inspects or replays a step. Its phases, in order:
//
//     zero_grad    clears the last step's gradients
//     gradients    of the mean loss over a few batches or micro-batches (gradient_sum.h)
//     reduce       sums them over the processes that train the model; nothing for one process
//                  (data_parallel.h: between reduce and update grad() is then empty)
//     check        the global gradient norm; it and the loss must be finite
//     update       the optimiser's, with gradients clipped to the maximum norm
//
// Anything that changes the gradients comes before the check, which therefore sees what the
// optimiser gets. Read next: loop.h, which takes many steps.
#pragma once

#include <tapestry/core/planned_memory.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/data_parallel/step_traffic.h>
#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/nn/optim/optimizer.h>
#include <tapestry/nn/train/counted_loss.h>

#include <functional>
#include <memory>
#include <optional>

namespace tapestry {

class DataParallel;

/// Computes the loss of the next batch, or of its next micro-batch: a scalar, computed while a tape
/// records, with the number of its targets if that differs between them (counted_loss.h).
using BatchLoss = std::function<CountedLoss()>;

/// Adds the gradient of loss() / batches to the leaves, ignoring its count, and returns the loss.
/// `before_backward` and `after_backward` are called while the tape exists; they may be empty.
double add_gradients(const BatchLoss& loss, std::int64_t batches = 1,
                     const std::function<void()>& after_backward = {},
                     const std::function<void()>& before_backward = {});

/// The phases of a step, in order.
enum class StepPhase {
    zero_grad,  ///< clears the last step's gradients
    backward,   ///< of one (micro-)batch, while its tape exists
    gradients,  ///< of all (micro-)batches of this process
    reduce,     ///< their sum over the processes
    check,      ///< norm, and whether it and the loss are finite
    update      ///< the optimiser's
};

/// How to take a step.
struct TrainStepOptions {
    std::int64_t accumulate = 1;  ///< batches whose gradients are averaged, weighted by count
    /// Equal parts into which each batch is split; loss() is called once for each.
    std::int64_t micro_batches = 1;
    double clip = 1;  ///< largest global norm of the gradient; 0 for none
    /// The processes that share each step's micro-batches, with the same result as one process.
    /// Must outlive the step. Null or of size 1: a single process.
    Communicator* communicator = nullptr;
    /// Called at the end of every phase. May be empty.
    std::function<void(StepPhase)> ended = {};
    /// Identical steps reuse one planned block of memory (planned_memory.h).
    bool plan = planning_enabled();
};

/// The result of a step, known before its update.
struct StepResult {
    double loss = 0;       ///< mean over the batches and micro-batches, weighted by count
    double grad_norm = 0;  ///< before clipping
};

/// Takes training steps, one at a time. See above for its phases.
class TrainStep {
public:
    /// The optimiser must outlive the step. Throws ValueError for options out of range, and as
    /// DataParallel does.
    explicit TrainStep(Optimizer& optimizer, TrainStepOptions options = {});
    ~TrainStep();
    TrainStep(const TrainStep&) = delete;
    TrainStep& operator=(const TrainStep&) = delete;

    /// Takes a step, all phases. `number`, counted from 1, is for error messages. Throws
    /// DivergedError when the loss or its gradient is not finite; the parameters are then
    /// unchanged. Throws AutogradError while another thread takes a step of the same parameters.
    StepResult take(std::int64_t number, double lr, const BatchLoss& loss);

    /// Which of the step's accumulate * micro_batches losses this process computes, in order.
    Range share() const;
    /// Totals so far; empty for a single process.
    StepTraffic traffic() const;
    /// Null without planning.
    const PlannedMemory* planned_memory() const { return memory_.get(); }
    /// Null for a single process.
    DataParallel* data_parallel() { return parallel_.get(); }

    // The phases, to run them separately.
    void zero_grad();                         ///< clears the last step's gradients
    double gradients(const BatchLoss& loss);  ///< mean loss, or this process's share of it
    /// Sums gradients and `loss` over the processes.
    void reduce(double& loss);
    double norm() const;                             ///< of all gradients, in f64
    std::string advice(std::int64_t number) const;   ///< for a step that is not finite
    double check(std::int64_t number, double loss);  ///< norm(), or throws DivergedError
    void update(double lr, double grad_norm);  ///< the optimiser's step, with gradients clipped

private:
    void end(StepPhase phase) const {
        if (options_.ended) options_.ended(phase);
    }

    std::int64_t leaves() const { return options_.accumulate * options_.micro_batches; }

    Optimizer& optimizer_;
    TrainStepOptions options_;
    Tensors parameters_;
    std::unique_ptr<PlannedMemory> memory_;
    std::unique_ptr<DataParallel> parallel_;
    std::optional<GradientSum> sum_;  // of this process's leaves, until reduce()
    double factor_ = 1;               // LeafWeights::factor()
};

}  // namespace tapestry
