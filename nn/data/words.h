// How GPT-2 splits a text into words before looking for tokens: no token crosses a word boundary.
//
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// The first of these alternatives that matches, greedily. std::regex supports neither \p{L} nor
// UTF-8; a hand-written scanner is shorter than the code around a library would be. Source: Radford
// et al. 2019 (GPT-2), section 2.2. Internal to nn/data. Read next: nn/data/bpe.h.
#pragma once

#include <cstddef>
#include <string_view>

namespace tapestry {

/// A longer word, in bytes, is cut into words of at most this length at whole characters, so text
/// without spaces (a genome, one line of digits) takes linear time and bounded memory.
inline constexpr std::size_t kLongestWord = std::size_t{1} << 20;

/// The end of the word that begins at byte `begin` < text.size(); the words' lengths sum to the
/// text's. A word is: the end of a contraction ('s, 't, 're, 've, 'm, 'll, 'd, in lower case); or,
/// including a space before it, a run of letters, of numbers, or of characters that are neither
/// these nor white space; or a run of white space, without its last character if a word follows.
/// At most kLongestWord bytes. `text` must be UTF-8. Time: linear in the word's length.
std::size_t word_end(std::string_view text, std::size_t begin);

/// The start of the character that holds byte `at`, or text.size().
std::size_t character_start(std::string_view text, std::size_t at);

/// The last byte position of `text` that is a word boundary regardless of what follows the text, so
/// a long text can be cut there into pieces without changing its words. 0 if there is none. The
/// character before it is not white space, that after it is of another kind, and one of the
/// following holds: the latter is white space; it is not ASCII; one of the two is a number. (A
/// letter after an apostrophe may end its word.) `text` must be UTF-8.
std::size_t last_cut(std::string_view text);

}  // namespace tapestry
