// Writes checkpoints while the run continues: the run blocks only for the copy of the state, and a
// thread of the lowest priority writes it. One checkpoint is written at a time.
//
// A checkpoint is one commit (nn/io/manifest.h) of everything that belongs together: the model, the
// metrics, the state to resume from, and the removal of earlier states. Read next: checkpoints.h,
// which decides when, and which stay.
#pragma once

#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/train/checkpoints.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/run_directory.h>

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tapestry {

/// What to write in addition to the model.
struct CheckpointContents {
    bool state = true;                                      ///< the state to resume from
    CheckpointPurpose purpose = CheckpointPurpose::resume;  ///< why it is written
    bool best = false;       ///< also save the model as the best so far
    bool keep_best = false;  ///< keep the checkpoint of RunState::best
    std::int64_t keep = 1;   ///< Retention::keep
    bool at_once = false;    ///< write before start() returns, without a copy or a thread
};

/// Size of a checkpoint: all parameters, and two moments for each that is trained.
std::uint64_t state_bytes(const Module& model);

/// Throws IoError if such checkpoints could not be written: no space, no permission, or files in
/// the way that no run here wrote. Call it before a long run. It also completes and cleans up what
/// a killed run left behind.
void check_can_write(const RunDirectory& directory, const Session& session,
                     const CheckpointContents& contents);

/// Writes checkpoints on a thread of its own while the run continues.
class CheckpointWriter {
public:
    /// All arguments must outlive the writer. Unless the run was resumed, the directory's contents
    /// belong to another run and stay until the first commit.
    CheckpointWriter(const RunDirectory& directory, Session& session, MetricsFile& metrics);
    /// Waits for the checkpoint being written.
    ~CheckpointWriter();
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;

    /// Whether a checkpoint is being written.
    bool is_busy();

    /// Waits for the previous checkpoint, copies the session with `state` and the current end of
    /// the metrics, and starts writing. Blocks until it is written if there is no memory for a
    /// copy. A best model that could not be written is retried first, unless `contents` has a
    /// better one; if it fails again, nothing else is written.
    void start(RunState state, const CheckpointContents& contents);

    /// Waits until it is written.
    void wait();

    /// Why the latest finished attempt failed. The previous checkpoint is then still valid.
    const SaveProblem& problem() const { return problem_; }

    /// Step of the last checkpoint written; empty before the first.
    std::optional<std::int64_t> written() const { return written_; }
    std::int64_t count() const { return count_; }  ///< checkpoints written

    /// Files left untouched because they are not what was saved there, and why. Reported once each.
    std::vector<std::string> take_kept() { return std::exchange(kept_, {}); }

    /// Seconds that the run was blocked, and CPU seconds of the thread.
    double waited_seconds() const { return waited_; }
    double thread_seconds() const { return thread_; }  ///< CPU seconds of the writing thread

private:
    struct Job {
        std::int64_t step = 0;
        RunState state;
        CheckpointContents contents;
        bool is_copied = false;  // else it refers to the session's own tensors
    };

    void refer_or_copy(const Checkpoint& checkpoint);
    void begin();
    double write(const Job& job);
    void begin_anew(Commit& commit) const;
    void write_state(Commit& commit, const Job& job) const;
    void write_best(Commit& commit, const NamedTensors& own, const DeferredTensors& weights);
    void finish(const Job& job);
    void take_over();

    const RunDirectory& directory_;
    Session& session_;
    MetricsFile& metrics_;
    Snapshot snapshot_;
    Job job_;
    std::packaged_task<double()> work_;
    std::future<double> running_;
    std::thread writing_;
    bool is_ours_;  // the directory's contents are this run's
    SaveProblem problem_;
    std::vector<std::string> kept_;
    bool told_of_best_ = false;
    bool is_done_ = false;  // Commit::is_done() of a commit that threw
    std::optional<std::int64_t> written_;
    std::int64_t count_ = 0;
    double waited_ = 0, thread_ = 0;
};

}  // namespace tapestry
