// A training step that can be taken again with the same bits: its batches and where the random
// numbers of dropout stood before each of them; the weights lie beside it as a model. Nothing of
// the optimiser is needed for that: a step's losses and gradients do not depend on it. And a trap
// that records the step at which a training diverges, for `tapestry replay`. Read next: rewind.h,
// which records any step of a run.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/models/gpt.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

struct RecordedBatch {
    Batch batch;
    std::uint64_t seed = 0;    ///< of the generator that dropout draws from
    std::uint64_t offset = 0;  ///< where it stood before the loss of this batch
};

struct RecordedStep {
    std::int64_t step = 0;                    ///< 1 is the first
    bool updated = false;                     ///< the weights are those after the step's update
    bool began_finite = true;                 ///< all weights were, before the first step
    std::vector<RecordedBatch> batches = {};  ///< whose gradients are added up
    std::int64_t micro_batches = 1;           ///< how many of these are one batch
    ComputeType compute = ComputeType::f32;   ///< what the model computed in: its file has no word
    ComputeType weights = ComputeType::f32;   ///< nor of what its weights were

    /// To be told of every batch, or each of its parts, before its loss is computed.
    void note(const Batch& batch, const Generator& dropout) {
        batches.push_back({batch, dropout.seed(), dropout.offset()});
    }
};

/// "batch 2 of 4", or "micro-batch 2 of 4"; i counts from 0.
std::string name_of_batch(const RecordedStep& step, std::size_t i);

/// A step taken again under Inspectors, up to the batch in which NaN or infinity first appeared.
struct RetakenStep {
    std::size_t batch = 0;                      ///< that one, or the last
    double loss = 0;                            ///< of that batch
    std::unique_ptr<Inspector> inspector = {};  ///< of that batch, finished
};

/// Losses and gradients as train() computes them, to the last bit. `dropout` is the generator of
/// the model's dropout; it ends where the step left it. The model's gradients are cleared before
/// and hold the sum afterwards. It computes in what the step did, then and later, and its weights
/// become what they were then.
RetakenStep retake(GPT& model, const RecordedStep& step, Generator& dropout,
                   const MachinePeak& peak = {});

/// What a finding means for a training: "batch 2 of 4: first NaN: parameter w ...; the update of
/// step 7 made it".
std::string finding_text(const RecordedStep& step, const RetakenStep& retaken);

/// What stands in step.json besides the step: how it went when it was recorded.
struct RecordedOutcome {
    std::string finding;
    std::uint64_t loss_bits = 0;  ///< of RetakenStep::loss, which may be NaN
    std::string built;  ///< instruction set and form of the operations: with others, other bits
};
RecordedOutcome outcome_of(const RecordedStep& step, const RetakenStep& retaken);

/// step.json in the model's directory. IoError.
void write_step(const std::filesystem::path& directory, const RecordedStep& step,
                const RecordedOutcome& outcome);
/// Throws IoError, naming the file, for what is damaged or does not fit the model.
RecordedStep read_step(const std::filesystem::path& directory, const GPTConfig& config,
                       RecordedOutcome& outcome);

inline constexpr const char* kStepName = "step.json";

// ---- a trap for NaN -----------------------------------------------------------------------------

// When a training diverges, its last step is taken again under an Inspector, which names the
// operation or parameter where NaN or infinity first appeared, and is saved, to be looked at with
// `tapestry replay`. Between steps the trap only holds on to the step's batches (the tensors, no
// copies) and notes where the random numbers stood: a step takes as long with it as without.

class Trap {
public:
    /// The step goes to `directory`, with the model and the tokenizer. `dropout` is the generator
    /// that the model's dropout draws from. All must outlive the trap. `micro_batches`: parts of
    /// each batch; `steps` were taken before.
    Trap(GPT& model, Generator& dropout, const Tokenizer& tokenizer,
         std::filesystem::path directory, std::int64_t micro_batches = 1, std::int64_t steps = 0);

    /// To be told of every batch, or of each of its parts, before its loss is computed.
    void note(const Batch& batch);
    /// To be told of every step after its update.
    void stepped(std::int64_t step);

    /// f(). A DivergedError that it throws comes out with the finding added and the step saved.
    void guard(const std::function<void()>& f);

private:
    std::string take_again();
    void save(const RecordedOutcome& outcome) const;

    GPT& model_;
    Generator& dropout_;
    const Tokenizer& tokenizer_;
    std::filesystem::path directory_;
    RecordedStep step_;
};

}  // namespace tapestry
