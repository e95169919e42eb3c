#!/usr/bin/env bash
# A ctest: the pages of nn/pages, including reports, in Debian's chromium, controlled by npm's
# playwright-core and checked by its axe-core, which are installed under the build tree and not
# distributed. Skipped, with a message, without chromium, npm or a network.
#
#     inspect_pages.sh SOURCE_DIR BUILD_DIR [all]
#
# Every page is opened and every tab and control is used at least once, in one of both colour
# schemes and widths. `all` (`.ci/long pages`): every state in both colour schemes and widths, with
# axe-core in each, and pictures of them in BUILD_DIR/npm_pages/pictures; and the picture of a step on
# models of every kind, timed (drawings.js).
set -euo pipefail
source=$1 build=$2 all=${3:-}
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

if command -v node >/dev/null; then
    for part in colours page_numbers live_worker; do node "$source/tests/npm/$part.js" "$source"; done
fi
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.14.1
node "$source/tests/npm/head_roles.js" "$source"
"$build/tests/inspect_pages" "$directory/pages"
export NODE_PATH=$directory/node_modules
# The longest first.
node "$source/tests/npm/run_pages.js" "$chromium" "$directory/pages" ${all:+--all} \
    inspect_pages first_screen report_pages page_states page_keys truth_pages story_pages hostile_pages
[[ -z $all ]] || node "$source/tests/npm/drawings.js" "$chromium" "$directory/pages" "$directory/drawings"
