#!/usr/bin/env python3
"""Writes train.txt and test.txt, the short descriptions of Debian's packages and their sections, as
`tapestry train --task classify` and fastText read them: the texts of docs/tasks.md.

    /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*_dists_bookworm_main_binary-amd64_Packages.lz4 |
        tests/peers/package_sections.py [DIRECTORY]

Each description is taken once, of sections with at least 50; those whose SHA-256 is divisible by 10
are for testing. Says whether the files are those of the figures.
"""
import collections
import sys

from labelled_parts import write_parts

FIGURES = {
    "train.txt": "9e179f71a013148249028768476e84c9df5a875576a6fdd9796fe20bc95be01a",
    "test.txt": "fcfcf87b168e2a882eec00fa4b124caf8243940c6723c4345ce3cf5407b24616",
}


def descriptions(lines):
    section, description = None, None
    for line in lines:
        if line.startswith("Section: "):
            section = line[9:].strip().split("/")[-1]
        elif line.startswith("Description: "):
            description = line[13:].strip()
        elif line == "\n":
            yield section, description


def main():
    sections = {}
    for section, text in descriptions(open(0, encoding="utf-8")):
        sections.setdefault(text, section)
    counts = collections.Counter(sections.values())
    labelled = {text: [section] for text, section in sections.items() if counts[section] >= 50}
    write_parts(sys.argv[1] if len(sys.argv) > 1 else ".", labelled, FIGURES)


main()
