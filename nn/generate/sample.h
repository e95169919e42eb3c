// Drawing text from a model, one token at a time: as ids (sample), or as text that can be shown
// while it is drawn:
//
//     sample_text(model, tokenizer, "Once upon", {.tokens = 100}, generator,
//                 [](const std::string& text) { std::cout << text << std::flush; return true; });
#pragma once

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/generate/decoding.h>

#include <cstdint>
#include <functional>
#include <string>

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

/// What a model draws, as text that can be shown while it is drawn: a character that takes several
/// tokens appears with its last one, and U+FFFD stands for what is none.
class DrawnText {
public:
    explicit DrawnText(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    std::string next(std::int64_t id);
    std::string finish() { return stream_.finish(); }

private:
    const Tokenizer& tokenizer_;
    utf8::Stream stream_;
};

/// The prompt and what the model writes after it; after an empty one, as at the beginning of a
/// text. `on_text` is told of the prompt and then of each piece, the empty ones too, as it is
/// drawn; returning false ends the drawing. Throws ValueError for a prompt that the tokenizer has
/// no tokens for, before anything is told, and as sample() does.
std::string sample_text(const GPT& model, const Tokenizer& tokenizer, const std::string& prompt,
                        const SampleOptions& options, Generator& generator,
                        const std::function<bool(const std::string&)>& on_text = {});

}  // namespace tapestry
