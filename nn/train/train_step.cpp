#include <tapestry/nn/train/train_step.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/at_fork.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/nn/data_parallel/data_parallel.h>
#include <tapestry/nn/data_parallel/leaf_weights.h>
#include <tapestry/nn/data_parallel/sync_state.h>
#include <tapestry/nn/optim/clip.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/optimizer_step.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace tapestry {

namespace {

// Refuses a step while another thread takes one that shares a parameter: each would change what the
// other reads.
class OneAtATime {
public:
    explicit OneAtATime(const Tensors& parameters) : parameters_(parameters) {
        const std::lock_guard lock(mutex());
        for (const Tensors* const others : active()) {
            require<AutogradError>(!share_leaf(*others, parameters),
                                   "train: another step of the same parameters has not ended; "
                                   "threads must train separate models, or take turns");
        }
        active().push_back(&parameters_);
    }
    ~OneAtATime() {
        const std::lock_guard lock(mutex());
        active().erase(std::find(active().begin(), active().end(), &parameters_));
    }
    OneAtATime(const OneAtATime&) = delete;
    OneAtATime& operator=(const OneAtATime&) = delete;

private:
    static bool share_leaf(const Tensors& a, const Tensors& b) {
        return std::any_of(a.begin(), a.end(), [&](const Tensor& x) {
            return std::any_of(b.begin(), b.end(), [&](const Tensor& y) {
                return x.leaf() != nullptr && x.leaf() == y.leaf();
            });
        });
    }
    static std::mutex& mutex() {
        static std::mutex& only = []() -> std::mutex& {
            auto* const made = new std::mutex;
            detail::hold_across_fork(*made);
            return *made;
        }();
        return only;
    }
    static std::vector<const Tensors*>& active() {
        static auto* const all = new std::vector<const Tensors*>;
        return *all;
    }

    const Tensors& parameters_;
};

// Adds the gradient of weight * loss() / batches, and returns weight * loss(). The weight is known
// when the loss is. A weight of 0 makes a mean over nothing, which is NaN, zero.
double add_weighted(const BatchLoss& loss_of_batch, std::int64_t batches,
                    const std::function<double(const CountedLoss&)>& weight_of,
                    const std::function<void()>& after_backward,
                    const std::function<void()>& before_backward) {
    Tape tape;
    CountedLoss loss = loss_of_batch();
    const double weight = weight_of(loss);
    const double value = weight == 0 ? 0 : weight * loss.mean.item();
    const double scale = weight / static_cast<double>(batches);
    if (scale != 1) loss.mean = loss.mean * scale;
    if (before_backward) before_backward();
    tape.backward(loss.mean);
    if (after_backward) after_backward();
    return value;
}

}  // namespace

double add_gradients(const BatchLoss& loss, std::int64_t batches,
                     const std::function<void()>& after_backward,
                     const std::function<void()>& before_backward) {
    const auto whole = [](const CountedLoss&) { return 1.0; };
    return add_weighted(loss, batches, whole, after_backward, before_backward);
}

TrainStep::TrainStep(Optimizer& optimizer, TrainStepOptions options)
    : optimizer_(optimizer), options_(std::move(options)), parameters_(optimizer.parameters()) {
    require(options_.accumulate >= 1, "train: accumulate must be at least 1, got {}",
            options_.accumulate);
    require(options_.micro_batches >= 1, "train: micro_batches must be at least 1, got {}",
            options_.micro_batches);
    require(options_.clip >= 0, "train: clip must be >= 0, got {}", options_.clip);
    if (options_.plan) memory_ = std::make_unique<PlannedMemory>();
    if (options_.communicator == nullptr || options_.communicator->size() == 1) return;
    require(options_.micro_batches > 1,
            "train: {} processes share the micro-batches of a step; set micro_batches to at least "
            "2 (--micro-batches), the same for any number of processes",
            options_.communicator->size());
    parallel_ = std::make_unique<DataParallel>(optimizer_, *options_.communicator, leaves());
}

TrainStep::~TrainStep() = default;

Range TrainStep::share() const { return parallel_ ? parallel_->share() : Range{0, leaves()}; }

StepTraffic TrainStep::traffic() const { return parallel_ ? parallel_->traffic() : StepTraffic{}; }

StepResult TrainStep::take(std::int64_t number, double lr, const BatchLoss& loss) {
    const FloatingPointGuard standard;
    const OneAtATime alone(parameters_);
    zero_grad();  // before the turn: a plan's memory is not added to that of the last gradients
    std::optional<PlannedMemory::Turn> turn;
    if (memory_) turn.emplace(*memory_);
    StepResult result;
    result.loss = gradients(loss);
    reduce(result.loss);
    result.grad_norm = check(number, result.loss);
    update(lr, result.grad_norm);
    return result;
}

void TrainStep::zero_grad() {
    optimizer_.zero_grad();
    end(StepPhase::zero_grad);
}

double TrainStep::gradients(const BatchLoss& loss) {
    const FloatingPointGuard standard;
    const Range own = share();
    sum_.emplace(parameters_, options_.micro_batches, own.begin);
    LeafWeights weights(leaves(), parallel_ ? options_.communicator : nullptr);
    const auto weight_of = [&](const CountedLoss& one) {
        const double weight = weights.next(one.count);
        if (weights.counted()) sum_->will_be_scaled();
        return weight;
    };
    std::vector<LeafMoves> moves;
    for (std::int64_t i = own.begin; i < own.end; ++i) {
        std::optional<DeferredUpdates> noted;  // without it, they are applied at once
        if (options_.micro_batches > 1) noted.emplace();
        std::unique_ptr<TapeObserver> sender;  // with several processes, in the last leaf
        const auto before = [&] {
            if (i + 1 < own.end) return;
            factor_ = weights.factor();
            if (parallel_) sender = parallel_->send_from(*sum_, factor_);
        };
        const auto after = [&] {
            sender.reset();
            end(StepPhase::backward);
        };
        sum_->add(add_weighted(loss, leaves(), weight_of, std::ref(after), std::ref(before)));
        if (noted) moves.push_back(noted->take());
    }
    double total = 0;
    if (parallel_) {
        parallel_->hold(std::move(moves));
        for (const double one : sum_->losses()) total += one;
    } else {
        fold_statistics(moves);
        total = sum_->finish(factor_);
        sum_.reset();
    }
    end(StepPhase::gradients);
    return factor_ * total / static_cast<double>(leaves());
}

void TrainStep::reduce(double& loss) {
    if (parallel_) {
        loss = factor_ * parallel_->reduce(sum_->losses()) / static_cast<double>(leaves());
        sum_.reset();
    }
    end(StepPhase::reduce);
}

double TrainStep::norm() const { return parallel_ ? parallel_->norm() : grad_norm(parameters_); }

// Before the first update no learning rate can be the reason.
std::string TrainStep::advice(std::int64_t number) const {
    if (number > 1) return "a lower learning rate or stronger clipping may help";
    for (const Tensor& parameter : parameters_) {
        if (std::isfinite(sum_of_squares({parameter}))) continue;
        const auto& leaf = parameter.leaf();
        const bool named = leaf != nullptr && leaf->place != nullptr;
        return fmt::format(
            "the weights had NaN or infinity at the start, {}",
            named ? leaf->place->path() : fmt::format("in a parameter {}", parameter.shape()));
    }
    return "no update was made yet and the weights are finite, so look for NaN or infinity in the "
           "batch, or for a division or logarithm of 0 in the loss";
}

double TrainStep::check(std::int64_t number, double loss) {
    const double grad_norm = norm();
    if (!std::isfinite(loss) || !std::isfinite(grad_norm)) {
        fail<DivergedError>("train: step {}: the loss is {} and the gradient's norm {}; {}", number,
                            std::isnan(loss) ? std::abs(loss) : loss,
                            std::abs(grad_norm),  // avoids "-nan"
                            advice(number));
    }
    end(StepPhase::check);
    return grad_norm;
}

void TrainStep::update(double lr, double grad_norm) {
    const bool clipped = options_.clip > 0 && grad_norm > options_.clip;
    const double scale = clipped ? options_.clip / grad_norm : 1;
    if (parallel_ && parallel_->keeps_slices()) {
        parallel_->update(lr, scale);
    } else {
        if (parallel_) parallel_->share_gradients();
        optimizer_.set_lr(lr);
        optimizer_.step(scale);
    }
    end(StepPhase::update);
}

}  // namespace tapestry
