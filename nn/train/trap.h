// A trap for NaN: when a training diverges, its last step is taken again under an Inspector, which
// names the operation or parameter where NaN or infinity first appeared, and is saved, to be looked
// at with `tapestry replay`.
//
// Between steps it only holds on to the step's batches (the tensors, no copies) and notes where the
// random numbers stood: a step takes as long with it as without. Read next: recorded_step.h.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/train/recorded_step.h>

#include <functional>

namespace tapestry {

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
