// The record of a training step from which it is replayed bit for bit: its batches, and the state
// of dropout's generator before each of them; the weights are saved next to it as a model. The
// optimiser's state is not needed, because a step's losses and gradients do not depend on it. Also
// a trap that records the step at which training diverges, for `tapestry replay`. Read next:
// replay.h, which replays it.
#pragma once

#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/train/task.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// A batch as the recorded step saw it.
struct RecordedBatch {
    Batch batch;               ///< inputs and targets
    std::uint64_t seed = 0;    ///< of dropout's generator
    std::uint64_t offset = 0;  ///< its offset before the loss of this batch
};

/// A step that can be taken again.
struct RecordedStep {
    std::int64_t step = 0;                    ///< counted from 1
    bool updated = false;                     ///< the weights are those after the step's update
    bool began_finite = true;                 ///< all weights were finite before the first step
    std::vector<RecordedBatch> batches = {};  ///< their gradients are summed
    std::int64_t micro_batches = 1;           ///< number of these per batch
    ComputeType compute = ComputeType::f32;   ///< not recorded in the model's file
    ComputeType weights = ComputeType::f32;   ///< type of the weights, likewise

    /// Call for every batch, or each of its micro-batches, before its loss is computed.
    void note(const Batch& batch, const Generator& dropout) {
        batches.push_back({batch, dropout.seed(), dropout.offset()});
    }
};

/// "batch 2 of 4", or "micro-batch 2 of 4"; i counts from 0.
std::string name_of_batch(const RecordedStep& step, std::size_t i);

/// What step.json holds in addition to the step: its outcome when recorded.
struct RecordedOutcome {
    std::string finding;          ///< finding_text() when it was recorded
    std::uint64_t loss_bits = 0;  ///< of ReplayedGradients::loss, which may be NaN
    std::string built;  ///< instruction set and fused or unfused ops: others give other bits
};

/// Writes step.json into the model's directory. Throws IoError.
void write_step(const std::filesystem::path& directory, const RecordedStep& step,
                const RecordedOutcome& outcome);
/// Throws IoError, naming the file, if it is damaged or does not fit the model.
RecordedStep read_step(const std::filesystem::path& directory, const Task& task,
                       RecordedOutcome& outcome);
/// The same for a language model of this configuration.
RecordedStep read_step(const std::filesystem::path& directory, const ModelConfig& config,
                       RecordedOutcome& outcome);

inline constexpr const char* kStepName = "step.json";  ///< the file, in the model's directory

// ---- a trap for NaN -----------------------------------------------------------------------------

// When training diverges, the trap replays the last step under an Inspector, which names the op or
// parameter where NaN or infinity first appeared, and saves the step for `tapestry replay`. Between
// steps it only holds references to the step's batches and the generator's state, so it does not
// slow training down.

/// Records the step at which training diverges.
class Trap {
public:
    /// Saves the step to `directory`, with the task's model. `dropout` is the generator of the
    /// model's dropout. All must outlive the trap. `micro_batches`: per batch; `steps`: taken
    /// before.
    Trap(Task& task, Generator& dropout, std::filesystem::path directory,
         std::int64_t micro_batches = 1, std::int64_t steps = 0);
    /// The same for a language model and its tokenizer.
    Trap(LanguageModel& model, Generator& dropout, const Tokenizer& tokenizer,
         std::filesystem::path directory, std::int64_t micro_batches = 1, std::int64_t steps = 0);

    /// Call for every batch, or each of its micro-batches, before its loss is computed.
    void note(const Batch& batch);
    /// Call after every step's update.
    void stepped(std::int64_t step);

    /// Runs f(). Saves the step of a DivergedError and rethrows it with the finding added.
    void guard(const std::function<void()>& f);

private:
    Trap(std::shared_ptr<Task> task, Generator& dropout, std::filesystem::path directory,
         std::int64_t micro_batches, std::int64_t steps);
    std::string replay();
    void save(const RecordedOutcome& outcome) const;

    std::shared_ptr<Task> task_;  // or not owned
    Generator& dropout_;
    std::filesystem::path directory_;
    RecordedStep step_;
};

}  // namespace tapestry
