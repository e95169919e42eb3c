// Token ids in and out: files of them, for models whose tokenizer is not at hand, and the text of
// those that a model draws.
#pragma once

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/tokenizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::cli {

/// The whole numbers in a file, separated by white space. Throws IoError for what is no number, an
/// id outside a vocabulary of `vocab`, with its position counted from 0, or fewer than two of them.
std::vector<std::int64_t> read_tokens(const std::string& path, std::int64_t vocab);

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

}  // namespace tapestry::cli
