// What kind of character a code point is: letter, number or white space, which is all that GPT-2's
// way of cutting a text into words asks about; and how many columns of a terminal it takes.
//
// The tables are our own (unicode_ranges.cpp and unicode_widths.cpp, 15 and 11 kB, written by
// scripts from Unicode's data) and not a library's: PCRE2 or ICU would be one more thing to
// install, to link and to hand on to users for the sake of two questions, and the answers would
// change with the installed version. The C library's wcwidth answers in the user's locale alone.
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

/// Columns of a terminal: 2 for the ideographs, syllables and emoji of East Asian Width W or F, 0
/// for marks and format characters that join what stands before them, 1 for all others, control
/// characters included. Sequences that a font joins into one picture (families, flags) count as
/// their parts. Source: Unicode Standard Annex 11.
int width_of(char32_t code);

/// first .. last take so many columns.
struct WidthRange {
    char32_t first;
    char32_t last;
    int columns;
};

/// The table behind width_of: ascending, without overlaps; what lies between takes one.
std::span<const WidthRange> width_ranges();

}  // namespace tapestry::unicode
