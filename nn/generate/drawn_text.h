// The text of the tokens that a model draws, while it draws them.
#pragma once

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/tokenizer.h>

#include <cstdint>
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

}  // namespace tapestry
