// Replays training steps bit for bit: the gradients of a recorded step, or any step of a run. A run
// leaves evenly spaced states behind (checkpoint_writer.h); replaying loads the nearest state
// before a step, takes the steps in between, each under its original configuration, and then takes
// the step itself, optionally observed.
//
//     const RunHistory history("model");
//     auto session = Replayer(history).session_before(312);
//     const ReplayedStep step = replay_step(*session, true);
//     fmt::print("{}\n", difference(history.step(312), step.metrics));  // nothing
//
// Read next: bisect.h, which finds a step; begin_run.h, which continues from one.
#pragma once

#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/step_record.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tapestry {

// ---- a recorded step ----------------------------------------------------------------------------

/// A recorded step replayed under Inspectors, up to the batch in which NaN or infinity first
/// appeared.
struct ReplayedGradients {
    std::size_t batch = 0;                      ///< index of that batch, or of the last
    double loss = 0;                            ///< of that batch
    std::unique_ptr<Inspector> inspector = {};  ///< finished, of that batch
};

/// Replays a recorded step: losses and gradients as train() computes them, bit for bit. `dropout`
/// is the generator of the model's dropout; it ends where the step left it. The model's gradients
/// are cleared first and hold the sum afterwards. The model keeps the step's compute type, and its
/// weights the type that they had in the step.
ReplayedGradients replay_gradients(Task& task, const RecordedStep& step, Generator& dropout,
                                   const MachinePeak& peak = {});
/// The same for a language model.
ReplayedGradients replay_gradients(LanguageModel& model, const RecordedStep& step,
                                   Generator& dropout, const MachinePeak& peak = {});

/// The meaning of a finding for the run: "batch 2 of 4: first NaN: parameter w ...; the update of
/// step 7 made it".
std::string finding_text(const RecordedStep& step, const ReplayedGradients& replayed);

/// The outcome to record with a step.
RecordedOutcome outcome_of(const RecordedStep& step, const ReplayedGradients& replayed);

// ---- a step of a run ----------------------------------------------------------------------------

/// Where a replay starts.
struct ReplayStart {
    std::int64_t state = 0;  ///< step of the state to load; 0: from scratch
    std::int64_t steps = 0;  ///< steps to take before the requested one
    double seconds = 0;      ///< their duration in the run, evaluations included
};

/// "replaying 250 steps from step 1000; in the run they took 31 s"; empty if they took less than
/// three seconds.
std::string wait_text(const ReplayStart& start);

/// Where to find what the run read.
struct ReplayOptions {
    std::string text = {},             ///< where the text is now; both empty: where it was
        data = {};                     ///< where the tokenized data is now
    const TextCache* cache = nullptr;  ///< of tokenized texts; null: none
    /// Called before the steps in between are taken. May be empty.
    std::function<void(const ReplayStart&)> told = {};
};

/// A replayed step.
struct ReplayedStep {
    StepMetrics metrics;        ///< with grad_xxh3
    RecordedStep recorded;      ///< its batches
    std::string diverged = {};  ///< why it ended before its update, if it did
    /// Of the last batch or micro-batch, if requested.
    std::optional<ReplayedGradients> watched = {};
    std::vector<ParameterFlow> flow = {};  ///< its effect on every parameter
};

/// Replays the steps of a run. See above.
class Replayer {
public:
    /// The history must outlive the replayer.
    explicit Replayer(const RunHistory& history, ReplayOptions options = {})
        : history_(history), options_(std::move(options)) {}

    /// A session whose next step is `step`, 1 to last_step() + 1; it skips evaluations. Throws
    /// ValueError for any other step, and if the data has changed; IoError for a damaged state; and
    /// as Session does.
    std::unique_ptr<Session> session_before(std::int64_t step) const;

    /// Advances a session returned by session_before() until its next step is `step`.
    void advance(std::unique_ptr<Session>& session, std::int64_t step) const;

    /// Replays all steps of the run, starting afresh from every saved state.
    void replay_all(const std::function<void(const ReplayedStep&)>& replayed) const;

    /// The former name of replay_all().
    [[deprecated("use replay_all")]] void take_all(
        const std::function<void(const ReplayedStep&)>& replayed) const {
        replay_all(replayed);
    }

    /// Where session_before(step) begins.
    ReplayStart start_of(std::int64_t step) const;

private:
    TrainingConfig config_of(std::size_t segment) const;
    std::unique_ptr<Session> session_at(const SavedFiles& files, std::int64_t step) const;
    void go_on_under(std::unique_ptr<Session>& session, const TrainingConfig& config) const;
    void check_data(const Session& session) const;
    void follow_time(Session& session) const;

    const RunHistory& history_;
    ReplayOptions options_;
};

/// Takes the session's next step. `watch`: under an Inspector, which computes its gradients a
/// second time; a step that diverges is then returned instead of throwing DivergedError.
ReplayedStep replay_step(Session& session, bool watch, const MachinePeak& peak = {});

/// The difference: "loss was 1.25 and is 1.26"; empty if loss, grad_norm, lr and, if both have it,
/// grad_xxh3 are equal bit for bit.
std::string difference(const StepMetrics& then, const StepMetrics& now);

/// How many steps of a run gave the same bits when replayed.
struct RunComparison {
    std::int64_t steps = 0;           ///< steps compared
    std::int64_t same = 0;            ///< of these, those with the same bits
    std::int64_t with_gradients = 0;  ///< steps whose gradients were compared as well
};

/// Replays all steps. Calls `differs` for each step that is not the same, with the difference.
RunComparison compare_all(
    const RunHistory& history, const Replayer& replayer,
    const std::function<void(std::int64_t step, const std::string& difference)>& differs);

/// The former name of ReplayedGradients.
using RetakenStep [[deprecated("use ReplayedGradients")]] = ReplayedGradients;
/// The former name of ReplayedStep.
using RewoundStep [[deprecated("use ReplayedStep")]] = ReplayedStep;
/// The former name of ReplayStart.
using RewindStart [[deprecated("use ReplayStart")]] = ReplayStart;
/// The former name of ReplayOptions.
using RewindOptions [[deprecated("use ReplayOptions")]] = ReplayOptions;
/// The former name of Replayer.
using Rewinder [[deprecated("use Replayer")]] = Replayer;
/// The former name of replay_gradients().
[[deprecated("use replay_gradients")]] inline ReplayedGradients retake(
    LanguageModel& model, const RecordedStep& step, Generator& dropout,
    const MachinePeak& peak = {}) {
    return replay_gradients(model, step, dropout, peak);
}
/// The former name of replay_step().
[[deprecated("use replay_step")]] inline ReplayedStep take_again(Session& session, bool watch,
                                                                 const MachinePeak& peak = {}) {
    return replay_step(session, watch, peak);
}

}  // namespace tapestry
