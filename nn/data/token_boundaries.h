// Where a word can be cut before its byte pairs are merged. Chinese, Japanese and Thai write no
// spaces, so their words (nn/data/words.h) are whole clauses, which hardly occur twice. Cut between
// any two characters that no token joins, they have short parts, which do.
// Read next: nn/data/bpe.cpp, which encodes the parts.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace tapestry {

/// The pairs of adjacent characters that occur within a token of a vocabulary. Merges make tokens
/// alone, so between any other two characters a merge never happens, and a word has the same tokens
/// as its parts. Only characters of three and more bytes in UTF-8 (after one of two or more) count:
/// words of other scripts are short.
class TokenBoundaries {
public:
    /// Adds a token's pairs of characters.
    void add(std::string_view token);
    /// The first byte position after `from` where no token continues; word.size() if there is none.
    /// Accepts any bytes.
    std::size_t next(std::string_view word, std::size_t from) const;

private:
    std::unordered_set<std::uint64_t> pairs_;  // of whole characters
    // A token may begin or end within a character: then the two bytes that meet are what counts.
    std::bitset<1 << 16> bytes_;
};

}  // namespace tapestry
