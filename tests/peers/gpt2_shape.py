"""Writes a directory of GPT-2's shape (124,439,808 parameters) with drawn weights: gpt2_shape.py DIR

The sizes are those of its config.json; the weights are a million normal numbers of deviation 0.02,
again and again, because its own cannot be had everywhere. The tokenizer is the test fixture's.
"""
import array
import json
import math
import pathlib
import random
import shutil
import struct
import sys

here = pathlib.Path(__file__).resolve().parent
fixture = here.parent / "fixtures" / "gpt2"
out = pathlib.Path(sys.argv[1])
config = json.loads((fixture / "config.json").read_text()) | {
    "n_positions": 1024, "n_ctx": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
    "vocab_size": 50257}
shapes = {"wte.weight": (50257, 768), "wpe.weight": (1024, 768), "ln_f.weight": (768,),
          "ln_f.bias": (768,)}
for i in range(12):
    for name, shape in {
            "ln_1": (768,), "attn.c_attn": (768, 2304), "attn.c_proj": (768, 768), "ln_2": (768,),
            "mlp.c_fc": (768, 3072), "mlp.c_proj": (3072, 768)}.items():
        shapes[f"h.{i}.{name}.weight"] = shape
        shapes[f"h.{i}.{name}.bias"] = shape[-1:]
random.seed(1)
drawn = array.array("f", (random.gauss(0, 0.02) for _ in range(999_983)))  # a prime


def numbers(name, shape, begin):
    """As bytes; matrices continue with the numbers drawn where the one before ended."""
    count = math.prod(shape)
    if len(shape) == 1:
        return (array.array("f", [float(name.endswith("weight"))]) * count).tobytes()
    first = begin % len(drawn)
    return (drawn * (count // len(drawn) + 2))[first:first + count].tobytes()


header, parts, at = {}, [], 0
for name, shape in shapes.items():
    data = numbers(name, shape, at)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
    parts.append(data)
    at += len(data)
out.mkdir(parents=True, exist_ok=True)
(out / "config.json").write_text(json.dumps(config))
for name in ("vocab.json", "merges.txt"):
    shutil.copy(fixture / name, out / name)
text = json.dumps(header).encode()
with open(out / "model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for data in parts:
        file.write(data)
