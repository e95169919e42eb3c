#!/usr/bin/env python3
"""Writes unicode_ranges.cpp, the table that core/text/unicode.h looks characters up in.

Run by hand when Unicode grows: Debian's package unicode-data has the two files it reads.

    core/text/make_unicode_ranges.py [/usr/share/unicode] > core/text/unicode_ranges.cpp
"""
import re
import sys

LIMIT = 0x110000


def kinds(folder):
    """The kind of every character: "letter", "number", "space" or None."""
    found = [None] * LIMIT
    first = None
    with open(f"{folder}/UnicodeData.txt", encoding="ascii") as lines:
        for line in lines:
            code, name, category = line.split(";")[:3]
            code = int(code, 16)
            if name.endswith(", First>"):  # a range is two lines: <CJK Ideograph, First>, ... Last>
                first = code
                continue
            kind = {"L": "letter", "N": "number"}.get(category[0])
            for c in range(code if first is None else first, code + 1):
                found[c] = kind
            first = None
    with open(f"{folder}/PropList.txt", encoding="utf-8") as lines:
        for line in lines:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*White_Space\b", line)
            if match:
                last = int(match[2] or match[1], 16)
                for c in range(int(match[1], 16), last + 1):
                    assert found[c] is None, hex(c)
                    found[c] = "space"
    return found


def version(folder):
    with open(f"{folder}/PropList.txt", encoding="utf-8") as lines:
        return re.match(r"# PropList-([0-9.]+)\.txt", lines.readline())[1]


def ranges(found):
    """(first, last, kind) of every run of characters of one kind."""
    start = 0
    for c in range(1, LIMIT + 1):
        if c == LIMIT or found[c] != found[start]:
            if found[start]:
                yield start, c - 1, found[start]
            start = c


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    entries = [f"{{0x{a:X}, 0x{b:X}, {kind[0].upper()}}}," for a, b, kind in ranges(kinds(folder))]
    print(f"// Written by make_unicode_ranges.py from Unicode {version(folder)}: do not edit.")
    print("#include <tapestry/core/text/unicode.h>")
    print()
    print("namespace tapestry::unicode {")
    print("namespace {")
    print("constexpr Kind L = Kind::letter, N = Kind::number, S = Kind::space;")
    print()
    print("// clang-format off")
    print("constexpr Range kRanges[] = {")
    line = "   "
    for entry in entries:
        if len(line) + 1 + len(entry) > 100:
            print(line)
            line = "   "
        line += " " + entry
    print(line)
    print("};")
    print("// clang-format on")
    print("}  // namespace")
    print()
    print("std::span<const Range> ranges() { return kRanges; }")
    print()
    print("}  // namespace tapestry::unicode")


main()
