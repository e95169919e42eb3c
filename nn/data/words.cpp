#include <tapestry/nn/data/words.h>

#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>

namespace tapestry {
namespace {

using unicode::Kind;

struct Character {
    Kind kind;
    std::size_t bytes;
};

Character character_at(std::string_view text, std::size_t at) {
    const utf8::Step step = utf8::step(text, at);
    return {unicode::kind_of(step.code), step.bytes};
}

// Length in bytes of the contraction at `at`; 0 if there is none.
std::size_t contraction_at(std::string_view text, std::size_t at) {
    for (const std::string_view word : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
        if (text.substr(at, word.size()) == word) return word.size();
    }
    return 0;
}

// Start of the character before `at`.
std::size_t previous(std::string_view text, std::size_t at) {
    return character_start(text, at - 1);
}

}  // namespace

std::size_t character_start(std::string_view text, std::size_t at) {
    if (at >= text.size()) return text.size();
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
    return at;
}

std::size_t word_end(std::string_view text, std::size_t begin) {
    // As if the text ended where the longest word would.
    text = text.substr(0, character_start(text, begin + kLongestWord));
    if (const std::size_t bytes = contraction_at(text, begin)) return begin + bytes;

    // A space belongs to the word after it.
    std::size_t at = begin;
    if (text[at] == ' ' && at + 1 < text.size()) {
        if (character_at(text, at + 1).kind != Kind::space) ++at;
    }
    const Kind kind = character_at(text, at).kind;
    std::size_t last = at;  // start of the run's last character
    while (at < text.size()) {
        const Character next = character_at(text, at);
        if (next.kind != kind) break;
        last = at;
        at += next.bytes;
    }
    // White space before a word leaves its last character to the word, unless that is the only one.
    const bool leaves_one = kind == Kind::space && at < text.size() && last > begin;
    return leaves_one ? last : at;
}

std::size_t last_cut(std::string_view text) {
    if (text.empty()) return 0;
    for (std::size_t at = previous(text, text.size()); at > 0;) {
        const std::size_t before = previous(text, at);
        const Kind left = character_at(text, before).kind;
        const Kind right = character_at(text, at).kind;
        const bool is_ascii = static_cast<unsigned char>(text[at]) < 0x80;
        if (left != right && left != Kind::space &&
            (right == Kind::space || !is_ascii || left == Kind::number || right == Kind::number)) {
            return at;
        }
        at = before;
    }
    return 0;
}

}  // namespace tapestry
