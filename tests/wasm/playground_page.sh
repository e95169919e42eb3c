#!/usr/bin/env bash
# A ctest of the preset wasm: the playground's page in Debian's chromium, without a network, and no
# larger than 3 MB. Skipped, with a message, where there is no chromium, no npm or nothing to install.
#
#     playground_page.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

page=$build/examples/playground/playground.html
bytes=$(wc -c <"$page")
echo "$page: $bytes bytes"
((bytes <= 3000000)) || { echo "that is more than 3 MB" >&2; exit 1; }
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1
for part in page answers; do
    NODE_PATH=$directory/node_modules node "$source/tests/wasm/playground_$part.js" "$chromium" \
        "$build/examples/playground" "${TAPESTRY_SCREENSHOTS:-}"
done
