#!/usr/bin/env bash
# A ctest: byte pairs learned by `tapestry tokenize`, read by Hugging Face's library from the
# tokenizer.json next to them: it encodes the project's documents to our ids. The library comes from
# npm, is installed under the build tree and not distributed. Skipped, with a message, without npm
# or a network.
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
