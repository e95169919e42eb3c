// What saving checkpoints costs a training run: the same run with checkpoints at an interval and
// without, alternating, each in its own directory.
#pragma once

#include <tapestry/nn/models/gpt_config.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace tapestry::bench {

/// The model to train, and how often to save it.
struct CheckpointBench {
    GPTConfig model{.vocab = 65};  ///< model to train, on random tokens
    std::int64_t batch = 12;       ///< sequences per step
    std::int64_t steps = 300;      ///< steps of each run
    std::int64_t rounds = 3;       ///< each with one run with checkpoints and one without
    double interval = 1;           ///< seconds between checkpoints
    /// Directory for the checkpoints, which are removed at the end. The results depend on its disk.
    /// Empty: the system's directory for temporary files ($TMPDIR or /tmp).
    std::filesystem::path directory = {};
    /// Called after every step. What it throws ends the measurement, and leaves no checkpoints.
    std::function<void()> stepped = {};
};

/// One training run.
struct CheckpointTraining {
    double seconds = 0;            ///< of all its steps, without the last checkpoint
    double median = 0;             ///< of a step, including waits
    double longest = 0;            ///< of all but the first few
    double waited = 0;             ///< that steps waited for checkpoints
    double writer_seconds = 0;     ///< of CPU, by the thread that writes
    std::int64_t checkpoints = 0;  ///< checkpoints that were written
    std::int64_t parameters = 0;   ///< of the model that was trained
};

/// The cost of saving a model of this size at this interval.
struct CheckpointRow {
    std::int64_t parameters = 0;                ///< number of the model's parameters
    double bytes = 0;                           ///< that a checkpoint writes
    double interval = 0;                        ///< seconds between checkpoints
    std::vector<CheckpointTraining> with = {},  ///< with checkpoints, one per round
        without = {};                           ///< without, one per round

    /// Shares of the run's time, over all rounds: copying for checkpoints, and writing them.
    double waited_share() const;
    /// CPU seconds of the writing thread, as a share of the same time.
    double writer_share() const;
    /// Longest step divided by the median step, over all rounds.
    double longest_share(const std::vector<CheckpointTraining>& trainings) const;
};

/// Throws ValueError for an invalid model, IoError if the directory is not writable.
CheckpointRow measure_checkpoints(const CheckpointBench& options);

}  // namespace tapestry::bench
