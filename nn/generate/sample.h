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
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// A token that was sampled, and what the model said of it.
struct SampledToken {
    std::int64_t id = 0;  ///< its id
    /// softmax(logits)[id]: the model's own, before penalty, temperature and restrictions.
    double probability = 0;
    /// The likeliest ids and their probabilities, the likeliest first.
    std::vector<std::pair<std::int64_t, double>> likeliest = {};
};

/// How to draw the tokens. The options change the logits in the order in which Hugging Face's
/// `generate` does: repeat_penalty, temperature, top_k, top_p, min_p.
struct SampleOptions {
    std::int64_t tokens = 300;  ///< maximum number of tokens to draw
    double temperature = 0.8;   ///< logits are divided by it; 0 takes the likeliest token
    std::int64_t top_k = 0;     ///< only the k likeliest; 0 for all
    double top_p = 1;   ///< nucleus sampling: only the likeliest that together reach probability p
    bool cache = true;  ///< keep keys and values of earlier tokens; the result is the same
    /// Only tokens with p >= min_p max(p), p = softmax(logits / temperature); 0 for all. Source:
    /// Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling".
    double min_p = 0;
    /// Logits z of tokens among the last `repeat_last` become z / penalty if z > 0, else z penalty;
    /// 1: unchanged. Source: Keskar et al. 2019 (CTRL), section 4.1; for z <= 0, where dividing
    /// would favour repetition, as in llama.cpp and Hugging Face.
    double repeat_penalty = 1;
    /// Number of latest tokens, the prompt's included, that repeat_penalty considers, as in
    /// llama.cpp; 0 for all, as in Hugging Face.
    std::int64_t repeat_last = 64;
    /// An id that ends the sample and is not part of it. If this is empty, sample_text() sets the
    /// tokenizer's end of text, and ends at its declared_ends() as well.
    std::optional<std::int64_t> end = {};
    /// sample_text() continues after an end of text, which then is part of the text.
    bool past_end = false;
    /// sample_text() ends before the first of these that the model writes (stop_texts.h).
    std::vector<std::string> stop = {};
    std::int64_t probabilities = 0;  ///< number of SampledToken::likeliest
    /// Called for each token that is sampled, also for the end. May be empty.
    std::function<void(const SampledToken&)> on_choice = {};
};

/// Continues `prompt` (not empty) by up to options.tokens ids and returns only these. The model
/// sees at most the latest ids that fit its context: while all fit, each costs one row of work
/// thanks to the cache; after that every position changes with every token, and everything is
/// recomputed. `on_token` is called with each id as it is sampled; return false to stop. The model
/// should be in evaluation mode. Throws ValueError for options out of range, DivergedError for
/// logits that are not finite, IndexError for a prompt id outside the vocabulary. Source of top_p:
/// Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration".
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

/// Returns the prompt and the text that the model writes after it, up to the end of the document
/// (options.past_end: through it) or a stop text; an empty prompt is the beginning of a text.
/// `on_text` is called with the prompt and then with each piece, even if empty, as it is sampled;
/// return false to stop. Throws ValueError for a prompt that the tokenizer cannot encode and an
/// empty stop text, before `on_text` is called, and as sample() does.
std::string sample_text(const LanguageModel& model, const Tokenizer& tokenizer,
                        const std::string& prompt, const SampleOptions& options,
                        Generator& generator,
                        const std::function<bool(const std::string&)>& on_text = {});

}  // namespace tapestry
