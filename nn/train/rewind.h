// Replays steps of a run bit for bit. A run leaves evenly spaced states behind
// (checkpoint_writer.h); replaying loads the nearest state before a step, takes the steps in
// between, each under its original configuration, and then takes the step itself, optionally
// observed.
//
//     const RunHistory history("model");
//     auto session = Rewinder(history).session_before(312);
//     const RewoundStep step = take_again(*session, true);
//     fmt::print("{}\n", difference(history.step(312), step.metrics));  // nothing
//
// Read next: bisect.h, which finds a step; begin_run.h, which continues from one; replay.h.
#pragma once

#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/run_directory.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tapestry {

/// Where a replay starts.
struct RewindStart {
    std::int64_t state = 0;  ///< step of the state to load; 0: from scratch
    std::int64_t steps = 0;  ///< steps to take before the requested one
    double seconds = 0;      ///< their duration in the run, evaluations included
};

/// "replaying 250 steps from step 1000; in the run they took 31 s"; empty if they took less than
/// three seconds.
std::string wait_text(const RewindStart& start);

/// Where to find what the run read.
struct RewindOptions {
    std::string text = {},             ///< where the text is now; both empty: where it was
        data = {};                     ///< where the tokenized data is now
    const TextCache* cache = nullptr;  ///< of tokenized texts; null: none
    /// Called before the steps in between are taken. May be empty.
    std::function<void(const RewindStart&)> told = {};
};

/// A replayed step.
struct RewoundStep {
    StepMetrics metrics;                      ///< with grad_xxh3
    RecordedStep recorded;                    ///< its batches
    std::string diverged = {};                ///< why it ended before its update, if it did
    std::optional<RetakenStep> watched = {};  ///< of the last batch or micro-batch, if requested
    std::vector<ParameterFlow> flow = {};     ///< its effect on every parameter
};

/// Replays the steps of a run. See above.
class Rewinder {
public:
    /// The history must outlive the rewinder.
    explicit Rewinder(const RunHistory& history, RewindOptions options = {})
        : history_(history), options_(std::move(options)) {}

    /// A session whose next step is `step`, 1 to last_step() + 1; it skips evaluations. Throws
    /// ValueError for any other step, and if the data has changed; IoError for a damaged state; and
    /// as Session does.
    std::unique_ptr<Session> session_before(std::int64_t step) const;

    /// Advances a session returned by session_before() until its next step is `step`.
    void advance(std::unique_ptr<Session>& session, std::int64_t step) const;

    /// Replays all steps of the run, starting afresh from every saved state.
    void take_all(const std::function<void(const RewoundStep&)>& taken) const;

    /// Where session_before(step) begins.
    RewindStart start_of(std::int64_t step) const;

private:
    TrainingConfig config_of(std::size_t segment) const;
    std::unique_ptr<Session> session_at(const SavedFiles& files, std::int64_t step) const;
    void go_on_under(std::unique_ptr<Session>& session, const TrainingConfig& config) const;
    void check_data(const Session& session) const;

    const RunHistory& history_;
    RewindOptions options_;
};

/// Takes the session's next step. `watch`: under an Inspector, which computes its gradients a
/// second time; a step that diverges is then returned instead of throwing DivergedError.
RewoundStep take_again(Session& session, bool watch, const MachinePeak& peak = {});

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
    const RunHistory& history, const Rewinder& rewinder,
    const std::function<void(std::int64_t step, const std::string& difference)>& differs);

}  // namespace tapestry
