// Sampling text from a model, one token at a time: as ids (sample), or as text that can be shown
// while it is generated:
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

/// How to draw the tokens.
struct SampleOptions {
    std::int64_t tokens = 300;  ///< number of tokens to draw
    double temperature = 0.8;   ///< logits are divided by it; 0 takes the likeliest token
    std::int64_t top_k = 0;     ///< only the k likeliest; 0 for all
    double top_p = 1;   ///< nucleus sampling: only the likeliest that together reach probability p
    bool cache = true;  ///< keep keys and values of earlier tokens; the result is the same
};

/// Continues `prompt` (not empty) by options.tokens ids and returns only these. The model sees at
/// most the latest ids that fit its context: while all fit, each costs one row of work thanks to
/// the cache; after that every position changes with every token, and everything is recomputed.
/// `on_token` is called with each id as it is sampled; return false to stop. The model should be in
/// evaluation mode. Throws ValueError for options out of range or logits that are not finite,
/// IndexError for a prompt id outside the vocabulary. Source of top_p: Holtzman et al. 2020, "The
/// Curious Case of Neural Text Degeneration".
std::vector<std::int64_t> sample(const LanguageModel& model,
                                 const std::vector<std::int64_t>& prompt,
                                 const SampleOptions& options, Generator& generator,
                                 const std::function<bool(std::int64_t)>& on_token = {});

/// Decodes sampled ids into text that can be shown immediately: a character of several tokens
/// appears with its last one, and U+FFFD replaces invalid bytes.
class StreamDecoder {
public:
    /// The tokenizer must outlive it.
    explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    /// The text that is complete with this id; may be empty.
    std::string next(std::int64_t id);
    /// The rest, U+FFFD for an incomplete character.
    std::string finish() { return stream_.finish(); }

private:
    const Tokenizer& tokenizer_;
    utf8::Stream stream_;
};

/// Its former name.
using DrawnText [[deprecated("use StreamDecoder")]] = StreamDecoder;

/// Returns the prompt and the text that the model writes after it; an empty prompt is the beginning
/// of a text. `on_text` is called with the prompt and then with each piece, even if empty, as it is
/// sampled; return false to stop. Throws ValueError for a prompt that the tokenizer cannot encode,
/// before `on_text` is called, and as sample() does.
std::string sample_text(const LanguageModel& model, const Tokenizer& tokenizer,
                        const std::string& prompt, const SampleOptions& options,
                        Generator& generator,
                        const std::function<bool(const std::string&)>& on_text = {});

}  // namespace tapestry
