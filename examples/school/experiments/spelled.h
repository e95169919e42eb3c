// Stories in the vocabulary of a model that was trained elsewhere: one of characters may lack some
// of theirs.
#pragma once

#include <tapestry/examples/school/experiments/claim.h>
#include <tapestry/nn/data/tokenizer.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

/// Whether the tokenizer has all that the text is made of.
bool can_spell(const Tokenizer& tokenizer, std::string_view text);

/// The stories of a text that a tokenizer can spell, and their share of all.
struct Spelled {
    std::vector<std::string> stories = {};
    double share = 0;
};

/// Throws ValueError if it can spell none.
Spelled spelled_stories(const Tokenizer& tokenizer, const std::string& text);

/// " The model's characters spell 60 % of the stories; ..."; empty if none was left out.
std::string remark_on_spelling(const Interval& share, const std::string& what);

}  // namespace tapestry::experiments
