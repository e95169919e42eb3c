// Running statistics that move: at once, or later and in another's order. Where the micro-batches
// of a step are shared among processes, each has to see what all leaves would have moved, from left
// to right: whoever takes such a step notes the moves of its leaves (NotedMoves), and makes them
// once it has everybody's. Internal to nn. Read next: nn/data_parallel/sync_state.h, who does.
#pragma once

#include <tapestry/core/tensor.h>

#include <string>
#include <vector>

namespace tapestry {

/// running = (1 - momentum) running + momentum batch, in place, and one more batch is counted.
struct StatisticsMove {
    std::string module;                       ///< its path
    Tensor running_mean, running_var, count;  ///< [C], [C] and i64: the module's buffers
    Tensor mean, var;                         ///< [C], of a batch, the variance unbiased
    double momentum = 0;

    void make() const;
};

/// Makes it, or leaves it to this thread's NotedMoves.
void move_running_statistics(StatisticsMove move);

/// While one of these lives no running statistics move in this thread. Of several the innermost
/// notes.
class NotedMoves {
public:
    NotedMoves();
    ~NotedMoves();
    NotedMoves(const NotedMoves&) = delete;
    NotedMoves& operator=(const NotedMoves&) = delete;

    /// In the order in which they would have been made; forgotten here.
    std::vector<StatisticsMove> take();

private:
    friend void move_running_statistics(StatisticsMove move);
    std::vector<StatisticsMove> moves_;
    NotedMoves* outer_;
};

}  // namespace tapestry
