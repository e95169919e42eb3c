// Where the time of a training step goes, and how much of it the machine would need at least: of
// any model, step by step as TrainStep takes them; and what a network would cost that step. Read
// next: autograd/profile/profiler.h, the clock; docs/profiling.md, how to read what it finds.
#pragma once

#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/train_step.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::bench {

// ---- a network's cost ---------------------------------------------------------------------------

// What a network costs a step that several processes share: a model of three numbers for the
// network, and of what a step without it is like. Only what is exposed counts, and that is
//
//     gradients     bucket k of K sets out when backward has r_k seconds to go, on a line that
//     sends
//                   one after the other:  end_k = max(end_k-1, -r_k) + bytes / K / rate + messages;
//                   exposed is end_K + latency, if that is later than backward's end, 0
//     norms         messages and a latency: they say when all may go on
//     parameters    bytes / rate + messages + latency, of which nothing is hidden
//     the end       messages and a latency: all have them
//
// `tapestry profile` under mpirun has it from the step that it measures; docs/distributed.md holds
// it against measurements. Read next: nn/data_parallel/gradients_underway.h, whose times these are.

/// A network line between two machines.
struct Line {
    double bytes_per_second = 125e6;  ///< out of a machine, and into it: 1 Gbit/s
    double latency = 0.2e-3;          ///< seconds until a message is there
    double seconds_per_message = 0;   ///< that a process is busy with one, whatever its size
};

/// A step of one of several processes.
struct SharedStep {
    double compute = 0;              ///< seconds of it, nothing being waited for
    std::vector<double> to_go = {};  ///< by bucket: seconds of backward after it has set out
    double bytes = 0;                ///< of all parameters
    int processes = 2;               ///< number of processes that share it
    double subtrees = 1;             ///< of gradients that each sends: 1 for powers of two
};

/// The seconds that a network adds to a step.
struct NetworkCost {
    double gradients = 0;  ///< seconds on the line
    double exposed = 0;    ///< of these, and of latency: after backward's end
    double rest = 0;       ///< norms and parameters
    double total = 0;      ///< of the step
    /// Of the gradients' seconds.
    double hidden_share() const { return gradients > 0 ? 1 - exposed / gradients : 0; }
};

/// Throws ValueError for a step without buckets, and a rate that is not positive.
NetworkCost network_cost(const SharedStep& step, const Line& line);

/// The same step of other processes, which have `work` times as much to do each: 1 for a batch that
/// grows with them, this one's processes / processes for one that is shared. The update and what
/// lies outside of batches count as work.
SharedStep shared_by(const SharedStep& step, int processes, double work);

// ---- the profile --------------------------------------------------------------------------------

/// What to profile, and how long.
struct ProfileOptions {
    std::int64_t steps = 10;   ///< steps that count
    std::int64_t warm_up = 3;  ///< steps before them
    /// Parts that a batch is cut into, which processes share.
    std::int64_t micro_batches = 1;
    Communicator* communicator = nullptr;  ///< null: there is one process
    DType products = DType::f32;           ///< whose peak is told; a GPT says it itself
};

/// What a process told the others in the fastest step; seconds.
struct Messages {
    int processes = 1;      ///< number of processes
    double bytes = 0;       ///< sent
    double gradients = 0;   ///< some were under way
    double waited = 0;      ///< of these: the backward pass did not hide them
    double parameters = 0;  ///< new ones going round
    double waiting = 0;     ///< for anything
    SharedStep step = {};   ///< what is left without that, for the model of a network's cost
    /// The share of the gradients' time on the way that backward hid.
    double hidden_share() const { return gradients > 0 ? 1 - waited / gradients : 0; }
};

/// The rows are those of the fastest step, which was disturbed least: a mean over steps would add
/// up whatever else the machine had to do.
struct StepProfile {
    MachinePeak peak;                       ///< the machine's rates
    std::vector<double> step_seconds = {};  ///< of every step
    std::size_t peak_bytes = 0;             ///< peak of the memory in tensors
    std::vector<ProfileRow> rows = {};      ///< of the fastest step
    std::vector<ProfileRow> outside = {};   ///< of the same, outside of the tape
    Messages messages = {};                 ///< with other processes; zeros without
};

/// `draw` gets the next batch, which has a row of its own; `loss` computes that batch's. Parameters
/// are updated, at learning rate `lr`.
StepProfile profile_step(Optimizer& optimizer, double lr, const std::function<void()>& draw,
                         const BatchLoss& loss, const ProfileOptions& options = {});

/// A GPT's, with what a report says of it.
struct GPTProfile {
    std::string what;             ///< "GPT on random tokens"
    GPTConfig config;             ///< of the model
    std::int64_t batch = 0;       ///< sequences per step
    std::int64_t parameters = 0;  ///< number of the model's parameters
    StepProfile profile = {};     ///< what was measured
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

/// What the text and the JSON of a profile have to say of the whole.
struct ProfileTotals {
    ProfiledWork tape,  ///< operations on the tape
        outside,        ///< all else
        all;            ///< both
    Times step;         ///< seconds of a step
    double flops;       ///< of the model's products, by its sizes
    double of_peak;     ///< counted by these and the median step

    /// Sums up the rows of the profile.
    explicit ProfileTotals(const GPTProfile& p)
        : tape(sum_of(p.profile.rows).total()),
          outside(sum_of(p.profile.outside).total()),
          all(tape),
          step(times_of(p.profile.step_seconds)),
          flops(step_flops(p.config, p.batch)),
          of_peak(p.profile.peak.least_seconds(flops, 0) / step.median) {
        all += outside;
    }
};

}  // namespace tapestry::bench
