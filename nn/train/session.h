// A run as a value: a task (task.h), such as a language model on a text, with its optimiser, random
// numbers and schedule. It takes one step at a time, and can be saved and left after any of them.
//
//     Session session({.text = "input.txt", .model = {.layers = 2}, .steps = 500});
//     while (!session.is_finished()) {
//         const StepMetrics m = session.take_step();
//         if (m.val_loss) fmt::print("{}: {}\n", m.step, *m.val_loss);
//     }
//
// Nothing is printed and no file is written: for that see training_run.h. Read next:
// training_config.h, what decides it all; loop.h, the steps of any other model; nn/io/tokenize.h,
// how a text becomes ids.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/sentence_probe.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/optim/optimizer.h>
#include <tapestry/nn/train/resume.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/nn/train/training_config.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

// ---- the training -------------------------------------------------------------------------------

/// Those who watch a session's steps; both may be empty.
struct SessionWatchers {
    /// Every batch, or each of its micro-batches, before its loss is computed.
    std::function<void(const Batch&)> batch = {};
    /// TrainCallbacks::before_update.
    std::function<void(std::int64_t step)> before_update = {};
    /// With several processes the gradient is in slices: selects the steps whose before_update
    /// finds it whole. Empty: no step.
    std::function<bool(std::int64_t step)> reads_gradients = {};
};

class SharedSession;

/// A training run as a value, see above.
class Session {
public:
    /// Begins the configuration's task, with the cache for its text, and freezes what is not to be
    /// trained. Throws IoError and ValueError for settings out of range, and as the task does: for
    /// files that cannot be read, a text that is too short, more memory than there is.
    explicit Session(const TrainingConfig& config, const TextCache* cache = nullptr);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// What it was given, with the model's settings as they became: the vocabulary is the text's,
    /// and a model to begin with brings its own.
    const TrainingConfig& config() const { return config_; }
    Task& task() { return *task_; }              ///< what is learned
    const Task& task() const { return *task_; }  ///< what is learned
    Module& module() { return task_->model(); }  ///< the model that is trained, of any task
    const Module& module() const { return task_->model(); }  ///< the model that is trained

    // Of a text. These throw ValueError for another task.
    const Corpus& corpus() const;        ///< the text
    const TextData& data() const;        ///< its ids, split
    const Tokenizer& tokenizer() const;  ///< of the text
    /// The former name of corpus().hash.
    [[deprecated("use corpus().hash")]] const std::string& data_checksum() const {
        return task_->data_hash();
    }
    /// The model that is trained; as<GPT>(model()) for what only a GPT has.
    LanguageModel& model();
    const LanguageModel& model() const;  ///< the model that is trained

    /// Of the parameters that are not frozen.
    Optimizer& optimizer() { return *optimizer_; }
    /// Dropout draws from it.
    Generator& weights_generator() { return weights_; }

    /// Sets the callbacks of the steps that follow.
    void watch(SessionWatchers watchers) { watchers_ = std::move(watchers); }

    /// What each process has done since its first step here, by rank. With several processes
    /// (shared_session.h) only process 0 calls it, while the others follow.
    std::vector<ProcessAccount> accounts();

    /// Makes a SharedSession that the session owns.
    [[deprecated("use SharedSession")]] void share_among(Communicator& communicator);
    /// The former SharedSession::follow().
    [[deprecated("use SharedSession::follow")]] void follow();
    /// The former SharedSession::dismiss().
    [[deprecated("use SharedSession::dismiss")]] void dismiss();

    /// Bytes of weights in f32 from which a run on text, whose steps have the same lengths, plans
    /// its memory even if planning is off: an allocator that keeps a block for every size holds a
    /// sixth more.
    static constexpr std::size_t kPlannedBytes = std::size_t{64} << 20;
    /// Null unless planning_enabled() or it is such a run.
    const PlannedMemory* planned_memory() { return loop_->step().planned_memory(); }

    /// Steps taken.
    std::int64_t steps() const { return loop_->steps(); }
    /// Whether all steps have been taken.
    bool is_finished() const { return loop_->is_finished(); }
    /// Whether this step is the last; in a run limited by time, known when the step begins.
    bool is_last(std::int64_t step) const { return loop_->is_last(step); }
    /// Whether an evaluation follows this step.
    bool evaluates_after(std::int64_t step) const { return loop_->evaluates_after(step); }
    /// In a run limited by time: takes its steps as if they began at this share of the time, which
    /// a clock would measure otherwise; they are counted from 0.
    void set_progress(std::function<double(std::int64_t step)> progress) {
        progress_ = std::move(progress);
        start_loop(steps());
    }
    /// What the steps that were taken before it was resumed took; to be said ahead of the next.
    void set_seconds_before(double seconds) {
        seconds_before_ = seconds;
        start_loop(steps());
    }

    /// The next step, and the evaluation that is due after it. Throws DivergedError.
    StepMetrics take_step();

    /// The mean loss of the task's validation batches, for a text config().eval_batches of them,
    /// the same every time.
    double evaluate();
    /// The loss that evaluate() measured before the first step; NaN if it was not called then.
    double loss_at_start() const { return loss_at_start_; }

    /// The model's work as text. For a text: the first token and `tokens` more that it writes, with
    /// U+FFFD for what is no UTF-8. The same random numbers every time.
    std::string sample(std::int64_t tokens);

    /// What look() looks at, as text: the first tokens of the validation part, at most 24, and the
    /// one that follows. Empty for a task that has no such sequence.
    std::vector<std::string> sentence() const { return task_->sentence(); }
    /// The model's view of it now.
    SentenceProbe look();

    /// All that the next steps depend on, with the configuration; the text stays where it is.
    /// What it refers to is the session's own.
    Checkpoint checkpoint();

    /// It as one file (nn/io/checkpoint.h). Throws IoError.
    void save(const std::filesystem::path& file) { save_checkpoint(file, checkpoint()); }

    /// The saved session: it takes the same steps, bit for bit, as the other would have taken.
    /// Throws IoError for a damaged file or one that is not a session's checkpoint; ValueError for
    /// a difference that the options do not permit; and as the constructor does.
    static std::unique_ptr<Session> resume(const std::filesystem::path& file,
                                           const ResumeOptions& options = {});

    /// The same with a tokenizer that is at hand: neither the text's characters nor the model to
    /// begin with are asked for one. May be null.
    static std::unique_ptr<Session> resume(const std::filesystem::path& file,
                                           const ResumeOptions& options,
                                           std::unique_ptr<Tokenizer> tokenizer,
                                           const TextCache* cache = nullptr);

    /// A session with other settings that continues from this one's state: its weights, moments and
    /// random numbers; another seed starts new random numbers. `tokenizer` is a copy of
    /// this one's. Throws IoError for settings of another model, and ValueError as the constructor
    /// does.
    std::unique_ptr<Session> continued(const TrainingConfig& config,
                                       std::unique_ptr<Tokenizer> tokenizer,
                                       const TextCache* cache = nullptr);

    /// The same for any task, whose vocabulary is that of `start.directory`.
    static std::unique_ptr<Session> resume(const std::filesystem::path& file,
                                           const ResumeOptions& options, TaskStart start);
    /// The same for any task, whose vocabulary is that of `start.directory`.
    std::unique_ptr<Session> continued(const TrainingConfig& config, TaskStart start);

    /// With which of the overrides it was resumed, where they made a difference.
    const std::vector<std::string>& overridden() const { return overridden_; }

private:
    Session(TrainingConfig config, TaskStart start);
    void adapt();
    void start_loop(std::int64_t first_step);
    StepMetrics take_own_step();
    void calibrate();
    void draw_batch();
    void before_update(std::int64_t step);
    std::size_t moment_bytes() const;
    ProcessAccount own_account(std::size_t moment_bytes) const;
    void keep_settings_of(const OptimizerState& configured);
    void draw_anew_unless(std::uint64_t seed);
    CountedLoss next_loss();
    const TextTask& text_task() const;

    TrainingConfig config_;
    Generator weights_;
    Generator batches_;
    std::unique_ptr<Task> task_;
    std::unique_ptr<Optimizer> optimizer_;
    std::optional<TrainLoop> loop_;
    SessionWatchers watchers_;
    Batch batch_;                   // of which a part comes next,
    std::int64_t micro_batch_ = 0;  // the step's how manyth
    std::int64_t drawn_ = 0;        // batches, in this step
    double seconds_before_ = 0;
    double loss_at_start_ = NAN;
    std::function<double(std::int64_t)> progress_;  // empty: measured
    std::int64_t leaves_taken_ = 0;                 // by this process, in all steps
    Clock::time_point began_ = {};                  // the first of these
    std::vector<std::string> overridden_;
    friend class SharedSession;
    SharedSession* shared_ = nullptr;            // null: one process
    std::shared_ptr<SharedSession> own_shared_;  // share_among()'s
};

}  // namespace tapestry
