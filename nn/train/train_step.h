// One training step. There is no other: train() takes it, and so does whoever measures a step,
// looks into one, or takes one again. Its phases, in this order:
//
//     zero_grad    the last step's gradients are forgotten
//     gradients    of the mean loss over a few batches, or parts of batches (gradient_sum.h)
//     reduce       with those of other processes that train the same model; nothing for one
//                  (data_parallel.h: between reduce and update grad() is then empty)
//     check        the norm of all gradients together; it and the loss are finite
//     update       the optimiser's, with gradients clipped to the largest norm
//
// Whatever changes the gradients comes before the check, so that what is clipped or refused is what
// the optimiser gets. Read next: loop.h, which takes many steps.
#pragma once

#include <tapestry/core/planned_memory.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/data_parallel/step_traffic.h>
#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/optim/optimizer.h>

#include <functional>
#include <memory>
#include <optional>

namespace tapestry {

class DataParallel;

/// The loss or its gradient became infinite or NaN.
class DivergedError : public Error {
public:
    using Error::Error;
};

/// The loss of the next batch, or of its next part where batches are cut into micro-batches: a
/// scalar, computed while a tape records.
using BatchLoss = std::function<Tensor()>;

/// Adds the gradient of loss() / batches to the leaves, and returns the loss. `before_backward` and
/// `after_backward` are called while the tape is there; they may be empty.
double add_gradients(const BatchLoss& loss, std::int64_t batches = 1,
                     const std::function<void()>& after_backward = {},
                     const std::function<void()>& before_backward = {});

enum class StepPhase {
    zero_grad,
    backward,  ///< of one (micro-)batch, whose tape is still there
    gradients,
    reduce,
    check,
    update
};

struct TrainStepOptions {
    std::int64_t accumulate = 1;  ///< batches whose gradients are averaged
    /// Parts of equal size that each batch is cut into: loss() is called once for each part.
    std::int64_t micro_batches = 1;
    double clip = 1;  ///< largest global norm of the gradient; 0 for none
    /// Makes the loss and the parameters' gradients those of all processes. Empty: there is one.
    std::function<void(double& loss, const Tensors& parameters)> reduce = {};
    /// The processes that share each step's micro-batches: the result is that of one. It outlives
    /// the step. Null or of one process: there is one.
    Communicator* communicator = nullptr;
    /// Told of every phase that has ended. May be empty.
    std::function<void(StepPhase)> ended = {};
    /// Steps that are alike have their tensors in one planned piece of memory (planned_memory.h).
    bool plan = planning_enabled();
};

/// What a step found out before its update.
struct StepResult {
    double loss = 0;       ///< mean over the batches, and their parts
    double grad_norm = 0;  ///< before clipping
};

class TrainStep {
public:
    /// The optimiser must outlive the step. Throws ValueError for options out of range, and as
    /// DataParallel does.
    explicit TrainStep(Optimizer& optimizer, TrainStepOptions options = {});
    ~TrainStep();
    TrainStep(const TrainStep&) = delete;
    TrainStep& operator=(const TrainStep&) = delete;

    /// All phases. `number`, of which 1 is the first, is what an error calls the step. Throws
    /// DivergedError when the loss or its gradient is not finite; the parameters are then as
    /// before.
    StepResult take(std::int64_t number, double lr, const BatchLoss& loss);

    /// Of the step's accumulate * micro_batches losses those that are asked for here, in order: all
    /// of them, or this process's share.
    Range share() const;
    /// Of all steps so far; of one process, nothing.
    StepTraffic traffic() const;
    /// Null without a plan.
    const PlannedMemory* planned_memory() const { return memory_.get(); }
    /// Null for one process.
    DataParallel* data_parallel() { return parallel_.get(); }

    // The phases, for those who need them apart.
    void zero_grad();
    double gradients(const BatchLoss& loss);  ///< the mean loss, of several processes' own share
    void reduce(double& loss);
    double norm() const;                             ///< of all gradients, in f64
    double check(std::int64_t number, double loss);  ///< norm(), or DivergedError
    void update(double lr, double grad_norm);

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
    std::optional<GradientSum> sum_;  // of this process's leaves, until it is reduced
};

}  // namespace tapestry
