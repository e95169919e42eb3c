#!/usr/bin/env bash
# How fast a page trains, in chromium, and the native baseline with one thread, in turn: by hand, on a
# machine that does nothing else. The figures are quoted in docs/playground.md.
#
#     speed.sh TAPESTRY TEXT SOURCE_DIR BUILD_DIR
#
# TAPESTRY is the native command, TEXT what is learned, Shakespeare say; BUILD_DIR is the preset wasm's.
set -euo pipefail
tapestry=$1 text=$2 source=$3 build=$4
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.10.2
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# page NAME STEPS [GOAL]
page() {
    NODE_PATH=$directory/node_modules node "$source/tests/wasm/speed.js" "$chromium" \
        "$build/examples/playground" "$text" "$@"
}

# native STEPS: the recipe's seconds, as the command's last lines tell them.
native() {
    local began=$EPOCHREALTIME ended
    TAPESTRY_ISA=baseline OMP_NUM_THREADS=1 "$tapestry" train --threads 1 --text "$text" \
        --steps "$1" --eval-every 0 --no-report --out "$temporary/$RANDOM" >"$temporary/log" 2>&1 ||
        { cat "$temporary/log" >&2; return 1; }
    ended=$EPOCHREALTIME
    awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.2f\n", b - a }'
}

read -r seconds _ < <(page two_layers 2000)
echo "two layers of 64, 2000 steps: $seconds s (within 30)"
read -r _ reached < <(page two_layers 4000 2.0)
echo "two layers of 64, validation loss 2.0: after $reached s (within 60)"
for round in 1 2 3; do
    baseline=$(native 40)
    read -r seconds _ < <(page recipe 40)
    echo "recipe, 40 steps, round $round: page $seconds s, native baseline $baseline s," \
        "$(awk -v a="$seconds" -v b="$baseline" 'BEGIN { printf "%.2f", a / b }') times (at most 1.5)"
done
