#!/usr/bin/env python3
"""Writes texts drawn by SEED, on which tokenizers differ if they differ at all, as JSON Lines.

    draw_texts.py SEED COUNT > texts.jsonl
"""
import json
import random
import sys
import unicodedata

PARTS = """'s 'T 're 'Ve 'm 'LL 'd \u017f '\u017f \u212a 123 4567 1 12345678 \u00b2 \u2167 \u0663 don't I'LL hello
Hello HELLO wOrld the \u732b\u8ffd\u8001\u9f20 \u3002 \uff01 \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4
\u043f\u0440\u0438\u0432\u0435\u0442 \u00dcn\u00efc\u00f6de \u00e9 e\u0301 \U0001f469\u200d\U0001f467
\U0001f1e9\U0001f1ea !! ... => // _ __init__ <|im_start|> <|im_end|> <|begin_of_text|> <|eot_id|> <| |> <|endof <|im
http://x.y/z?a=b&c=%20 0x1F \u01c5 \u02b0 \u0640 \u0903 \u0301 \u0323 \u0338 \u0327 \u1100 \u1161 \u11a8 \u212b \u0958
\u05bc \uf900 a\u0307\u0323 \u304b\u3099 \u1100\u1161 \uac00\u11a8 '""".split() + [
    " ", "  ", "   ", "\n", "\r\n", "\r", "\t", " \n ", "\u00a0", "\u3000", "\u2029", "\u0085", "\x7f", "\x1c",
    "\ufeff", "\u200d", " of"]
# Characters that every engine's Unicode knows; a seed must draw the same with any version of Python.
ASSIGNED = [c for c in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs", "Co")]


def text(draw):
    parts = []
    for _ in range(draw.randint(1, 12)):
        kind = draw.random()
        if kind < 0.55:
            parts.append(draw.choice(PARTS))
        elif kind < 0.75:
            parts.append(chr(draw.choice(ASSIGNED)))
        elif kind < 0.85:
            parts.append("".join(chr(draw.randint(32, 126)) for _ in range(draw.randint(1, 10))))
        else:
            parts.append(draw.choice(PARTS) * draw.randint(2, 40))
    return "".join(parts)


def main():
    draw = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        print(json.dumps({"text": text(draw)}))


main()
