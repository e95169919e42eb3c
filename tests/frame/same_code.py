#!/usr/bin/env python3
"""Whether commits changed only comments: the C++ files of BASE and HEAD have the same tokens.

    same_code.py BASE [HEAD]        prints the files that differ, were added or removed; status 1 if any

Tokens are compared without comments and without white space between them, but the text of literals counts.
same_text.sh compares the machine code.
"""
import re
import subprocess
import sys

LITERAL_OR_COMMENT = re.compile(
    r'(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)'
    r'|(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'", re.DOTALL)
CODE = re.compile(r"[A-Za-z_0-9.']+|[-+*/%&|^<>=!:~#]+|\S")


def tokens(text):
    """Words and signs of C++, and literals whole. A comment separates like a space."""
    found, at = [], 0
    for literal in LITERAL_OR_COMMENT.finditer(text):
        found += CODE.findall(text[at:literal.start()])
        if literal["comment"] is None:
            found.append(literal.group())
        at = literal.end()
    return found + CODE.findall(text[at:])


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def differences(base, head):
    for line in git("diff", "--name-status", "--no-renames", base, head).splitlines():
        status, name = line.split("\t")
        if not name.endswith((".h", ".cpp", ".c")):
            continue
        if status != "M":
            yield f"{name}: {'added' if status == 'A' else 'removed'}"
        elif tokens(git("show", f"{base}:{name}")) != tokens(git("show", f"{head}:{name}")):
            yield f"{name}: other code"


def self_test():
    same = tokens('int a; // b\n/* c "d" */ f("// g", \'"\', 1\'000, R"(/* h */)");')
    assert same == tokens('int a;\n\nf("// g",\n  \'"\', 1\'000, R"(/* h */)"); // "i'), same
    assert tokens("int a;") != tokens("inta;")
    assert tokens('f("a b");') != tokens('f("a  b");')
    assert tokens("a/**/b") == tokens("a b") != tokens("ab")
    assert tokens("a + +b") != tokens("a ++b")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    self_test()
    found = list(differences(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "HEAD"))
    print("\n".join(found) if found else "the C++ files have the same tokens")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
