#include <tapestry/nn/train/training_run.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/pages/live_report.h>
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/early_stopping.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/run_list.h>
#include <tapestry/nn/train/step_record.h>
#include <tapestry/ops/machine_peak.h>
#include <tapestry/ops/optimizer_step.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

void check_options(const Session& session, const TrainingRunOptions& options) {
    require(!session.is_finished(), "training run: the session has taken all of its {} steps",
            session.steps());
    require(options.checkpoints.keep >= 1, "training run: must keep at least 1 checkpoint, got {}",
            options.checkpoints.keep);
    require(options.hash_every >= 0, "training run: hash_every must be >= 0, got {}",
            options.hash_every);
}

std::shared_ptr<const RunDirectory> checked(std::shared_ptr<const RunDirectory> directory,
                                            const Session& session,
                                            const TrainingRunOptions& options) {
    check_options(session, options);
    check_can_write(*directory, session,
                    {.state = options.checkpoints.written, .best = options.checkpoints.best});
    return directory;
}

// Creates no directory for a run that cannot start.
std::shared_ptr<const RunDirectory> make_directory(const Session& session,
                                                   const TrainingRunOptions& options) {
    check_options(session, options);
    return std::make_shared<RunDirectory>(options.out);
}

std::shared_ptr<const RunDirectory> not_owned(const RunDirectory& directory) {
    return {std::shared_ptr<const RunDirectory>(), &directory};
}

// New metrics, or those of the resumed run.
MetricsFile metrics_in(const RunDirectory& directory) {
    const auto& resumed = directory.resumed();
    return resumed ? MetricsFile(directory.path(), resumed->metrics)
                   : MetricsFile(directory.path());
}

RunState state_at_start(const RunDirectory& directory, const Session& session,
                        const TrainingRunOptions& options) {
    if (directory.resumed()) return *directory.resumed();
    if (options.earlier) return options.earlier->state;
    return {.segments = {{.config = to_json(session.config())}}};
}

}  // namespace

class TrainingRun::Impl {
public:
    Impl(Session& session, std::shared_ptr<const RunDirectory> directory,
         TrainingRunOptions options);
    ~Impl() { session_.watch({}); }

    TrainingResult to_the_end();
    CheckpointWriter& writer() { return writer_; }

private:
    void write_config();
    void begin_as(const ParentRun& run);
    void watch();
    void open_report();
    void take_steps();
    bool after(const StepMetrics& metrics);
    void check_finite(const StepMetrics& metrics) const;
    void find_rewind_distance();
    void account();
    void save_if_due(const StepMetrics& metrics, std::optional<CheckpointPurpose> due);
    void save(const StepMetrics& metrics, CheckpointPurpose purpose, bool best,
              bool at_once = false);
    void save_at_the_end();
    const SaveProblem& problem() const {
        return metrics_.problem() ? metrics_.problem() : writer_.problem();
    }
    void warn_of_foreign() const;
    void warn_of_checkpoints();
    void finish();

    Session& session_;
    TrainingRunOptions options_;
    std::shared_ptr<const RunDirectory> directory_;
    RunState state_;
    MetricsFile metrics_;
    CheckpointWriter writer_;
    double step_least_;  // lower bound on the seconds of a step, from its arithmetic
    Speed speed_;
    LossWatch losses_;
    std::vector<StepMetrics> earlier_;  // of earlier parts of the run
    std::optional<Trap> trap_;
    std::optional<LiveReport> report_;
    CheckpointSchedule schedule_;
    std::int64_t started_ = -1;    // step of the latest save, successful or not
    std::int64_t steps_here_ = 0;  // taken by this object
    std::string grad_xxh3_;        // of the latest step, if requested
    bool accounted_ = false;       // the processes' accounts were read at least once
    bool best_at_end_ = false;     // the last step is the best so far
    bool warned_ = false;
    TrainingResult result_;
};

TrainingRun::TrainingRun(Session& session, const TrainingRunOptions& options)
    : impl_(std::make_unique<Impl>(session, make_directory(session, options), options)) {}

TrainingRun::TrainingRun(Session& session, const RunDirectory& directory,
                         TrainingRunOptions options)
    : impl_(std::make_unique<Impl>(session, not_owned(directory), std::move(options))) {}

TrainingRun::~TrainingRun() = default;

TrainingResult TrainingRun::to_the_end() { return impl_->to_the_end(); }
const CheckpointWriter& TrainingRun::checkpoints() const { return impl_->writer(); }
void TrainingRun::wait_for_checkpoint() { impl_->writer().wait(); }

TrainingRun::Impl::Impl(Session& session, std::shared_ptr<const RunDirectory> directory,
                        TrainingRunOptions options)
    : session_(session),
      options_(std::move(options)),
      directory_(checked(std::move(directory), session, options_)),
      state_(state_at_start(*directory_, session, options_)),
      metrics_(metrics_in(*directory_)),
      writer_(*directory_, session, metrics_),
      step_least_(session.task().step_flops(session.config().batch * session.config().accumulate) /
                  measure_flops(product_dtype(session.config().model_config()))),
      speed_(session.config().tokens_per_step(), step_least_),
      losses_(session.config(), losses_to_compare(session)),
      schedule_(options_.checkpoints) {
    options_.out = directory_->path();
    if (directory_->resumed() && read_manifest(options_.out / kBestFolder)) {
        options_.checkpoints.best = true;  // otherwise that would no longer be the best model
    }
    if (options_.trap_nan) {
        Folder(options_.out).find(kTrapFolder);  // throws if it leads outside the directory
        trap_.emplace(session.task(), session.weights_generator(), options_.out / kTrapFolder,
                      session.config().micro_batches, session.steps());
    }
}

TrainingResult TrainingRun::Impl::to_the_end() {
    warn_of_foreign();
    write_config();
    if (directory_->resumed() && session_.steps() > 0) {
        earlier_ = read_steps(options_.out / kMetricsName, session_.config().tokens_per_step());
    } else if (options_.earlier) {
        begin_as(*options_.earlier);
    }
    for (const StepMetrics& metrics : earlier_) losses_.add(metrics);
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

// A resumed run has the line of the run that it resumes, unless its configuration differs.
void TrainingRun::Impl::write_config() {
    const std::int64_t after = options_.earlier ? options_.earlier->step : session_.steps();
    if (!directory_->resumed()) {
        metrics_.write(config_line("start", session_.config(), after));
    } else if (!session_.overridden().empty()) {
        metrics_.write(config_line("resume", session_.config(), after));
    }
}

// Takes over what a run resumed in its own directory already has.
void TrainingRun::Impl::begin_as(const ParentRun& run) {
    earlier_ = run.steps;
    if (run.step == 0) return;
    metrics_.write(run.lines.substr(0, run.lines.size() - 1));
    if (options_.checkpoints.written) {
        save({.step = run.step, .seconds = run.state.seconds}, CheckpointPurpose::resume, false);
    }
}

void TrainingRun::Impl::open_report() {
    report_.emplace(
        options_.out / "report.html", session_.module(),
        LiveReport::Hooks{
            .recipe = [this] { return recipe_of(session_, options_.recipe, step_least_); },
            // At most as many tokens as the cache holds.
            .sample =
                [this] {
                    return session_.sample(
                        std::min<std::int64_t>(120, session_.config().context()));
                },
            .warn =
                [this](const std::string& message) {
                    if (options_.warn) options_.warn("the report: " + message);
                },
            .look = [this] { return session_.look(); }});
    report_->add_earlier(earlier_);
}

void TrainingRun::Impl::watch() {
    SessionWatchers watchers;
    if (trap_) watchers.batch = [this](const Batch& batch) { trap_->note(batch); };
    if (report_ || options_.hash_every > 0) {
        watchers.reads_gradients = [this](std::int64_t step) {
            return (report_ && session_.evaluates_after(step)) ||
                   (options_.hash_every > 0 && step % options_.hash_every == 0);
        };
        watchers.before_update = [this](std::int64_t step) {
            if (report_ && session_.evaluates_after(step)) {
                report_->before_evaluated_update(session_.is_last(step));
            }
            if (options_.hash_every > 0 && step % options_.hash_every == 0) {
                grad_xxh3_ = checksum_of_gradients(session_.optimizer().parameters());
            }
        };
    }
    session_.watch(std::move(watchers));
}

void TrainingRun::Impl::take_steps() {
    while (!session_.is_finished() && !result_.interrupted) {
        grad_xxh3_.clear();
        StepMetrics metrics = session_.take_step();
        metrics.grad_xxh3 = grad_xxh3_;
        if (trap_) trap_->stepped(metrics.step);
        if (!after(metrics)) result_.interrupted = !session_.is_finished();
    }
}

// Returns whether to continue.
bool TrainingRun::Impl::after(const StepMetrics& metrics) {
    speed_.add(metrics);
    losses_.add(metrics);
    result_.last = metrics;
    const bool go_on = !options_.stepped || options_.stepped(metrics, speed_);
    if (metrics.val_loss) result_.val_loss = metrics.val_loss;
    find_rewind_distance();
    const bool failed = static_cast<bool>(writer_.problem());
    const auto due = schedule_.due_after(metrics, state_.rewind_every, failed);
    if (due || metrics.val_loss) check_finite(metrics);
    metrics_.write(metrics_line(metrics, speed_.tokens_per_second()));
    if (metrics.val_loss || !accounted_) account();
    if (report_) report_->add(metrics);
    save_if_due(metrics, due);
    return go_on;
}

// A step can ruin the weights after a loss that was still finite; such weights are not worth
// saving.
void TrainingRun::Impl::check_finite(const StepMetrics& metrics) const {
    require<DivergedError>(std::isfinite(sum_of_squares(session_.module().parameters())) &&
                               std::isfinite(metrics.val_loss.value_or(0)),
                           "train: step {}: the weights or the validation loss are no longer "
                           "finite, they were not saved; a lower learning rate or stronger "
                           "clipping may help",
                           metrics.step);
}

// Done rarely, because it queries all processes between two steps.
void TrainingRun::Impl::account() {
    accounted_ = true;
    if (report_) report_->set_processes(session_.accounts());
}

void TrainingRun::Impl::find_rewind_distance() {
    constexpr std::int64_t kStepsToKnow = 20;
    if (!options_.checkpoints.written || ++steps_here_ != kStepsToKnow) return;
    const TrainingConfig& config = session_.config();
    const double fitting = 60 * config.minutes / std::max(1e-6, speed_.seconds_per_step());
    const bool timed = config.minutes > 0 && fitting < static_cast<double>(config.steps);
    schedule_.set_rewind_distance(state_,
                                  timed ? static_cast<std::int64_t>(fitting) + 1 : config.steps,
                                  speed_.seconds_per_step(), state_bytes(session_.module()));
}

void TrainingRun::Impl::save_if_due(const StepMetrics& metrics,
                                    std::optional<CheckpointPurpose> due) {
    bool best = false;
    if (metrics.val_loss && (!state_.best || *metrics.val_loss < state_.best->val_loss)) {
        state_.best = {metrics.step, *metrics.val_loss};
        best = options_.checkpoints.best;
    }
    if (session_.is_finished()) {  // finish() saves, with the last line of the metrics
        best_at_end_ = best;
        return;
    }
    const bool busy = writer_.is_busy();
    warn_of_checkpoints();
    if (const auto now = schedule_.next(due, best, busy)) save(metrics, *now, best);
}

void TrainingRun::Impl::save(const StepMetrics& metrics, CheckpointPurpose purpose, bool best,
                             bool at_once) {
    schedule_.started();
    state_.seconds = metrics.seconds;
    writer_.start(state_, {.state = options_.checkpoints.written,
                           .purpose = purpose,
                           .best = best,
                           .keep_best = options_.checkpoints.best,
                           .keep = options_.checkpoints.keep,
                           .at_once = at_once});
    started_ = metrics.step;
}

void TrainingRun::Impl::warn_of_foreign() const {
    const std::vector<std::string> names = directory_->foreign();
    if (names.empty() || !options_.warn) return;
    const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    options_.warn(fmt::format("{}{}: not written by this run; left unchanged",
                              shown(options_.out / names.front()), more));
}

// Warns once about each problem.
void TrainingRun::Impl::warn_of_checkpoints() {
    for (const std::string& message : writer_.take_kept()) {
        if (options_.warn) options_.warn(message);
    }
    if (problem() && !warned_ && options_.warn) {
        options_.warn(fmt::format("{}; training continues and will retry", problem().message));
    }
    warned_ = static_cast<bool>(problem());
}

void TrainingRun::Impl::save_at_the_end() {
    for (;;) {
        writer_.wait();
        if (writer_.written() == result_.last.step) return;
        if (started_ != result_.last.step || problem()) {
            // No step follows that a copy, or memory of earlier steps, would be needed for.
            release_cached_memory();
            save(result_.last, CheckpointPurpose::resume, best_at_end_, true);
            writer_.wait();
        }
        if (!problem()) continue;
        require<IoError>(options_.retry && options_.retry(problem()), "{}", problem().message);
    }
}

// The last line of a finished run reaches the disk before its last checkpoint: if the run were
// killed between the two, no other run would write that line.
void TrainingRun::Impl::finish() {
    check_finite(result_.last);
    const bool finished = session_.is_finished();
    if (!finished) save_at_the_end();
    const auto tokens = session_.config().tokens_per_step() * result_.last.step;
    result_.tokens_per_second = static_cast<double>(tokens) / result_.last.seconds;
    result_.unit = session_.task().unit();
    result_.steps = session_.config().steps;
    result_.minutes = session_.config().minutes;
    result_.resumable = options_.checkpoints.written;
    result_.of_peak = speed_.mean_of_peak();
    result_.concern = losses_.concern();
    const PlannedMemory* const memory = session_.planned_memory();
    if (memory != nullptr && planning_enabled()) {
        result_.plan = plan_text(memory->report());
    }
    if (report_) {
        account();
        report_->end(result_.interrupted ? TrainingState::interrupted : TrainingState::finished);
        result_.report = report_->summary();
        const Diagnosis found = report_->diagnosis();  // knows more than the losses
        if (found.verdict == DiagnosisVerdict::bad) result_.concern = found.text;
    }
    std::optional<double> report_seconds;
    if (report_) report_seconds = report_->seconds();
    metrics_.write_end(end_line(result_, frozen_parameters(session_.module()), report_seconds));
    if (finished) save_at_the_end();
    warn_of_checkpoints();
    result_.bytes = directory_bytes(options_.out);
}

}  // namespace tapestry
