// Texts at which sampling ends, found in text that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Passes on text until a stop text is complete, and holds back what may be the beginning of one.
/// The stop text itself is not passed on, as in llama.cpp's server (`stop`); Hugging Face's
/// `stop_strings` would keep it. The stop text that is complete first ends the text; of several in
/// the same piece, the one that begins first.
class StopTexts {
public:
    /// Throws ValueError for an empty stop text, which would end every text.
    explicit StopTexts(std::vector<std::string> stops);

    /// The text that cannot belong to a stop text any more; may be empty, and is after an end.
    std::string next(std::string_view text);
    /// The rest: what was held back, if no stop text was found.
    std::string finish();
    /// Whether a stop text was found.
    bool found() const { return found_; }

private:
    std::size_t possible_beginning() const;

    std::vector<std::string> stops_;
    std::string waiting_;
    bool found_ = false;
};

}  // namespace tapestry
