#!/usr/bin/env python3
"""Writes unicode_lower_case.cpp, the small letter of every capital (core/text/unicode.h).

Run by hand when Unicode grows: Debian's package unicode-data has the file it reads.

    core/text/make_unicode_lower_case.py [/usr/share/unicode] > core/text/unicode_lower_case.cpp
"""
import re
import sys


def mappings(folder):
    with open(f"{folder}/UnicodeData.txt", encoding="ascii") as lines:
        for line in lines:
            fields = line.split(";")
            if fields[13]:
                yield int(fields[0], 16), int(fields[13], 16)


def runs(pairs):
    """[first, last, step, distance]: every step-th code point has a small letter this far away."""
    found = []
    for code, small in pairs:
        if found:
            first, last, step, distance = found[-1]
            gap = code - last
            if small - code == distance and (gap == step or (first == last and gap <= 2)):
                found[-1][1:3] = code, gap
                continue
        found.append([code, code, 1, small - code])
    return found


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    with open(f"{folder}/PropList.txt", encoding="utf-8") as lines:
        version = re.match(r"# PropList-([0-9.]+)\.txt", lines.readline())[1]
    print(f"// Written by make_unicode_lower_case.py from Unicode {version}: do not edit.")
    print("#include <tapestry/core/text/unicode.h>")
    print()
    print("namespace tapestry::unicode {")
    print("namespace {")
    print()
    print("// clang-format off")
    print("constexpr CaseRun kRuns[] = {")
    line = "   "
    for first, last, step, distance in runs(mappings(folder)):
        one = f" {{0x{first:X}, 0x{last:X}, {step}, {distance}}},"
        if len(line) + len(one) > 100:
            print(line)
            line = "   "
        line += one
    print(line)
    print("};")
    print("// clang-format on")
    print()
    print("}  // namespace")
    print()
    print("std::span<const CaseRun> case_runs() { return kRuns; }")
    print()
    print("}  // namespace tapestry::unicode")


main()
