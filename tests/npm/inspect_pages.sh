#!/usr/bin/env bash
# A ctest: the pages of nn/inspect, reports among them, in Debian's chromium, steered by npm's
# playwright-core, which is installed under the build tree and goes nowhere else. Tried are the pages
# as built and, once more, with the script that a build without npm would have. Skipped, with a
# message, where there is no chromium, no npm or no network.
#
#     inspect_pages.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
package=playwright-core@1.49.1
directory=$build/npm_pages

skip() {
    echo "skipped: $1"
    exit 77  # what CMake knows as skipped
}
command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
if [[ ! -d $directory/node_modules/playwright-core ]]; then
    mkdir -p "$directory"
    timeout 120 npm install --prefix "$directory" --no-save --no-audit --no-fund --ignore-scripts \
        --prefer-offline --fetch-retries 0 "$package" >"$directory/install.log" 2>&1 ||
        skip "npm could not install $package: $(tail -n 1 "$directory/install.log")"
fi
"$build/tests/inspect_pages" "$directory/pages"
for script in inspect_pages report_pages; do
    NODE_PATH=$directory/node_modules node "$source/tests/npm/$script.js" "$chromium" \
        "$directory/pages" "$build/web/plain" "${TAPESTRY_SCREENSHOTS:-}"
done
