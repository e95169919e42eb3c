// Moves of running statistics: immediate, or deferred and in another order. When processes share a
// step's micro-batches, each must apply the moves of all leaves, from left to right: the step
// collects the moves of its own leaves (NotedMoves) and applies all of them after the exchange.
// Internal to nn. Read next: nn/data_parallel/sync_state.h, which does this.
#pragma once

#include <tapestry/core/tensor.h>

#include <string>
#include <vector>

namespace tapestry {

/// running = (1 - momentum) running + momentum batch, in place; also counts the batch.
struct StatisticsMove {
    std::string module;                       ///< its path
    Tensor running_mean, running_var, count;  ///< [C], [C] and i64: the module's buffers
    Tensor mean, var;                         ///< [C], of a batch; the variance is unbiased
    double momentum = 0;

    void make() const;
};

/// Applies the move, or adds it to this thread's NotedMoves.
void move_running_statistics(StatisticsMove move);

/// While in scope, defers the moves of this thread. If nested, the innermost records them.
class NotedMoves {
public:
    NotedMoves();
    ~NotedMoves();
    NotedMoves(const NotedMoves&) = delete;
    NotedMoves& operator=(const NotedMoves&) = delete;

    /// The moves in order; clears them here.
    std::vector<StatisticsMove> take();

private:
    friend void move_running_statistics(StatisticsMove move);
    std::vector<StatisticsMove> moves_;
    NotedMoves* outer_;
};

}  // namespace tapestry
