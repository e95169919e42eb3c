// How a tokenizer.json splits text into words, within which pairs are merged: "pre_tokenizer", a
// sequence of steps that split what the one before has left. Internal to nn. Read next:
// json_tokenizer.h.
#pragma once

#include <tapestry/core/text/json_tree.h>
#include <tapestry/nn/tokenizers/split_pattern.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Splits text into words. Immutable.
class PreTokenizer {
public:
    /// Accepts Sequence, Split (by a string or a pattern; Isolated, or Removed and inverted, which
    /// keeps the matches), Digits, and, as the last step, ByteLevel without add_prefix_space.
    /// Throws ValueError, naming `what`, for anything else.
    PreTokenizer(const JsonNode& node, const std::string& what);

    /// Appends the words, whose lengths sum to the text's. Throws ValueError for text that the
    /// steps would remove. `text` must be UTF-8.
    void split(std::string_view text, std::vector<std::string_view>& words) const;

    /// The last place up to which the words do not depend on what follows the text, and after which
    /// they do not depend on what precedes it. 0 if there is none.
    std::size_t sure_end(std::string_view text) const;

private:
    struct Step {
        SplitPattern pattern;
        bool removes_rest;  // what does not match
        // Whether a character's match depends on no other character: pieces of a text, cut
        // anywhere, are split as the whole is.
        bool is_of_characters;
    };

    void add(const JsonNode& node, const std::string& what);
    void add_split(const JsonNode& node, const std::string& what);
    void split(std::string_view text, std::size_t step, std::vector<std::string_view>& words) const;
    std::size_t sure_end(std::string_view text, std::size_t step) const;

    std::vector<Step> steps_;
    bool is_byte_level_ = false;
};

}  // namespace tapestry
