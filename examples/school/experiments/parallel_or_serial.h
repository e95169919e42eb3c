// The networks of experiment parallel_or_serial, and what they learn in a time: an RNN, an LSTM and
// a Transformer with equally many parameters that read the same characters.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/tapestry.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapestry::experiments::parallel_or_serial {

inline constexpr std::int64_t kLongest = 512;  ///< characters in a row
inline constexpr const char* kNetworks[] = {"RNN", "LSTM", "Transformer"};

struct Network {
    std::shared_ptr<Module> module;
    std::function<Tensor(const Tensor& ids)> logits;
};

/// One of kNetworks; the recurrent ones have as many parameters as the Transformer, or just fewer.
Network make_network(const std::string& name, std::int64_t vocab, std::uint64_t seed);

/// Stories, and how many characters they use.
struct ReadText {
    std::int64_t vocab = 0;
    std::shared_ptr<const TextData> data;
};

/// Mean loss on 16 random rows of `length` characters.
Tensor loss_of(const Network& network, const ReadText& text, std::int64_t length,
               Generator& generator);

// ---- parallel_or_serial_learning.cpp

/// A trial for each network. The milliseconds of its step are measured here, on all threads; the
/// trials then take the steps that fit into a time.
std::vector<Trial> learning_trials(const Setting& setting, const ReadText& text);
std::vector<Claim> learning_claims();
/// Adds their table, figure and numbers.
void add_learning(const Setting& setting, const Outcomes& outcomes, Report& report);

}  // namespace tapestry::experiments::parallel_or_serial
