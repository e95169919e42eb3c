#!/usr/bin/env bash
# The site written by examples/school/site/build, in Debian's chromium (.ci/long site). Skipped,
# with a message, without chromium, npm or npm's packages.
#
#     site.sh SOURCE_DIR SITE
set -euo pipefail
source=$1 site=$2
directory=$source/build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

# First checks that planted broken links are found.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo '<h1 id="a">A</h1><a href="#a">a</a> <a href="b.html#b">b</a> <a href="c.html">c</a>' >"$planted/a.html"
echo '<a href="a.html#a">a</a>' >"$planted/b.html"
said=$(node "$source/examples/school/site/check_links.js" "$planted" 2>&1) && { echo "FAILED: nothing was found"; exit 1; }
[[ $said == $'a.html: b.html#b\na.html: c.html\n2 pages, 4 links, 2 of them lead nowhere' ]] ||
    { echo "FAILED: found:" "$said"; exit 1; }
node "$source/examples/school/site/check_links.js" "$site"

chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.14.1
NODE_PATH=$directory/node_modules node "$source/tests/wasm/site.js" "$chromium" "$site" \
    "${TAPESTRY_SCREENSHOTS:-}"
