"""Texts with their labels as the files that `tapestry train --task classify` and fastText read, for the
scripts beside this one."""
import hashlib
import pathlib


def write_parts(folder, labelled, figures):
    """`labelled`: texts, each once, with a list of labels. Those whose SHA-256 is divisible by 10 go
    to test.txt, the others to train.txt. Says whether these have the digests of the figures."""
    parts = {"train.txt": [], "test.txt": []}
    for text, labels in labelled.items():
        is_test = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 10 == 0
        line = " ".join(f"__label__{label}" for label in labels) + f" {text}\n"
        parts["test.txt" if is_test else "train.txt"].append(line)
    for name, lines in parts.items():
        joined = "".join(lines)
        (pathlib.Path(folder) / name).write_text(joined, encoding="utf-8")
        same = "those" if hashlib.sha256(joined.encode()).hexdigest() == figures[name] else "not those"
        print(f"{name}: {len(lines)} texts, {same} of the figures")
