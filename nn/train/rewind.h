// Steps of a run, taken again to the same bits. A run leaves states behind at equal distances
// (checkpoint_writer.h); the nearest one before a step is loaded, the steps between are taken,
// under the configuration that each was taken with, and then the step itself, with whoever wants to
// watch.
//
//     const RunHistory history("model");
//     auto session = Rewinder(history).session_before(312);
//     const RewoundStep step = take_again(*session, true);
//     fmt::print("{}\n", difference(history.step(312), step.metrics));  // nothing
//
// Read next: bisect.h, which finds a step; begin_run.h, which goes on from one; replay.h.
#pragma once

#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/run_directory.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tapestry {

/// From where a step is taken again.
struct RewindStart {
    std::int64_t state = 0;  ///< the step after which that stood; 0: made anew
    std::int64_t steps = 0;  ///< to be taken before the one that was asked for
    double seconds = 0;      ///< that they took in the run, its evaluations included
};

/// "taking 250 steps from step 1000 on; in the run they took 31 s"; empty for what takes no longer
/// than three seconds.
std::string wait_text(const RewindStart& start);

struct RewindOptions {
    std::string text = {}, data = {};  ///< where the data lies now; both empty: where it lay
    const TextCache* cache = nullptr;
    /// Told before the steps between are taken. May be empty.
    std::function<void(const RewindStart&)> told = {};
};

/// A step that was taken again.
struct RewoundStep {
    StepMetrics metrics;                      ///< with grad_xxh3
    RecordedStep recorded;                    ///< its batches
    std::string diverged = {};                ///< why it ended before its update, if it did
    std::optional<RetakenStep> watched = {};  ///< of the last batch or part, if asked for
    std::vector<ParameterFlow> flow = {};     ///< what it did to every parameter
};

class Rewinder {
public:
    /// The history must live as long.
    explicit Rewinder(const RunHistory& history, RewindOptions options = {})
        : history_(history), options_(std::move(options)) {}

    /// The session that is to take the step, 1 to last_step() + 1, next; it takes no evaluations.
    /// Throws ValueError for another step, and for data that is not what it was; IoError for a
    /// state that is damaged; and as Session does.
    std::unique_ptr<Session> session_before(std::int64_t step) const;

    /// Takes the steps until `step` is next, of a session that was had from here.
    void advance(std::unique_ptr<Session>& session, std::int64_t step) const;

    /// Takes all steps of the run, those behind a state that was kept from that one.
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

/// The session's next step. `watch`: under an Inspector, with its gradients computed twice; also
/// one that diverges, which throws DivergedError otherwise.
RewoundStep take_again(Session& session, bool watch, const MachinePeak& peak = {});

/// What of the two is not the same: "loss was 1.25 and is 1.26"; empty if loss, grad_norm, lr and,
/// where both have it, grad_xxh3 have the same bits.
std::string difference(const StepMetrics& then, const StepMetrics& now);

/// How many of a run's steps had the same bits when they were taken again.
struct RunComparison {
    std::int64_t steps = 0;
    std::int64_t same = 0;
    std::int64_t with_gradients = 0;  ///< of these, those whose gradients were compared, too
};

/// Takes all of them. `differs` hears of each that is not the same, and of what its difference is.
RunComparison compare_all(
    const RunHistory& history, const Rewinder& rewinder,
    const std::function<void(std::int64_t step, const std::string& difference)>& differs);

}  // namespace tapestry
