#!/usr/bin/env python3
"""Writes train.txt and test.txt, the short descriptions of Debian's packages and their tags, several
labels per text as `tapestry train --task classify` and fastText read them: the texts of
docs/tasks.md.

    /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*_dists_bookworm_main_binary-amd64_Packages.lz4 |
        tests/peers/package_tags.py [DIRECTORY]

Each description of a package with tags is taken once, with those of its tags that at least 100 of
them have; those whose SHA-256 is divisible by 10 are for testing. Says whether the files are those
of the figures.
"""
import collections
import re
import sys

from labelled_parts import write_parts

FIGURES = {
    "train.txt": "99dc020137b586fccf4407ba79852ff9721322515ec5fde3b787d9c4b8ed8bc9",
    "test.txt": "7757cb6831a3736a42a67b9925f27b6639b5f32e0b43f00d16375ddfad680c76",
}


def fields(lines):
    """Tags and description of each package; a line that begins with a blank continues a field."""
    values, name = {}, ""
    for line in lines:
        if line == "\n":
            yield values.get("Tag", ""), values.get("Description", "")
            values = {}
        elif line[0] in " \t":
            values[name] = values.get(name, "") + line.strip()
        else:
            name, _, value = line.partition(":")
            values[name] = value.strip()


def tags_of(field):
    """"a::b, c::{d,e}" as [a::b, c::d, c::e]"""
    field = re.sub(r"(\S+?)\{([^}]*)\}", lambda m: ",".join(m[1] + x for x in m[2].split(",")), field)
    return [tag.strip() for tag in field.split(",") if tag.strip()]


def main():
    tags = {}
    for field, text in fields(open(0, encoding="utf-8")):
        if field and text:
            tags.setdefault(text, tags_of(field))
    counts = collections.Counter(tag for of_text in tags.values() for tag in set(of_text))
    kept = {text: sorted({tag for tag in of_text if counts[tag] >= 100}) for text, of_text in tags.items()}
    labelled = {text: labels for text, labels in kept.items() if labels}
    write_parts(sys.argv[1] if len(sys.argv) > 1 else ".", labelled, FIGURES)


main()
