#include <tapestry/nn/train/early_stopping.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

EarlyStopping::EarlyStopping(Module& module, const EarlyStoppingOptions& options)
    : module_(module), options_(options) {
    require(options.patience >= 1, "EarlyStopping: patience must be positive, got {}",
            options.patience);
    require(options.min_delta >= 0 && std::isfinite(options.min_delta),
            "EarlyStopping: min_delta must be finite and >= 0, got {}", options.min_delta);
}

bool EarlyStopping::operator()(const StepMetrics& metrics) {
    if (!metrics.val_loss) return true;
    if (*metrics.val_loss < best_loss_ - options_.min_delta) {
        best_loss_ = *metrics.val_loss;
        best_step_ = metrics.step;
        best_ = module_.state_dict();
        without_gain_ = 0;
        return true;
    }
    return ++without_gain_ < options_.patience;
}

void EarlyStopping::restore_best() {
    if (!best_.empty()) module_.load_state_dict(best_);
}

namespace {

constexpr double kNoise = 0.1;       // nats by which the mean may fluctuate
constexpr double kLostAgain = 0.25;  // fraction of the gain

}  // namespace

LossWatch::LossWatch(const TrainingConfig& config)
    : vocab_(common_settings(config.model_config()).vocab),
      steps_(config.steps),
      warmup_(config.warmup),
      lr_(config.lr),
      guessing_(std::log(static_cast<double>(vocab_))),
      window_(std::clamp<std::int64_t>(config.steps / 20, 10, 100)) {}

void LossWatch::add(const StepMetrics& metrics) {
    ++seen_;
    mean_ += (metrics.loss - mean_) / static_cast<double>(std::min(seen_, window_));
    if (seen_ >= window_ && mean_ < lowest_) {
        lowest_ = mean_;
        lowest_step_ = metrics.step;
    }
    if (metrics.val_loss) val_loss_ = metrics.val_loss;
}

bool LossWatch::has_fallen() const { return lowest_ < guessing_ - kNoise; }

bool LossWatch::has_risen() const {
    return has_fallen() && mean_ - lowest_ > std::max(kNoise, kLostAgain * (guessing_ - lowest_));
}

std::string LossWatch::remedy() const {
    return fmt::format("a learning rate below {}, or a warm-up longer than {} steps, may help", lr_,
                       warmup_);
}

std::string LossWatch::concern() const {
    if (seen_ == 0) return {};
    const double loss = val_loss_.value_or(mean_);
    if (loss <= guessing_) {
        if (!has_risen()) return {};
        return fmt::format("the loss fell to {:.4f} by step {}, but is {:.4f} again: {}", lowest_,
                           lowest_step_, mean_, remedy());
    }
    const std::string text =
        fmt::format("the {} is {:.4f}, while guessing one of {} tokens would give {:.4f}",
                    val_loss_ ? "validation loss" : "loss", loss, vocab_, guessing_);
    if (has_risen()) {
        return fmt::format("{}; it had fallen to {:.4f} by step {}: {}", text, lowest_,
                           lowest_step_, remedy());
    }
    if (val_loss_ && mean_ < guessing_ - kNoise) {
        return fmt::format(
            "{}; on the text it learns from it is {:.4f}: more text, fewer steps or dropout may "
            "help",
            text, mean_);
    }
    return fmt::format("{}: more than {} steps, or another learning rate than {}, may help", text,
                       steps_, lr_);
}

}  // namespace tapestry
