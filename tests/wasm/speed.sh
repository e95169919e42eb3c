#!/usr/bin/env bash
# The speed of training in a page in chromium, alternating with the native baseline with one thread:
# by hand, on an otherwise idle machine. docs/playground.md quotes the figures.
#
#     speed.sh TAPESTRY TEXT SOURCE_DIR BUILD_DIR [PART...]
#
# TAPESTRY is the native command, TEXT the training text, such as Shakespeare; BUILD_DIR is the
# preset wasm's. PART is steps_in_page, loss_in_page or recipe; without one, all.
set -euo pipefail
tapestry=$1 text=$2 source=$3 build=$4
parts=("${@:5}")
((${#parts[@]})) || parts=(steps_in_page loss_in_page recipe)
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.14.1
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# in_chromium NAME|page STEPS [GOAL]
in_chromium() {
    NODE_PATH=$directory/node_modules node "$source/tests/wasm/speed.js" "$chromium" \
        "$build/examples/school/playground" "$text" "$@"
}

# native STEPS: the recipe's seconds, without reading the text and starting.
native() {
    local out
    out=$(mktemp -d "$temporary/XXXXXX")
    TAPESTRY_ISA=baseline TAPESTRY_THREADS=1 "$tapestry" train --text "$text" --steps "$1" \
        --eval-every 0 --no-report --out "$out/run" >"$out/log" 2>&1 || { cat "$out/log" >&2; return 1; }
    sed -nE 's/.*"event":"end".*"seconds":([0-9.]+).*/\1/p' "$out/run/metrics.jsonl"
}

steps_in_page() {
    local seconds
    read -r seconds _ < <(in_chromium page 2000)
    echo "two layers of 64, 2000 steps in the playground's page: $seconds s (within 30)"
}

loss_in_page() {
    local reached
    read -r _ reached < <(in_chromium page 4000 2.0)
    echo "two layers of 64, validation loss 2.0 in the playground's page: after $reached s (within 60)"
}

recipe() {
    local round seconds baseline
    for round in 1 2 3; do
        baseline=$(native 60)
        read -r seconds < <(in_chromium recipe 60)
        echo "recipe, 60 steps, round $round: chromium $seconds s, native baseline $baseline s," \
            "$(awk -v a="$seconds" -v b="$baseline" 'BEGIN { printf "%.2f", a / b }') times (at most 1.5)"
    done
}

for part in "${parts[@]}"; do "$part"; done
