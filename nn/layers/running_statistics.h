// Moves of running statistics: immediate, or deferred and in another order. When processes share a
// step's micro-batches, each must apply the moves of all leaves, from left to right: the step
// collects the moves of its own leaves (DeferredUpdates) and applies all of them after the
// exchange. Internal to nn. Read next: nn/data_parallel/sync_state.h, which does this.
#pragma once

#include <tapestry/core/tensor.h>

#include <string>
#include <vector>

namespace tapestry {

/// running = (1 - momentum) running + momentum batch, in place; also counts the batch.
struct StatisticsUpdate {
    std::string module;                       ///< its path
    Tensor running_mean, running_var, count;  ///< [C], [C] and i64: the module's buffers
    Tensor mean, var;                         ///< [C], of a batch; the variance is unbiased
    double momentum = 0;

    void make() const;
};

/// Applies the move, or adds it to this thread's DeferredUpdates.
void update_running_statistics(StatisticsUpdate move);

/// While in scope, defers the moves of this thread. If nested, the innermost records them.
class DeferredUpdates {
public:
    DeferredUpdates();
    ~DeferredUpdates();
    DeferredUpdates(const DeferredUpdates&) = delete;
    DeferredUpdates& operator=(const DeferredUpdates&) = delete;

    /// The moves in order; clears them here.
    std::vector<StatisticsUpdate> take();

private:
    friend void update_running_statistics(StatisticsUpdate move);
    std::vector<StatisticsUpdate> moves_;
    DeferredUpdates* outer_;
};

}  // namespace tapestry
