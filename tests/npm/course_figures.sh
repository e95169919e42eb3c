#!/usr/bin/env bash
# A ctest: the live figures of the course, in node and in Debian's chromium. Skipped, with a message,
# without node, chromium, npm or a network.
#
#     course_figures.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

command -v node >/dev/null || skip "node is not installed (Debian: nodejs)"
node "$source/tests/npm/course_figures.js" "$source"
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.14.1
NODE_PATH=$directory/node_modules node "$source/tests/npm/course_figures.js" "$source" "$chromium" \
    "$directory/figures" "${TAPESTRY_SCREENSHOTS:-}"
