// Where the time of a training step goes, and how much of it the machine would need at least: of
// any model, step by step as TrainStep takes them. Read next: autograd/profile/profiler.h, the
// clock; docs/profiling.md, how to read what it finds.
#pragma once

#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/nn/bench/network_cost.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/train_step.h>

#include <functional>
#include <string>
#include <vector>

namespace tapestry::bench {

struct ProfileOptions {
    std::int64_t steps = 10;
    std::int64_t warm_up = 3;  ///< steps before them
    /// Parts that a batch is cut into, which processes share.
    std::int64_t micro_batches = 1;
    Communicator* communicator = nullptr;  ///< null: there is one process
    DType products = DType::f32;           ///< whose peak is told; a GPT says it itself
};

/// What a process told the others in the fastest step; seconds.
struct Messages {
    int processes = 1;
    double bytes = 0;       ///< sent
    double gradients = 0;   ///< some were under way
    double waited = 0;      ///< of these: the backward pass did not hide them
    double parameters = 0;  ///< new ones going round
    double waiting = 0;     ///< for anything
    SharedStep step = {};   ///< what is left without that, for the model of a network's cost
    double hidden_share() const { return gradients > 0 ? 1 - waited / gradients : 0; }
};

/// The rows are those of the fastest step, which was disturbed least: a mean over steps would add
/// up whatever else the machine had to do.
struct StepProfile {
    MachinePeak peak;
    std::vector<double> step_seconds = {};  ///< of every step
    std::size_t peak_bytes = 0;
    std::vector<ProfileRow> rows = {};     ///< of the fastest step
    std::vector<ProfileRow> outside = {};  ///< of the same, outside of the tape
    Messages messages = {};
};

/// `draw` gets the next batch, which has a row of its own; `loss` computes that batch's. Parameters
/// are updated, at learning rate `lr`.
StepProfile profile_step(Optimizer& optimizer, double lr, const std::function<void()>& draw,
                         const BatchLoss& loss, const ProfileOptions& options = {});

/// A GPT's, with what a report says of it.
struct GPTProfile {
    std::string what;  ///< "GPT on random tokens"
    GPTConfig config;
    std::int64_t batch = 0;
    std::int64_t parameters = 0;
    StepProfile profile = {};
};

/// With AdamW, at so small a rate that a trained model stays what it is. `next` draws a batch of
/// `batch` sequences, or the next of its parts, of which each process draws its own.
GPTProfile profile_gpt(const std::string& what, GPT& model, std::int64_t batch,
                       const std::function<Batch()>& next, const ProfileOptions& options = {});

/// Of an untrained GPT of any shape, whose weights and ids are drawn from the seed. Throws
/// ValueError for a model that cannot be made or that the machine has no memory for.
GPTProfile profile_on_random_tokens(const GPTConfig& config, std::int64_t batch,
                                    const ProfileOptions& options = {}, std::uint64_t seed = 1);

/// Of a trained one, from its directory, on random pieces of a text's training part. Throws as
/// load_model_with_text does, and ValueError for a text shorter than the model's context and for
/// too little memory.
GPTProfile profile_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                           const ProfileOptions& options = {}, std::uint64_t seed = 1);

}  // namespace tapestry::bench
