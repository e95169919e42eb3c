#include <tapestry/nn/layers/running_statistics.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/arithmetic.h>

#include <utility>

namespace tapestry {
namespace {

thread_local NotedMoves* innermost = nullptr;

// to = (1 - share) to + share from, in place, so all holders of the buffer see it.
void move_towards(Tensor to, const Tensor& from, double share) {
    to.copy_(add(mul(to, 1 - share), mul(from, share)));
}

}  // namespace

void StatisticsMove::make() const {
    const NoGradGuard constants;
    move_towards(running_mean, mean, momentum);
    move_towards(running_var, var, momentum);
    Tensor batches = count;
    batches.fill_(static_cast<double>(batches.item<std::int64_t>() + 1));
}

void move_running_statistics(StatisticsMove move) {
    if (innermost == nullptr) return move.make();
    innermost->moves_.push_back(std::move(move));
}

NotedMoves::NotedMoves() : outer_(std::exchange(innermost, this)) {}
NotedMoves::~NotedMoves() { innermost = outer_; }

std::vector<StatisticsMove> NotedMoves::take() { return std::exchange(moves_, {}); }

}  // namespace tapestry
