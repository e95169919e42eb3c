#!/usr/bin/env python3
"""Writes unicode_widths.cpp, the table behind width_of in core/text/unicode.h.

Run by hand when Unicode grows: Debian's package unicode-data has the two files it reads.

    core/text/make_unicode_widths.py [/usr/share/unicode] > core/text/unicode_widths.cpp

East Asian Width W and F: two columns. Categories Mn, Me and Cf, and the vowels and final consonants
of Hangul that join a leading one: none. The soft hyphen, which terminals show, is as wide as any.
"""
import re
import sys

LIMIT = 0x110000
JOINING_HANGUL = [(0x1160, 0x11FF), (0xD7B0, 0xD7FF)]
SOFT_HYPHEN = 0xAD


def columns(folder):
    """How many columns every character takes, and the version of Unicode."""
    found = [1] * LIMIT
    with open(f"{folder}/EastAsianWidth.txt", encoding="utf-8") as lines:
        version = re.match(r"# EastAsianWidth-([0-9.]+)\.txt", next(lines))[1]
        for line in lines:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*[WF]\b", line)
            if match:
                for c in range(int(match[1], 16), int(match[2] or match[1], 16) + 1):
                    found[c] = 2
    with open(f"{folder}/UnicodeData.txt", encoding="ascii") as lines:
        for line in lines:
            code, _, category = line.split(";")[:3]
            if category in ("Mn", "Me", "Cf"):
                found[int(code, 16)] = 0
    for first, last in JOINING_HANGUL:
        for c in range(first, last + 1):
            found[c] = 0
    found[SOFT_HYPHEN] = 1
    return found, version


def ranges(found):
    """(first, last, columns) of every run of characters that do not take one column."""
    start = 0
    for c in range(1, LIMIT + 1):
        if c == LIMIT or found[c] != found[start]:
            if found[start] != 1:
                yield start, c - 1, found[start]
            start = c


def main():
    found, version = columns(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode")
    print(f"// Written by make_unicode_widths.py from Unicode {version}: do not edit.")
    print("#include <tapestry/core/text/unicode.h>")
    print()
    print("namespace tapestry::unicode {")
    print("namespace {")
    print()
    print("// clang-format off")
    print("constexpr WidthRange kWidths[] = {")
    line = "   "
    for a, b, width in ranges(found):
        entry = f"{{0x{a:X}, 0x{b:X}, {width}}},"
        if len(line) + 1 + len(entry) > 100:
            print(line)
            line = "   "
        line += " " + entry
    print(line)
    print("};")
    print("// clang-format on")
    print("}  // namespace")
    print()
    print("std::span<const WidthRange> width_ranges() { return kWidths; }")
    print()
    print("}  // namespace tapestry::unicode")


main()
