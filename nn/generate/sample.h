// Drawing text from a model, one token at a time.
#pragma once

#include <tapestry/nn/generate/decoding.h>

namespace tapestry {

struct SampleOptions {
    std::int64_t tokens = 300;
    double temperature = 0.8;  ///< logits are divided by it; 0 takes the likeliest token
    std::int64_t top_k = 0;    ///< only the k likeliest; 0 for all
    double top_p = 1;          ///< only the likeliest that together reach probability p
    bool cache = true;         ///< keep keys and values of earlier tokens; the result is the same
};

/// Continues `prompt` (not empty) by options.tokens ids, which alone are returned. The model sees
/// at most its context of the latest ids: while they fit, each costs one row of work thanks to the
/// cache; beyond that every position changes with every token, and all is computed anew. `on_token`
/// is called with each as it is drawn; returning false ends the drawing. The model should be in
/// evaluation mode. Throws ValueError for options out of range or logits that are not finite,
/// IndexError for a prompt id outside the vocabulary. Source of top_p: Holtzman et al. 2020, "The
/// Curious Case of Neural Text Degeneration".
std::vector<std::int64_t> sample(const GPT& model, const std::vector<std::int64_t>& prompt,
                                 const SampleOptions& options, Generator& generator,
                                 const std::function<bool(std::int64_t)>& on_token = {});

}  // namespace tapestry
