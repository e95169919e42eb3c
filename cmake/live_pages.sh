#!/usr/bin/env bash
# Builds a tapestry whose pages of `tapestry inspect` contain the model and the library in
# WebAssembly: type another prompt there, and the page updates. Installs Debian's emscripten.
#
#     cmake/live_pages.sh [--no-install]
# Read next: nn/pages/web/live.js.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh

cmake/wasm/install.sh "$@"
build_preset wasm playground
build_preset release tapestry_command "-DTAPESTRY_WASM=$PWD/build/wasm/examples/school/playground/playground.wasm"
echo "build/release/examples/cli/tapestry inspect --model DIR --prompt TEXT"
