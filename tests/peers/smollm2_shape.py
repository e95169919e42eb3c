"""Writes a directory of SmolLM2-135M's shape with drawn weights: smollm2_shape.py DIR [bf16]

The sizes are those of its config.json; the weights are a million normal numbers of deviation 0.02,
again and again, because its own cannot be had everywhere. The tokenizer is the test fixture's, with
384 of 49,152 tokens.
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
out = pathlib.Path(sys.argv[1])
narrow = sys.argv[2:] == ["bf16"]
config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False,
    "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576,
    "intermediate_size": 1536, "max_position_embeddings": 8192, "num_attention_heads": 9,
    "num_hidden_layers": 30, "num_key_value_heads": 3, "rms_norm_eps": 1e-05, "rope_theta": 100000,
    "tie_word_embeddings": True, "torch_dtype": "bfloat16" if narrow else "float32",
    "vocab_size": 49152}
shapes = {"model.embed_tokens.weight": (49152, 576), "model.norm.weight": (576,)}
for i in range(30):
    layer = f"model.layers.{i}."
    for name, shape in {
            "input_layernorm": (576,), "post_attention_layernorm": (576,),
            "self_attn.q_proj": (576, 576), "self_attn.k_proj": (192, 576),
            "self_attn.v_proj": (192, 576), "self_attn.o_proj": (576, 576),
            "mlp.gate_proj": (1536, 576), "mlp.up_proj": (1536, 576),
            "mlp.down_proj": (576, 1536)}.items():
        shapes[layer + name + ".weight"] = shape
random.seed(1)
drawn = array.array("f", (random.gauss(0, 0.02) for _ in range(999_983)))  # a prime


def numbers(shape, begin):
    """As bytes; matrices continue with the numbers drawn where the one before ended."""
    count = math.prod(shape)
    if len(shape) == 1:
        values = array.array("f", [1.0]) * count
    else:
        first = begin % len(drawn)
        values = (drawn * (count // len(drawn) + 2))[first:first + count]
    data = values.tobytes()
    if not narrow:
        return data
    halves = bytearray(len(data) // 2)
    halves[0::2], halves[1::2] = data[2::4], data[3::4]
    return bytes(halves)


header, parts, at = {}, [], 0
for name, shape in shapes.items():
    data = numbers(shape, at)
    header[name] = {"dtype": "BF16" if narrow else "F32", "shape": shape,
                    "data_offsets": [at, at + len(data)]}
    at += len(data)
    parts.append(data)
out.mkdir(parents=True, exist_ok=True)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(out / "model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for data in parts:
        file.write(data)
(out / "config.json").write_text(json.dumps(config, indent=2))
shutil.copy(here.parent / "fixtures/llama/tokenizer.json", out)
