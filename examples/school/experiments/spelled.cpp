// Implements spelled.h.
#include <tapestry/examples/school/experiments/spelled.h>

#include <tapestry/core/error.h>
#include <tapestry/examples/school/tasks/masked_words.h>

#include <fmt/format.h>

namespace tapestry::experiments {

bool can_spell(const Tokenizer& tokenizer, std::string_view text) {
    try {
        tokenizer.encode(text);
    } catch (const ValueError&) {
        return false;
    }
    return true;
}

Spelled spelled_stories(const Tokenizer& tokenizer, const std::string& text) {
    const std::vector<std::string> all = examples::stories_of(text);
    Spelled spelled;
    for (const std::string& story : all) {
        if (can_spell(tokenizer, story)) spelled.stories.push_back(story);
    }
    require<ValueError>(!spelled.stories.empty(),
                        "none of {} stories can be spelled in the model's vocabulary of {} "
                        "characters",
                        all.size(), tokenizer.vocab_size());
    spelled.share = static_cast<double>(spelled.stories.size()) / static_cast<double>(all.size());
    return spelled;
}

std::string remark_on_spelling(const Interval& share, const std::string& what) {
    if (share.mean >= 1) return "";
    return fmt::format(
        " The model's characters spell {:.0f} % of the {}; the others, which have a character that "
        "it does not know, were left out.",
        100 * share.mean, what);
}

}  // namespace tapestry::experiments
