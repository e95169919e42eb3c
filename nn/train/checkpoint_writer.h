// Checkpoints of a run, written while it goes on: the state is copied, which is all that the run
// waits for, and a thread of the lowest priority writes the copy. One is written at a time.
//
// A checkpoint is one commit (nn/io/manifest.h) of everything that belongs together: model,
// metrics, the state to go on from, and which earlier states go. Read next: training_run.h, which
// says when.
#pragma once

#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/io/commit.h>
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

// ---- which stay ---------------------------------------------------------------------------------

// The latest are for going on, and the best is what one may want to go back to. All others are for
// looking at steps again: at equal distances, so that no step is far from one, and at twice the
// distance when they take too much room.

struct Retention {
    std::int64_t keep = 1;                  ///< of those to go on from, the latest so many
    std::optional<std::int64_t> best = {};  ///< a step that stays
    std::int64_t rewind_every = 0;          ///< and all multiples of this; 0: none
    /// And those where a part of the run with settings of its own began.
    std::vector<std::int64_t> begun = {};
};

/// Those that may go. `stored` ascends by steps, and its last stays in any case.
std::vector<StoredCheckpoint> superseded(const std::vector<StoredCheckpoint>& stored,
                                         const Retention& retention);

/// The distance at which states of `bytes` each stay within `budget` until the last of `steps`
/// steps, and a step between two of them is about half a second away at `step_seconds` each. 0 if
/// not even three have room.
std::int64_t rewind_distance(std::int64_t steps, double step_seconds, double bytes, double budget);

// ---- writing ------------------------------------------------------------------------------------

/// What is to be written, besides the model.
struct CheckpointContents {
    bool state = true;  ///< all that a run goes on from
    CheckpointPurpose purpose = CheckpointPurpose::resume;
    bool best = false;       ///< the model also as the best so far
    bool keep_best = false;  ///< the checkpoint of RunState::best stays
    std::int64_t keep = 1;   ///< Retention::keep
    bool at_once = false;    ///< written before start() returns: without a copy or a thread
};

/// Of a checkpoint: parameters, and of those that are trained two moments.
std::uint64_t state_bytes(const GPT& model);

/// Throws IoError if checkpoints of this kind would not be written there: for want of room or of
/// rights, or since files are in the way that no run here has written. To be asked before a long
/// training rather than after it; finishes and tidies what a killed one has left.
void check_can_write(const RunDirectory& directory, const Session& session,
                     const CheckpointContents& contents);

class CheckpointWriter {
public:
    /// All of these outlive it. Unless the run was resumed, what is in the directory is another's
    /// and stays until the first commit.
    CheckpointWriter(const RunDirectory& directory, Session& session, MetricsFile& metrics);
    /// Waits for the one that is being written.
    ~CheckpointWriter();
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;

    /// Whether one is being written.
    bool is_busy();

    /// Waits for the one before, copies the session as it stands, with `state` and where the
    /// metrics end, and begins to write. Where there is no room for a copy it waits for that, too.
    /// A best model that could not be written comes first, and again before whatever is next.
    void start(RunState state, const CheckpointContents& contents);

    /// Waits until it is written.
    void wait();

    /// Why the latest that is over was not written. What was there before holds.
    const SaveProblem& problem() const { return problem_; }

    /// The last step that was written; nothing before the first.
    std::optional<std::int64_t> written() const { return written_; }
    std::int64_t count() const { return count_; }  ///< of those that were written

    /// What was left as it was, and why: files that are not what was saved there. Each once.
    std::vector<std::string> take_kept() { return std::exchange(kept_, {}); }

    /// That the run stood still, and that the thread computed.
    double waited_seconds() const { return waited_; }
    double thread_seconds() const { return thread_; }

private:
    struct Job {
        std::int64_t step = 0;
        RunState state;
        CheckpointContents contents;
        bool is_copied = false;  // rather than the session's own, which goes on
    };

    void refer_or_copy(const Checkpoint& checkpoint);
    void begin();
    double write(const Job& job);
    void begin_anew(Commit& commit) const;
    void write_state(Commit& commit, const Job& job) const;
    void write_best(Commit& commit, const NamedTensors& weights);
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
    bool is_ours_;  // the directory's contents
    SaveProblem problem_;
    std::vector<std::string> kept_;
    bool told_of_best_ = false;
    bool is_done_ = false;  // Commit::is_done() of one that threw
    std::optional<std::int64_t> written_;
    std::int64_t count_ = 0;
    double waited_ = 0, thread_ = 0;
};

}  // namespace tapestry
