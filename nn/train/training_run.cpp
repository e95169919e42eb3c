#include <tapestry/nn/train/training_run.h>

#include <tapestry/nn/freeze.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/ops/machine_peak.h>
#include <tapestry/ops/optimizer_step.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A model that is there stays until a save.
fs::path checked(const fs::path& out, const Session& session) {
    require(!session.is_finished(), "training run: the session has taken all of its {} steps",
            session.steps());
    check_can_save(out, session.model(), session.tokenizer());
    return out;
}

double step_floor(const TrainingConfig& config) {
    return step_flops(config.model, config.batch * config.accumulate) / measure_flops();
}

Json line_of(const StepMetrics& m, const Speed& speed) {
    Json line{{"step", m.step},
              {"loss", m.loss},
              {"lr", m.lr},
              {"grad_norm", m.grad_norm},
              {"tokens_per_s", speed.tokens_per_second()},
              {"seconds", m.seconds}};
    if (m.val_loss) line["val_loss"] = *m.val_loss;
    return line;
}

Json last_line(const TrainingResult& r) {
    Json line{{"event", "end"},
              {"step", r.last.step},
              {"loss", r.last.loss},
              {"seconds", r.last.seconds},
              {"tokens_per_s", r.tokens_per_second},
              {"share", r.share},
              {"interrupted", r.interrupted}};
    if (r.val_loss) line["val_loss"] = *r.val_loss;
    return line;
}

}  // namespace

TrainingRun::TrainingRun(Session& session, TrainingRunOptions options)
    : session_(session),
      options_(std::move(options)),
      metrics_(checked(options_.out, session)),
      step_floor_(step_floor(session.config())),
      speed_(session.config().tokens_per_step(), step_floor_),
      losses_(session.config()) {
    if (options_.trap_nan) {
        trap_.emplace(session.model(), session.weights_generator(), session.tokenizer(),
                      options_.out / "trap", session.config().micro_batches);
    }
}

TrainingResult TrainingRun::to_the_end() {
    if (options_.report) open_report();
    watch();
    try {
        const auto all = [this] {
            take_steps();
            finish();
        };
        trap_ ? trap_->guard(all) : all();
    } catch (const DivergedError& error) {
        if (report_) report_->end(TrainingState::diverged, error.what());
        throw;
    } catch (const std::exception& error) {
        if (report_) report_->end(TrainingState::failed, error.what());
        throw;
    }
    return result_;
}

void TrainingRun::open_report() {
    report_.emplace(
        options_.out / "report.html", session_.model(),
        LiveReport::Hooks{
            .recipe = [this] { return recipe_of(session_, options_.recipe, step_floor_); },
            // As many tokens as are written with the cache.
            .sample =
                [this] {
                    return session_.sample(
                        std::min<std::int64_t>(120, session_.config().model.context));
                },
            .warn =
                [this](const std::string& message) {
                    if (options_.warn) options_.warn(message);
                }});
}

void TrainingRun::watch() {
    SessionWatchers watchers;
    if (trap_) watchers.batch = [this](const Batch& batch) { trap_->note(batch); };
    if (report_) {
        watchers.before_update = [this, loop = session_.config().loop()](std::int64_t step) {
            if (loop.evaluates_after(step)) report_->before_evaluated_update(step == loop.steps);
        };
    }
    session_.watch(std::move(watchers));
}

void TrainingRun::take_steps() {
    while (!session_.is_finished() && !result_.interrupted) {
        const StepMetrics metrics = session_.take_step();
        if (trap_) trap_->stepped(metrics.step);
        result_.interrupted = !after(metrics);
    }
}

// Returns whether to go on.
bool TrainingRun::after(const StepMetrics& metrics) {
    speed_.add(metrics);
    losses_.add(metrics);
    result_.last = metrics;
    const bool go_on = !options_.stepped || options_.stepped(metrics, speed_);
    if (metrics.val_loss) {
        result_.val_loss = metrics.val_loss;
        save(metrics);
    }
    metrics_.write(line_of(metrics, speed_).dump());
    if (report_) report_->add(metrics);
    return go_on;
}

// A step can ruin the weights after a loss that still was a number: these are not worth saving.
void TrainingRun::save(const StepMetrics& metrics) {
    require<DivergedError>(std::isfinite(sum_of_squares(session_.model().parameters())) &&
                               std::isfinite(metrics.val_loss.value_or(0)),
                           "train: step {}: the weights or the validation loss are no longer "
                           "finite, they were not saved; a lower learning rate or stronger "
                           "clipping may help",
                           metrics.step);
    if (saved_) return save_weights(options_.out, session_.model());
    save_model(options_.out, session_.model(), session_.tokenizer());
    saved_ = true;
    metrics_.put_in_place();
}

void TrainingRun::finish() {
    save(result_.last);
    result_.tokens_per_second = speed_.tokens() / result_.last.seconds;
    result_.share = speed_.mean_share();
    result_.concern = losses_.concern();
    Json line = last_line(result_);
    const std::vector<std::string> frozen = frozen_parameters(session_.model());
    if (!frozen.empty()) line["frozen"] = frozen;
    if (report_) {
        report_->end(result_.interrupted ? TrainingState::interrupted : TrainingState::finished);
        line["report_seconds"] = report_->seconds();
        result_.report = report_->summary();
    }
    metrics_.write(line.dump());
}

}  // namespace tapestry
