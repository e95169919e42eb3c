#include <tapestry/nn/inspect/watched_step.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/machine_peak.h>

namespace tapestry {
namespace {

double take(const std::function<Tensor()>& loss) {
    Tape tape;
    const Tensor value = loss();
    tape.backward(value);
    return value.item();
}

}  // namespace

WatchedStep::WatchedStep(Module& model, const std::function<Tensor()>& loss, DType products) {
    model.eval();
    const MachinePeak peak = measure_peak(products);
    take(loss);
    model.zero_grad();
    inspector_.emplace(model, peak);
    loss_ = take(loss);
    inspector_->finish();
}

std::int64_t WatchedStep::heads() const {
    std::int64_t heads = 0;
    for (const AttentionTrace& attention : inspector_->attention()) heads += attention.heads;
    return heads;
}

}  // namespace tapestry
