#!/usr/bin/env bash
# Builds the libraries that the pages draw with: uPlot, for curves, and dagre, for graphs, each as
# one module of minified text with its licence at the top, and uPlot's style. They are committed, so
# a build needs neither npm nor a network. The test `page_libraries` builds them again and compares.
#
#     make.sh FROM TO      FROM: where npm has installed the packages in package-lock.json
set -euo pipefail
from=$1 to=$2

# licence NAME...: the packages' licences as a comment. None of them contains an end of a comment.
licence() {
    echo "/*!"
    for name in "$@"; do
        echo "$name $(node -p "require('$from/node_modules/$name/package.json').version")"
        echo
        cat "$from/node_modules/$name"/LICENSE*
        echo
    done
    echo "*/"
}

# module NAME PACKAGE: `export const NAME`, the whole package.
module() {
    echo "module.exports = require('$2');" |
        (cd "$from" && node_modules/.bin/esbuild --bundle --minify --charset=ascii --format=iife \
            --global-name="$1" --legal-comments=none --log-level=warning) | sed '1s/^var /export const /'
}

mkdir -p "$to"
{ licence uplot && module uPlot uplot; } >"$to/uplot.js"
{ licence @dagrejs/dagre @dagrejs/graphlib && module dagre @dagrejs/dagre; } >"$to/dagre.js"
{ licence uplot && cat "$from/node_modules/uplot/dist/uPlot.min.css" && echo; } >"$to/uplot.css"
