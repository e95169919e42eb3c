#include <tapestry/nn/train/learning_rate_finder.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tapestry {
namespace {

// Puts back parameters, buffers and the optimiser's state when it leaves scope.
class Restored {
public:
    Restored(Module& model, Optimizer& optimizer)
        : model_(model),
          optimizer_(optimizer),
          weights_(model.state_dict()),
          state_(optimizer.state()) {}
    ~Restored() {
        model_.load_state_dict(weights_);
        optimizer_.load_state(state_);
        optimizer_.zero_grad();
    }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;

private:
    Module& model_;
    Optimizer& optimizer_;
    NamedTensors weights_;
    OptimizerState state_;
};

void check_options(const RateSearchOptions& o) {
    require(o.lowest > 0 && o.highest > o.lowest && std::isfinite(o.highest),
            "find_learning_rate: rates must be positive and grow, got {} to {}", o.lowest,
            o.highest);
    require(o.steps >= 2, "find_learning_rate: needs at least 2 steps, got {}", o.steps);
    require(o.clip >= 0, "find_learning_rate: clip must be >= 0, got {}", o.clip);
    require(o.smoothing >= 0 && o.smoothing < 1,
            "find_learning_rate: smoothing must be in [0, 1), got {}", o.smoothing);
    require(o.diverged > 1, "find_learning_rate: diverged must be above 1, got {}", o.diverged);
}

// The rate in the middle of the steepest fall before the lowest loss, over five steps where there
// are as many, and as many steps earlier as the running mean lags behind.
std::optional<double> steepest(const std::vector<double>& rates, const std::vector<double>& losses,
                               double smoothing) {
    const auto lag = static_cast<std::size_t>(std::lround(smoothing / (1 - smoothing)));
    const auto lowest =
        static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
    const std::size_t reach = std::min<std::size_t>(4, lowest);
    std::optional<double> found;
    double most = 0;
    for (std::size_t i = reach; reach > 0 && i <= lowest; ++i) {
        const double fall = losses[i - reach] - losses[i];
        if (fall <= most) continue;
        most = fall;
        found = rates[i - std::min(i, reach / 2 + lag)];
    }
    return found;
}

}  // namespace

RateSearch find_learning_rate(Module& model, Optimizer& optimizer, const BatchLoss& loss,
                              const RateSearchOptions& options) {
    check_options(options);
    const Restored restored(model, optimizer);
    const double factor =
        std::pow(options.highest / options.lowest, 1 / static_cast<double>(options.steps - 1));
    TrainStep step(optimizer, {.clip = options.clip, .plan = false});
    RateSearch search;
    double rate = options.lowest, mean = 0, weight = 0, best = 0;
    for (std::int64_t i = 1; i <= options.steps; ++i, rate *= factor) {
        double now = 0;
        try {
            now = step.take(i, rate, loss).loss;
        } catch (const DivergedError&) {
            if (i == 1) throw;
            break;
        }
        mean = options.smoothing * mean + (1 - options.smoothing) * now;
        weight = options.smoothing * weight + 1 - options.smoothing;
        const double smooth = mean / weight;
        best = i == 1 ? smooth : std::min(best, smooth);
        search.rates.push_back(rate);
        search.losses.push_back(smooth);
        if (smooth > best + (options.diverged - 1) * std::abs(best)) break;
    }
    search.suggestion = steepest(search.rates, search.losses, options.smoothing);
    return search;
}

}  // namespace tapestry
