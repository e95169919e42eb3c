// One training step of several processes, with the bits of one.
//
// The n leaves of a step, its micro-batches, are shared out: process p computes a contiguous range
// of them, and sums the subtrees of GradientSum's tree that it has whole. The parameters are cut
// into P slices (flat_parameters.h), and what follows is done by a slice's owner:
//
//     reduce     everybody's subtrees come in, as far as they belong to the slice, and the tree is
//                finished: the same additions in the same grouping as in one process. This begins
//                while the last leaf is still on its way back (gradients_underway.h)
//     norm       a sum of squares of every 8192 numbers, known to all, added by all in one order
//     update     the optimiser's step on the slice (optimizer_slice.h), and the parameters go
//     round;
//                or, of optimisers that want whole matrices, the gradient goes round, and all take
//                the same step
//
// So nothing depends on P. Loss and norm are equal everywhere before anybody updates: a step that
// diverges does so everywhere. A process sends 2 (P - 1) / P times the bytes of the parameters
// where n and P are powers of two, and some more subtrees where they are not. Internal to nn.
// Read next: train_step.h, which calls these.
#pragma once

#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/data_parallel/gradients_underway.h>
#include <tapestry/nn/data_parallel/optimizer_slice.h>
#include <tapestry/nn/data_parallel/step_traffic.h>
#include <tapestry/nn/data_parallel/sync_state.h>
#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/optim/optimizer.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

class DataParallel {
public:
    /// Both outlive it. All processes have the same parameters and optimiser. Throws ValueError for
    /// more processes than leaves.
    DataParallel(Optimizer& optimizer, Communicator& communicator, std::int64_t leaves);
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    /// The leaves that this process computes.
    Range share() const;

    /// What the leaves of this process have moved, to be made in reduce().
    void hold(std::vector<LeafMoves> moves) { moves_ = std::move(moves); }

    /// What watches the backward pass of the last leaf of this process, which `sum` is about to be
    /// given: gradients set out as they are complete. `sum` outlives reduce().
    std::unique_ptr<TapeObserver> send_from(GradientSum& sum);

    /// Sums what all processes have, and moves running statistics as all leaves would; returns the
    /// losses' sum, of which `losses` are this process's subtrees'. grad() of the parameters is
    /// empty from then on. Throws ValueError for a parameter without a gradient: freeze it; and, in
    /// all processes, for leaves that move other statistics than the first.
    double reduce(const std::vector<double>& losses);

    /// Of the sum of all gradients.
    double norm() const { return norm_; }

    /// Whether a process has the moments of its slice only, as elementwise optimisers allow.
    bool keeps_slices() const;

    /// The optimiser's step, for all parameters, if it keeps slices. From the first on, its moments
    /// are here for this process's slice alone.
    void update(double lr, double grad_scale);

    /// Else: puts the whole gradient into grad() of every process's parameters, for an optimiser
    /// that asks for more than a number at a time and takes the same step everywhere.
    void share_gradients();

    /// Puts the whole gradient into grad() of process 0's parameters.
    void collect_gradients();

    /// Puts the whole state into process 0's optimiser, as one process would have it.
    void collect_state();

    const StepTraffic& traffic() const { return traffic_; }

    /// What the moments take here, if it keeps slices.
    std::size_t moment_bytes() const { return slice_ ? slice_->bytes() : 0; }

private:
    Tensors empty_gradients() const;
    void exchange_slices(const Tensor& mine, Tensors& into, std::string_view what);
    double agree(const std::vector<double>& own_losses);
    double norm_of(const std::vector<std::vector<double>>& all,
                   std::vector<std::size_t> next) const;
    void check_kinds(const std::vector<std::vector<double>>& all) const;

    Optimizer& optimizer_;
    Communicator& communicator_;
    std::int64_t leaves_;
    Tensors parameters_;
    FlatParameters flat_;
    std::vector<LeafMoves> moves_;  // of this process's leaves, until they are made
    std::optional<GradientsUnderway> underway_;
    StepTraffic traffic_;
    Tensor gradient_;  // [n], of this process's slice
    double norm_ = 0;
    std::optional<OptimizerSlice> slice_;  // from the first update on
};

}  // namespace tapestry
