#!/usr/bin/env python3
"""Writes unicode_categories.cpp, the general category of every character (core/text/unicode.h).

Run by hand when Unicode grows: Debian's package unicode-data has the file it reads.

    core/text/make_unicode_categories.py [/usr/share/unicode] > core/text/unicode_categories.cpp
"""
import re
import sys

NAMES = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co".split()
LIMIT = 0x110000


def categories(folder):
    found = ["Cn"] * LIMIT
    first = None
    with open(f"{folder}/UnicodeData.txt", encoding="ascii") as lines:
        for line in lines:
            code, name, category = line.split(";")[:3]
            code = int(code, 16)
            if name.endswith(", First>"):  # a range is two lines: <CJK Ideograph, First>, ... Last>
                first = code
                continue
            for c in range(code if first is None else first, code + 1):
                found[c] = category
            first = None
    return found


def runs(found):
    """A letter per run of one category, and its length unless that is 1."""
    start = 0
    for c in range(1, LIMIT + 1):
        if c == LIMIT or found[c] != found[start]:
            index = NAMES.index(found[start])
            letter = chr(ord("A") + index) if index < 26 else chr(ord("a") + index - 26)
            yield letter + (str(c - start) if c - start > 1 else "")
            start = c


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    with open(f"{folder}/PropList.txt", encoding="utf-8") as lines:
        version = re.match(r"# PropList-([0-9.]+)\.txt", lines.readline())[1]
    print(f"// Written by make_unicode_categories.py from Unicode {version}: do not edit.")
    print("#include <tapestry/core/text/unicode.h>")
    print()
    print("namespace tapestry::unicode {")
    print()
    print("// A letter for each run of a category, A, B, ... Z, a, ... in the order of Category, and its")
    print("// length unless that is 1.")
    print("// clang-format off")
    print("const char* const kCategoryRuns =")
    line = ""
    for run in runs(categories(folder)):
        if len(line) + len(run) > 92:
            print(f'    "{line}"')
            line = ""
        line += run
    print(f'    "{line}";')
    print("// clang-format on")
    print()
    print("}  // namespace tapestry::unicode")


main()
