// A training from the command line: a text, a GPT, and a directory for what comes of it.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/loop.h>

#include <string>

namespace tapestry::cli {

struct TrainSettings {
    std::string text;
    std::string start;  ///< directory of a model to go on from; empty: begin anew
    std::string out;
    GPTConfig model;
    bool dropout_given = false;
    std::int64_t batch = 12;
    TrainOptions loop{.steps = 2000, .eval_every = 250};
    std::int64_t eval_batches = 50;
    WarmupCosine schedule;
    double weight_decay = 0.1;
    double beta2 = 0.99;
    std::uint64_t seed = 1337;
    int threads = num_threads();
    bool show_samples = false;
    bool trap_nan = false;
    bool no_report = false;
    TrainingRecipe recipe;  ///< the command line, for the report
};

/// Trains, prints how it goes, saves the model. The exit code; throws what stops it.
int run_training(const TrainSettings& settings);

}  // namespace tapestry::cli
