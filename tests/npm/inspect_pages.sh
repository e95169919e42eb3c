#!/usr/bin/env bash
# A ctest: the pages of nn/pages, reports among them, in Debian's chromium, steered by npm's
# playwright-core and examined by its axe-core, which are installed under the build tree and go
# nowhere else. Skipped, with a message, where there is no chromium, no npm or no network.
#
#     inspect_pages.sh SOURCE_DIR BUILD_DIR [all]
#
# Every page is opened and every tab and control is used at least once, in one of both colours and widths. `all`
# (`.ci/long pages`): in every state in both colours and widths, with axe-core in each, and pictures of them in
# BUILD_DIR/npm_pages/pictures.
set -euo pipefail
source=$1 build=$2 all=${3:-}
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

if command -v node >/dev/null; then node "$source/tests/npm/colours.js" "$source"; fi
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.10.2
node "$source/tests/npm/head_roles.js" "$source"
"$build/tests/inspect_pages" "$directory/pages"
check() {
    NODE_PATH=$directory/node_modules node "$source/tests/npm/$1.js" "$chromium" "$directory/pages" "${@:2}"
}
# Concurrently: the reports' test mostly waits for what a page does after a while.
check report_pages "${TAPESTRY_SCREENSHOTS:-}" "$all" &
check inspect_pages "${TAPESTRY_SCREENSHOTS:-}" "$all"
check hostile_pages
check page_keys
check page_states "$directory/pictures" "$all"
wait $!
