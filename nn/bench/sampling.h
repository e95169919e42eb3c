// Writing tokens one at a time, with the cache of keys and values and without.
#pragma once

#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/layers/kept_weights.h>
#include <tapestry/nn/models/gpt.h>

namespace tapestry::bench {

struct SamplingOptions {
    GPTConfig model{.vocab = 65};
    std::int64_t tokens = 256;
    WeightType weights = WeightType::f32;
};

struct SamplingRow {
    Times token = {};       ///< seconds that one takes
    double bytes = 0;       ///< of weights that each has to read
    double read_speed = 0;  ///< bytes per second at which the machine reads as many
    std::size_t peak_bytes = 0;
    double tokens_per_second_without_cache = 0;
    bool same_tokens = false;  ///< with the cache and without
    std::int64_t parameters = 0;

    /// Of the weights.
    double bytes_per_second() const { return bytes / token.median; }
    double of_peak() const { return bytes_per_second() / read_speed; }
};

/// An untrained model's, at temperature 0. Throws ValueError for a model that cannot be made.
SamplingRow measure_sampling(const SamplingOptions& options);

}  // namespace tapestry::bench
