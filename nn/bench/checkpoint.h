// What saving checkpoints costs a training run: the same run with checkpoints at an interval and
// without, alternating, each in a directory of its own.
#pragma once

#include <tapestry/nn/models/gpt_config.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tapestry::bench {

struct CheckpointBench {
    GPTConfig model{.vocab = 65};
    std::int64_t batch = 12;
    std::int64_t steps = 300;
    std::int64_t rounds = 3;  ///< each is a run with checkpoints and one without
    double interval = 1;      ///< seconds between checkpoints
    /// Where checkpoints are written; removed at the end. Other disks give other numbers.
    std::filesystem::path directory = std::filesystem::temp_directory_path();
};

/// One training run.
struct CheckpointTraining {
    double seconds = 0;         ///< all steps but the first, without the final checkpoint
    double median = 0;          ///< of a step, waits included
    double longest = 0;         ///< after the first few steps
    double waited = 0;          ///< time that steps were blocked by checkpoints
    double writer_seconds = 0;  ///< CPU time of the writer thread
    std::int64_t checkpoints = 0;
};

struct CheckpointRow {
    std::int64_t parameters = 0;
    double bytes = 0;  ///< written per checkpoint
    double interval = 0;
    std::vector<CheckpointTraining> with = {}, without = {};

    /// Shares of the run's time, over all rounds: copying for checkpoints, and writing them.
    double waited_share() const;
    double writer_share() const;
    /// Longest step divided by the median step, over all rounds.
    double longest_share(const std::vector<CheckpointTraining>& trainings) const;
};

/// Throws ValueError for an invalid model, IoError if the directory is not writable.
CheckpointRow measure_checkpoints(const CheckpointBench& options);

}  // namespace tapestry::bench
