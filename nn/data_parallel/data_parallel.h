// One training step over several processes, with the bits of a single one.
//
// The n leaves of a step, its micro-batches, are divided among P processes: process p computes a
// contiguous range of them and sums the subtrees of GradientSum's tree that lie within it. The
// parameters are cut into P slices (flat_parameters.h), and the owner of a slice does the
// following:
//
//     reduce     receives all processes' subtrees, restricted to its slice, and completes the
//                tree: the same additions in the same grouping as in one process. This begins
//                during the backward pass of the last leaf (gradient_exchange.h)
//     norm       a sum of squares for every 8192 numbers, sent to all, added by all in one order
//     update     the optimiser's step on the slice (optimizer_slice.h), then an all-gather of the
//                parameters; or, for optimisers that need whole matrices, an all-gather of the
//                gradient, after which all processes take the same step
//
// So no result depends on P. All processes know the same loss and norm before any of them updates,
// so a step that diverges does so everywhere. A process sends 2 (P - 1) / P times the bytes of the
// parameters if n and P are powers of two, and some additional subtrees otherwise. Internal to nn.
// Read next: train_step.h, which calls these.
#pragma once

#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/data_parallel/gradient_exchange.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
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
    /// Both arguments must outlive it. All processes have the same parameters and optimiser. Throws
    /// ValueError for more processes than leaves.
    DataParallel(Optimizer& optimizer, Communicator& communicator, std::int64_t leaves);
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    /// The leaves that this process computes.
    Range share() const;

    /// Stores the running-statistics moves of this process's leaves, to be applied in reduce().
    void hold(std::vector<LeafMoves> moves) { moves_ = std::move(moves); }

    /// Observer of the backward pass of this process's last leaf, which `sum` is about to receive:
    /// sends gradients as they become complete, and multiplies their sum by `scale`. `sum` must
    /// outlive reduce().
    std::unique_ptr<TapeObserver> send_from(GradientSum& sum, double scale = 1);

    /// Sums the gradients of all processes and applies the running-statistics moves of all leaves.
    /// `losses` are those of this process's subtrees; returns the sum of all losses. Afterwards
    /// grad() of the parameters is empty. Throws ValueError for a parameter without a gradient
    /// (freeze it) and, on all processes, for leaves that move other statistics than the first.
    double reduce(const std::vector<double>& losses);

    /// Norm of the sum of all gradients.
    double norm() const { return norm_; }

    /// Whether each process only holds the moments of its slice, as elementwise optimisers allow.
    bool keeps_slices() const;

    /// The optimiser's step, for all parameters, if it keeps slices. From the first one on, this
    /// process only has the moments of its slice.
    void update(double lr, double grad_scale);

    /// Otherwise: copies the whole gradient into grad() of the parameters on every process, for an
    /// optimiser that needs more than one element at a time and takes the same step everywhere.
    void share_gradients();

    /// Gathers the whole gradient into grad() of process 0's parameters.
    void collect_gradients();

    /// Gathers the whole state in process 0's optimiser, as a single process would have it.
    void collect_state();

    const StepTraffic& traffic() const { return traffic_; }

    /// Bytes of the moments on this process, if it keeps slices.
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
    std::vector<LeafMoves> moves_;  // of this process's leaves, until applied
    std::optional<GradientExchange> underway_;
    StepTraffic traffic_;
    Tensor gradient_;  // [n], of this process's slice
    double norm_ = 0;
    std::optional<OptimizerSlice> slice_;  // from the first update on
};

}  // namespace tapestry
