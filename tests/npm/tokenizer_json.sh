#!/usr/bin/env bash
# A ctest: byte pairs that `tapestry tokenize` has learned, read by Hugging Face's own library from the
# tokenizer.json that lies beside them: it gives the project's documents the ids that we gave them. The
# library comes from npm, is installed under the build tree and goes nowhere else. Skipped, with a
# message, where there is no npm or no network.
#
#     tokenizer_json.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
directory=$build/npm_tokenizers
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

install_package "$directory" @huggingface/tokenizers 0.2.0
rm -rf "$directory/data"
mapfile -t documents < <(find "$source" -maxdepth 3 -name '*.md' -not -path "$source/build/*" | sort)
"$build/examples/cli/tapestry" tokenize --text "${documents[@]}" "$source/tests/npm" --out "$directory/data" --tokenizer bpe --vocab 3000
NODE_PATH=$directory/node_modules node "$source/tests/npm/tokenizer_json.js" "$directory/data"
