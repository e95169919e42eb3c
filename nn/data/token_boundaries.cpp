#include <tapestry/nn/data/token_boundaries.h>

namespace tapestry {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}
bool continues(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// Whether a character of three or four bytes begins at `at`, after one that is not ASCII.
bool is_candidate(std::string_view text, std::size_t at) {
    return byte_at(text, at) >= 0xE0 && byte_at(text, at - 1) >= 0x80;
}

// The characters before and at `at`, each as up to four bytes; 0 if one of them is not whole.
std::uint64_t pair_at(std::string_view text, std::size_t at) {
    std::uint32_t left = 0;
    std::size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && continues(byte_at(text, begin))) --begin;
    if (byte_at(text, begin) < 0xC0) return 0;
    for (std::size_t i = begin; i < at; ++i) left = left << 8 | byte_at(text, i);

    const std::size_t size = byte_at(text, at) >= 0xF0 ? 4 : 3;
    if (at + size > text.size()) return 0;
    std::uint32_t right = 0;
    for (std::size_t i = at; i < at + size; ++i) {
        if (i > at && !continues(byte_at(text, i))) return 0;
        right = right << 8 | byte_at(text, i);
    }
    return std::uint64_t{left} << 32 | right;
}

std::size_t bytes_at(std::string_view text, std::size_t at) {
    return std::size_t{byte_at(text, at - 1)} << 8 | byte_at(text, at);
}

}  // namespace

void TokenBoundaries::add(std::string_view token) {
    for (std::size_t at = 1; at < token.size(); ++at) {
        if (!is_candidate(token, at)) continue;
        if (const std::uint64_t pair = pair_at(token, at)) {
            pairs_.insert(pair);
        } else {
            bytes_.set(bytes_at(token, at));
        }
    }
}

std::size_t TokenBoundaries::next(std::string_view word, std::size_t from) const {
    for (std::size_t at = from + 1; at < word.size(); ++at) {
        if (!is_candidate(word, at) || bytes_[bytes_at(word, at)]) continue;
        const std::uint64_t pair = pair_at(word, at);
        if (pair != 0 && !pairs_.contains(pair)) return at;
    }
    return word.size();
}

}  // namespace tapestry
