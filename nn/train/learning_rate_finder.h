// Which learning rate to begin with: a few steps with rates that grow from tiny to absurd, and the
// rate at which the loss fell fastest. The model and the optimiser are then as they were before.
//
//     const RateSearch search = find_learning_rate(model, optimizer, loss_of_next_batch);
//     fmt::print("{}", text_plot(...search.rates, search.losses...));
//     optimizer.set_lr(search.suggestion.value_or(1e-3));
#pragma once

#include <tapestry/nn/module/module.h>
#include <tapestry/nn/optim/optimizer.h>
#include <tapestry/nn/train/train_step.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tapestry {

/// How find_learning_rate() searches.
struct RateSearchOptions {
    double lowest = 1e-7;      ///< first rate
    double highest = 10;       ///< last rate
    std::int64_t steps = 100;  ///< from the first to the last, each larger by the same factor
    double clip = 0;           ///< largest global norm of the gradient, as in training; 0: none
    double smoothing = 0.9;    ///< share of the running mean of the losses that stays, in [0, 1)
    double diverged = 4;       ///< ends when the smoothed loss is this many times the lowest
};

/// What find_learning_rate() found.
struct RateSearch {
    std::vector<double> rates;   ///< of the steps that were taken
    std::vector<double> losses;  ///< smoothed, before each of these steps
    /// The rate at which the smoothed loss fell fastest, a fraction of the largest that works. None
    /// if it never fell.
    std::optional<double> suggestion;
};

/// Takes steps with growing rates until the last one, or until the loss is not finite or has
/// diverged. `loss` is that of a batch, as for train(). Afterwards parameters, buffers and the
/// optimiser have their former values, also if this throws; data and random generators have moved
/// on. Throws ValueError for options out of range, and DivergedError, as TrainStep does, if the
/// first loss is not finite. Source: Smith 2017, "Cyclical Learning Rates for Training Neural
/// Networks".
RateSearch find_learning_rate(Module& model, Optimizer& optimizer, const BatchLoss& loss,
                              const RateSearchOptions& options = {});

}  // namespace tapestry
