// Where a training step's time goes, and how much of it the machine needs at least, for any model,
// step by step as TrainStep runs them; and what a network would add to the step. Read next:
// autograd/profile/profiler.h, the clock; docs/profiling.md, how to read the results.
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

// The network cost of a step that several processes share: a model with three numbers for the
// network, and a profile of the step without it. Only exposed time counts:
//
//     gradients     bucket k of K is ready when backward has r_k seconds to go; buckets are sent
//                   one after another:  end_k = max(end_k-1, -r_k) + bytes / K / rate + messages;
//                   exposed is end_K + latency if that is after backward's end, else 0
//     norms         messages and a latency: the signal to continue
//     parameters    bytes / rate + messages + latency, none of it hidden
//     the end       messages and a latency: everything has arrived
//
// `tapestry profile` under mpirun evaluates it for the measured step; docs/distributed.md compares
// it with measurements. Read next: nn/data_parallel/gradient_exchange.h, the source of the times.

/// A network line between two machines.
struct Line {
    double bytes_per_second = 125e6;  ///< in each direction, per machine: 1 Gbit/s
    double latency = 0.2e-3;          ///< seconds until a message arrives
    double seconds_per_message = 0;   ///< CPU time per message of any size
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
    double gradients = 0;  ///< seconds of sending
    double exposed = 0;    ///< the part of that, plus latency, after backward's end
    double rest = 0;       ///< norms and parameters
    double total = 0;      ///< of the step
    /// Share of the gradients' time that backward hides.
    double hidden_share() const { return gradients > 0 ? 1 - exposed / gradients : 0; }
};

/// Throws ValueError for a step without buckets or a rate that is not positive.
NetworkCost network_cost(const SharedStep& step, const Line& line);

/// The same step with another number of processes, each with `work` times as much to do: 1 if the
/// batch grows with them, step.processes / processes if they share the batch. The update and
/// everything outside of batches count as work.
SharedStep shared_by(const SharedStep& step, int processes, double work);

// ---- the profile --------------------------------------------------------------------------------

/// What to profile, and how long.
struct ProfileOptions {
    std::int64_t steps = 10;   ///< steps that count
    std::int64_t warm_up = 3;  ///< steps before them
    /// The number of parts of a batch, which the processes share.
    std::int64_t micro_batches = 1;
    std::int64_t context = 0;  ///< of a model on a text: tokens of a sequence; 0: the model's
    Communicator* communicator = nullptr;  ///< null: a single process
    DType products = DType::f32;           ///< dtype of the peak shown; profile_model() sets it
};

/// Communication of a process in the fastest step; times in seconds.
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

/// The rows are those of the fastest step, the least disturbed one: a mean over steps would include
/// the machine's other work.
struct StepProfile {
    MachinePeak peak;                       ///< the machine's rates
    std::vector<double> step_seconds = {};  ///< of every step
    std::size_t peak_bytes = 0;             ///< peak of the memory in tensors
    std::vector<ProfileRow> rows = {};      ///< of the fastest step
    std::vector<ProfileRow> outside = {};   ///< of the same, outside of the tape
    Messages messages = {};                 ///< with other processes; zeros without
};

/// Calls `draw` for the next batch, which gets its own row, then `loss` for that batch's loss.
/// Updates the parameters with learning rate `lr`.
StepProfile profile_step(Optimizer& optimizer, double lr, const std::function<void()>& draw,
                         const BatchLoss& loss, const ProfileOptions& options = {});

/// A model's profile, with what a report needs.
struct ModelProfile {
    std::string what;             ///< "GPT on random tokens"
    ModelConfig config;           ///< of the model
    std::int64_t batch = 0;       ///< sequences per step
    std::int64_t parameters = 0;  ///< number of the model's parameters
    double flops = 0;             ///< of a step's matrix products, by their sizes
    StepProfile profile = {};     ///< what was measured
};

/// The name from when a GPT was the only kind.
using GPTProfile = ModelProfile;

/// Uses AdamW with a rate so small that a trained model stays practically unchanged. `next` draws a
/// batch of `batch` sequences, or the next of its parts, which each process draws for itself.
ModelProfile profile_model(const std::string& what, LanguageModel& model, std::int64_t batch,
                           const std::function<Batch()>& next, const ProfileOptions& options = {});

/// Profiles an untrained model of any kind and shape, with weights and ids drawn from the seed.
/// Throws ValueError for an invalid model or one too large for the machine's memory.
ModelProfile profile_on_random_tokens(const ModelConfig& config, std::int64_t batch,
                                      const ProfileOptions& options = {}, std::uint64_t seed = 1);

/// Profiles a trained model from its directory, on random pieces of a text's training split, or on
/// a file of its task's examples. Throws as load_model_with_text and task_on_examples do, and
/// ValueError for a context longer than the model's, a text shorter than it, or too little memory.
ModelProfile profile_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                             const ProfileOptions& options = {}, std::uint64_t seed = 1);

/// The totals that a profile's text and JSON show.
struct ProfileTotals {
    ProfiledWork tape,  ///< operations on the tape
        outside,        ///< all else
        all;            ///< both
    Times step;         ///< seconds of a step
    double flops;       ///< ModelProfile::flops
    double of_peak;     ///< counted by these and the median step

    /// Sums up the rows of the profile.
    explicit ProfileTotals(const ModelProfile& p)
        : tape(sum_of(p.profile.rows).total()),
          outside(sum_of(p.profile.outside).total()),
          all(tape),
          step(times_of(p.profile.step_seconds)),
          flops(p.flops),
          of_peak(p.profile.peak.least_seconds(flops, 0) / step.median) {
        all += outside;
    }
};

}  // namespace tapestry::bench
