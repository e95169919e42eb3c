#!/usr/bin/env bash
# A ctest: our tokenizers and Hugging Face's library give the same ids. Byte pairs learned by
# `tapestry tokenize` are read by the library from the tokenizer.json next to them and encode the
# project's documents; a tokenizer.json that we read encodes 10,000 drawn texts. The library comes from
# npm, is installed under the build tree and not distributed. Skipped, with a message, without npm or a
# network. .ci/long tokenizers asks for more, with vocabularies of real models.
#
#     tokenizer_json.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
directory=$build/npm_tokenizers
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

command -v python3 >/dev/null || skip "python3 is not installed"
install_package "$directory" @huggingface/tokenizers 0.2.0 tokenizers 0.23.2
export NODE_PATH=$directory/node_modules
tapestry=$build/examples/cli/tapestry
rm -rf "$directory/data" "$directory/drawn" "$directory/normal"
mapfile -t documents < <(find "$source" -maxdepth 3 -name '*.md' -not -path "$source/build/*" | sort)
"$tapestry" tokenize --text "${documents[@]}" "$source/tests/npm" --out "$directory/data" --tokenizer bpe --vocab 3000
node "$source/tests/npm/tokenizer_json.js" "$directory/data"

fixture=$source/tests/fixtures/llama/tokenizer.json
python3 "$source/tests/npm/draw_texts.py" 47 10000 >"$directory/texts.jsonl"
"$tapestry" tokenize --text "$directory/texts.jsonl" --out "$directory/drawn" --tokenizer "$fixture"
# (The one in JavaScript splits some contractions otherwise than the engine, 73 of these texts.)
node "$source/tests/npm/tokenizer_json.js" "$directory/drawn" "$fixture" tokenizers

# The same rules with a normalizer, with added tokens that are found after it, and with one before each text.
python3 - "$fixture" "$directory/nfc.json" <<'END'
import json, sys
rules = json.load(open(sys.argv[1], encoding="utf-8"))
rules["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
for i, content in enumerate(("hello", "\u00e9x", "  ")):
    rules["added_tokens"].append(rules["added_tokens"][0] | {
        "id": len(rules["model"]["vocab"]) + i, "content": content, "normalized": True, "special": False})
piece = {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}
rules["post_processor"] = {
    "type": "TemplateProcessing", "single": [piece, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [1], "tokens": ["<|im_start|>"]}}}
json.dump(rules, open(sys.argv[2], "w", encoding="utf-8"))
END
"$tapestry" tokenize --text "$directory/texts.jsonl" --out "$directory/normal" --tokenizer "$directory/nfc.json"
node "$source/tests/npm/tokenizer_json.js" "$directory/normal" "$directory/nfc.json" tokenizers
