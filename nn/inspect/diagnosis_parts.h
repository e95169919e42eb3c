// What the rules of diagnosis.cpp share with RunWatch (run_watch.cpp) and with the commands that
// they suggest (command_words.cpp). Internal to nn/inspect.
#pragma once

#include <tapestry/nn/inspect/diagnosis.h>

#include <string>
#include <vector>

namespace tapestry {

/// A loss that no sound model has after its first step: an untrained model's is near guessing.
double clearly_above(double guessing);

/// The words of a shell command, with their quotes.
std::vector<std::string> words_of(const std::string& command);

/// The loss of the model that a run began from: on the examples of the validation loss, if it was
/// measured there, otherwise that of the first step.
double loss_at_start(const RunFacts& facts);
/// Whether a run that began from a trained model is worse than that was, beyond the noise of a
/// batch.
bool is_worse_than_its_start(const RunFacts& facts, double loss);

}  // namespace tapestry
