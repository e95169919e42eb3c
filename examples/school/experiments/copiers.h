// Networks that copy, all with the same number of parameters: what experiment how_far compares. The
// task and the Transformer are those of tasks/long_copy.h; the recurrent networks read with one RNN
// or LSTM and write with another.
#pragma once

#include <tapestry/examples/school/tasks/long_copy.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapestry::experiments {

/// "RNN", "LSTM, forget bias 0", "LSTM, forget bias 1", "LSTM, Bahdanau", "Transformer".
const std::vector<std::string>& copier_names();

/// From a batch to logits [B, symbols, alphabet].
struct Copier {
    std::shared_ptr<Module> module;
    std::function<Tensor(const examples::CopyBatch&)> logits;
};

/// As wide as 20,000 parameters allow.
Copier widest_copier(const std::string& name, const examples::LongCopyOptions& options);

/// Adds `value` to the bias of an LSTM's forget gate: at 1 it begins at sigmoid(1) = 0.73 instead
/// of 1/2. Nothing for other networks.
void set_forget_bias(Recurrent& network, double value);

}  // namespace tapestry::experiments
