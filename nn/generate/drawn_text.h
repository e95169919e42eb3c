// The text of the tokens that a model draws, while it draws them.
//
//     sample_text(model, tokenizer, "Once upon", {.tokens = 100}, generator,
//                 [](const std::string& text) { std::cout << text << std::flush; return true; });
//
// Read next: sample.h, which draws them.
#pragma once

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/generate/sample.h>

#include <cstdint>
#include <functional>
#include <string>

namespace tapestry {

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
