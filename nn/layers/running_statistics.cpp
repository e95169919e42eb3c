#include <tapestry/nn/layers/running_statistics.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/ops/arithmetic.h>

#include <utility>

namespace tapestry {
namespace {

thread_local DeferredUpdates* innermost = nullptr;

// to = (1 - share) to + share from, in place, so all holders of the buffer see it; a bf16 buffer is
// computed in f32, the type of its batch's statistics.
void move_towards(Tensor to, const Tensor& from, double share) {
    to.copy_(add(mul(cast(to, from.dtype()), 1 - share), mul(from, share)));
}

}  // namespace

void StatisticsUpdate::make() const {
    const NoGradGuard constants;
    move_towards(running_mean, mean, momentum);
    move_towards(running_var, var, momentum);
    Tensor batches = count;
    batches.fill_(static_cast<double>(batches.item<std::int64_t>() + 1));
}

void update_running_statistics(StatisticsUpdate move) {
    if (innermost == nullptr) return move.make();
    innermost->moves_.push_back(std::move(move));
}

DeferredUpdates::DeferredUpdates() : outer_(std::exchange(innermost, this)) {}
DeferredUpdates::~DeferredUpdates() { innermost = outer_; }

std::vector<StatisticsUpdate> DeferredUpdates::take() { return std::exchange(moves_, {}); }

}  // namespace tapestry
