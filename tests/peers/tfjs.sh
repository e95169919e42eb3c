#!/usr/bin/env bash
# A training step of a GPT in WebAssembly, this library's and TensorFlow.js's, in node: by hand, on a machine
# with nothing else to do. Skipped, with a message, without node, npm or npm's packages. docs/playground.md quotes
# the figures.
#
#     tfjs.sh SOURCE_DIR WASM_BUILD_DIR [ROUNDS]
set -euo pipefail
source=$1 build=$2
directory=$build/npm_tfjs
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"
[[ -f $build/examples/school/playground/playground.wasm ]] || skip "no playground in $build: cmake --build --preset wasm_short"
install_package "$directory" @tensorflow/tfjs 4.22.0 @tensorflow/tfjs-backend-wasm 4.22.0
NODE_PATH=$directory/node_modules node "$source/tests/peers/tfjs.js" "$build/examples/school/playground" "${@:3}"
