// What kind of character a code point is: letter, number or white space, which is all that GPT-2's
// way of cutting a text into words asks about.
//
// The table is our own (unicode_ranges.cpp, 15 kB, written by a script from Unicode's data) and not
// a library's: PCRE2 or ICU would be one more thing to install, to link and to hand on to users for
// the sake of one question, and the answer would change with the installed version.
#pragma once

#include <span>

namespace tapestry::unicode {

/// letter: general categories L*; number: N*; space: the property White_Space. Everything else,
/// combining marks, punctuation, emoji and what is not assigned, is other.
enum class Kind : unsigned char { other, letter, number, space };

/// Takes any number; what is no character is `other`. Source: the Unicode Character Database.
Kind kind_of(char32_t code);

/// first .. last are of one kind.
struct Range {
    char32_t first;
    char32_t last;
    Kind kind;
};

/// The table: ascending, without overlaps; what lies between is `other`.
std::span<const Range> ranges();

}  // namespace tapestry::unicode
