// Where GPT-2 cuts a text before it looks for tokens: no token reaches across such a cut.
//
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// The first of these alternatives that matches, as far as it reaches. std::regex knows neither
// \p{L} nor UTF-8; a scanner of our own is shorter than what a library would need around it.
// Source: Radford et al. 2019 (GPT-2), section 2.2. Internal to nn/data. Read next: nn/data/bpe.h.
#pragma once

#include <cstddef>
#include <string_view>

namespace tapestry {

/// The end of the word that begins at byte `begin` < text.size(), so that the words' lengths sum to
/// the text's. A word is: a contraction's end ('s, 't, 're, 've, 'm, 'll, 'd, in lower case); or,
/// with the space before it, a run of letters, of numbers, or of what is neither these nor white
/// space; or a run of white space, less its last character if a word follows. `text` must be UTF-8.
/// Time: linear in the word's length.
std::size_t word_end(std::string_view text, std::size_t begin);

/// The last byte of `text` at which a word begins and another has ended whatever the text continues
/// with: so a long text can be cut into pieces, and its words are theirs. 0 if there is no such
/// place. Before it stands no white space, after it a character of another kind, and one of the
/// following holds: that is white space; it is not ASCII; one of the two is a number. (A letter
/// after an apostrophe may be its word's end.) `text` must be UTF-8.
std::size_t last_cut(std::string_view text);

}  // namespace tapestry
