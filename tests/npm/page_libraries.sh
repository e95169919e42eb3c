#!/usr/bin/env bash
# A ctest: the libraries in nn/pages/web/libraries equal make.sh's output from npm's packages, byte
# for byte. Skipped, with a message, without npm or a network.
#
#     page_libraries.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
libraries=$1/nn/pages/web/libraries directory=$2/npm_page_libraries
# shellcheck source=tests/skip.sh
. "$1/tests/skip.sh"

command -v node >/dev/null || skip "node is not installed (Debian: nodejs)"
command -v npm >/dev/null || skip "npm is not installed"
mkdir -p "$directory"
[[ -w ${HOME:-/} ]] || export npm_config_cache=$directory/cache
cp "$libraries"/package*.json "$directory"
timeout 600 npm ci --prefix "$directory" --no-audit --no-fund --ignore-scripts --prefer-offline \
    --fetch-retries 0 >"$directory/install.log" 2>&1 ||
    skip "npm could not install esbuild, uplot and dagre: $(tail -n 1 "$directory/install.log")"
"$libraries/make.sh" "$directory" "$directory/made"
for file in uplot.js dagre.js uplot.css; do
    cmp "$directory/made/$file" "$libraries/$file" || exit 1
done
