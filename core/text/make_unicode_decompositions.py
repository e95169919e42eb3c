#!/usr/bin/env python3
"""Writes unicode_decompositions.cpp, the tables of core/text/normalize.h.

Run by hand when Unicode grows: Debian's package unicode-data has the files it reads.

    core/text/make_unicode_decompositions.py [/usr/share/unicode] > core/text/unicode_decompositions.cpp
"""
import re
import sys


def read(folder):
    """Canonical decompositions {code: [codes]} of one step, and combining classes that are not 0."""
    steps, classes = {}, {}
    with open(f"{folder}/UnicodeData.txt", encoding="ascii") as lines:
        for line in lines:
            fields = line.split(";")
            code = int(fields[0], 16)
            if fields[3] != "0":
                classes[code] = int(fields[3])
            if fields[5] and not fields[5].startswith("<"):  # <compat> and others are not canonical
                steps[code] = [int(one, 16) for one in fields[5].split()]
    return steps, classes


def excluded(folder):
    """Full_Composition_Exclusion: characters that nothing composes to."""
    found = set()
    with open(f"{folder}/DerivedNormalizationProps.txt", encoding="utf-8") as lines:
        for line in lines:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))? *; Full_Composition_Exclusion", line)
            if match:
                found.update(range(int(match[1], 16), int(match[2] or match[1], 16) + 1))
    return found


def check(steps, classes, exclusions):
    """What normalize.cpp relies on: nothing composes with what is before it, but the second of a pair."""
    seconds = {parts[1] for code, parts in steps.items() if code not in exclusions}
    for code, parts in steps.items():
        first = parts[0]
        while first in steps:
            first = steps[first][0]
        if code not in exclusions and code not in seconds and classes.get(code, 0) == 0:
            assert first not in seconds and classes.get(first, 0) == 0, hex(code)
        assert len(parts) == 1 or code in exclusions or classes.get(code, 0) == 0, hex(code)
        assert len(parts) == 2 or code in exclusions, hex(code)


def number(value):
    """Base 32, the last digit with an alphabet of its own, so that numbers need no separator."""
    text = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+-*/.,"[value % 32]
    while value >= 32:
        value //= 32
        text = "0123456789abcdefghijklmnopqrstuv"[value % 32] + text
    return text


def signed(value):
    return number(2 * value if value >= 0 else -2 * value - 1)


def decompositions(steps, exclusions):
    """Each: 4 (code - code before) + kind; first - the first before; second - the second before."""
    last = first = second = 0
    for code, parts in sorted(steps.items()):
        kind = 2 if len(parts) == 1 else int(code in exclusions)
        text = number(4 * (code - last) + kind) + signed(parts[0] - first)
        if kind != 2:
            text += signed(parts[1] - second)
            second = parts[1]
        last, first = code, parts[0]
        yield text


def classes_of(classes):
    """Each: characters since the run before, its length, its class."""
    last = 0
    codes = sorted(classes)
    while codes:
        first = codes[0]
        length = 1
        while length < len(codes) and codes[length] == first + length and classes[codes[length]] == classes[first]:
            length += 1
        yield number(first - last) + number(length) + number(classes[first])
        last = first + length
        codes = codes[length:]


def table(name, comment, entries):
    print()
    print(f"// {comment}")
    print(f"const char* const {name} =")
    line = ""
    for entry in entries:
        if len(line) + len(entry) > 92:
            print(f'    "{line}"')
            line = ""
        line += entry
    print(f'    "{line}";')


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    with open(f"{folder}/PropList.txt", encoding="utf-8") as lines:
        version = re.match(r"# PropList-([0-9.]+)\.txt", lines.readline())[1]
    steps, classes = read(folder)
    exclusions = excluded(folder)
    check(steps, classes, exclusions)
    print(f"// Written by make_unicode_decompositions.py from Unicode {version}: do not edit. Numbers in base 32:")
    print("// 0 ... 9, a ... v, and for the last digit A ... Z, +, -, *, /, a point and a comma.")
    print("#include <tapestry/core/text/normalize.h>")
    print()
    print("namespace tapestry::unicode {")
    print("// clang-format off")
    table("kDecompositions", "Character, kind (a pair that composes, one that does not, one character), and its parts;\n"
          "// all as differences from those before, the parts' with a sign.", decompositions(steps, exclusions))
    table("kCombiningClasses", "Runs of characters of one class: distance from the run before, length, class.",
          classes_of(classes))
    print("// clang-format on")
    print()
    print("}  // namespace tapestry::unicode")


main()
