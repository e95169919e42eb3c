// Unicode's canonical normal forms. Characters may be written in several ways, é as one character
// or as e and an accent; NFC composes them, NFD decomposes them. Tokenizers name the form in which
// they read text (nn/tokenizers/json_tokenizer.h).
//
// The tables are our own, 10 kB from Unicode's data, for the reasons that unicode.h gives. The
// compatibility forms NFKC and NFKD, which change the meaning of a text, would need 30 kB more.
// Source: Unicode Standard Annex 15; Hangul: the Unicode Standard, section 3.12.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapestry::unicode {

/// A canonical normal form.
enum class NormalForm {
    nfc,  ///< composed
    nfd   ///< decomposed
};

/// `text`, which must be UTF-8, in a normal form. Linear in its length, but n log n for a run of n
/// combining marks.
std::string normalize(std::string_view text, NormalForm form);

/// Whether `text`, which must be UTF-8, is sure to be normal: all of its characters are starters
/// that the form keeps and joins to nothing before them. Some normal texts are not.
bool is_surely_normal(std::string_view text, NormalForm form);

/// Whether text before this character has no influence on the form of the text from it on, nor this
/// on that before: texts may be cut here and normalized by parts.
bool begins_segment(char32_t code, NormalForm form);

/// Tables of unicode_decompositions.cpp, which explains them.
extern const char* const kDecompositions;
extern const char* const kCombiningClasses;  ///< the same for combining classes

}  // namespace tapestry::unicode
