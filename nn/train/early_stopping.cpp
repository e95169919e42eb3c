#include <tapestry/nn/train/early_stopping.h>

#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/message.h>

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

constexpr double kLossNoise = 0.1;   // nats by which the mean may fluctuate
constexpr double kLostAgain = 0.25;  // fraction of the gain

const char* predicted_by(const ModelConfig& config) {
    return std::visit(
        [](const auto& model) {
            const char* name = "tokens";
            if constexpr (
                requires { model.classes; } && !requires { model.vocab; }) {
                name = "classes";
            }
            if constexpr (requires { model.max_answer; }) name = "places";
            return name;
        },
        config);
}

// ln(vocabulary), or of a number 1, the loss of its mean: losses are in units of its variance.
// Only a custom task knows its own.
ExpectedLoss guess_of(const ModelConfig& model, const std::vector<ExpectedLoss>& expected) {
    if (std::holds_alternative<CustomConfig>(model)) {
        return expected.empty() ? ExpectedLoss{.name = {}, .loss = NAN} : expected.front();
    }
    const std::int64_t vocab = common_settings(model).vocab;
    if (vocab == 0) return {.name = "always the mean", .loss = 1};
    return {.name = fmt::format("guessing one of {} {}", vocab, predicted_by(model)),
            .loss = std::log(static_cast<double>(vocab))};
}

}  // namespace

LossWatch::LossWatch(const TrainingConfig& config, const std::vector<ExpectedLoss>& expected)
    : LossWatch(config, guess_of(config.model_config(), expected)) {}

LossWatch::LossWatch(const TrainingConfig& config, const ExpectedLoss& guess)
    : warmup_(config.warmup),
      guess_(guess.name),
      lr_(config.lr),
      watch_(config.steps, config.clip, guess.loss) {}

bool LossWatch::has_risen() const {
    const RunFacts& f = watch_.facts();
    if (f.lowest.step == 0 || f.lowest.value >= f.guessing - kLossNoise) return false;
    const double gain = f.guessing - f.lowest.value;
    return f.recent - f.lowest.value > std::max(kLossNoise, kLostAgain * gain);
}

std::string LossWatch::remedy() const {
    return fmt::format("a learning rate below {}, or a warm-up longer than {} steps, may help", lr_,
                       warmup_);
}

std::string LossWatch::concern() const {
    const RunFacts& f = watch_.facts();
    if (f.last.step == 0 || !std::isfinite(f.guessing)) return {};
    const bool evaluated = f.val.step > 0;
    const double loss = evaluated ? f.val.value : f.recent;
    if (loss <= f.guessing) {
        if (!has_risen()) return {};
        return fmt::format("the loss fell to {} by step {} and has risen to {}: {}",
                           fixed_text(f.lowest.value), f.lowest.step, fixed_text(f.recent),
                           remedy());
    }
    const std::string text =
        fmt::format("the {} is {}, while {} would give {:.4f}",
                    evaluated ? "validation loss" : "loss", fixed_text(loss), guess_, f.guessing);
    if (has_risen()) {
        return fmt::format("{}; it had fallen to {} by step {}: {}", text,
                           fixed_text(f.lowest.value), f.lowest.step, remedy());
    }
    if (evaluated && f.recent < f.guessing - kLossNoise) {
        return fmt::format(
            "{}; on what it learns from it is {:.4f}: more data, fewer steps or dropout may "
            "help",
            text, f.recent);
    }
    const std::string early =
        f.last.step < warmup_ ? fmt::format(" (the warm-up takes {})", warmup_) : "";
    const std::string more = f.planned < TrainingConfig::kNoStepLimit
                                 ? "more than " + pluralize(f.planned, "step") + early
                                 : "more time";
    return fmt::format("{}: {}, or another learning rate than {}, may help", text, more, lr_);
}

}  // namespace tapestry
