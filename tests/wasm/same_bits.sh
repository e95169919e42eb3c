#!/usr/bin/env bash
# A ctest of the preset wasm: training in WebAssembly, in node and in Debian's chromium, gives the
# native library's parameters under TAPESTRY_ISA=baseline, to the last bit. For the short form these
# are in fixtures/bits.json, which tests/frame/bits.sh also checks.
#
#     same_bits.sh [--long TAPESTRY WRITE_STORIES] SOURCE_DIR BUILD_DIR
#
# With --long (.ci/long wasm) 2000 steps, compared with the native command TAPESTRY.
set -euo pipefail
tapestry=
[[ ${1:-} != --long ]] || { tapestry=$2 write_stories=$3; shift 3; }
source=$1 build=$2
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"
command -v node >/dev/null || skip "node is not installed (Debian: nodejs)"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trainings=(two_layers:100 recipe:25)
expected=$source/tests/fixtures/bits.json

# native NAME OPTION...: prints the line of bits.json after 2000 steps.
native() {
    local out=$temporary/$1 length
    TAPESTRY_ISA=baseline "$tapestry" train --steps 2000 "${@:2}" --no-report --eval-every 0 \
        --text "$temporary/stories.txt" --out "$out" >"$temporary/log" 2>&1 ||
        { cat "$temporary/log" >&2; return 1; }
    length=$(od -An -t u8 -N 8 "$out/model.safetensors" | tr -d ' ')
    printf '"baseline %s 2000": "%s"\n' "$1" \
        "$(tail -c +$((length + 9)) "$out/model.safetensors" | sha256sum | cut -d' ' -f1)"
}
if [[ -n $tapestry ]]; then
    trainings=(two_layers:2000 recipe:2000)
    expected=$temporary/bits.json
    "$write_stories" --seed 2 --bytes 1000000 --out "$temporary/stories.txt"
    native two_layers --layers 2 --heads 2 --dim 64 --context 32 --batch 8 >"$expected"
    native recipe >>"$expected"
    cat "$expected"
fi

# compare PLACE PROGRAM: PROGRAM is "node" or a chromium.
compare() {
    local name steps digest seconds
    NODE_PATH=$directory/node_modules node "$source/tests/wasm/same_bits.js" \
        "$build/examples/school/playground" "$2" "${trainings[@]}" >"$temporary/digests"
    while read -r name steps digest seconds; do
        if ! grep -qF "\"baseline $name $steps\": \"$digest\"" "$expected"; then
            echo "$1: after $steps steps of $name other bits than the baseline's: $digest" >&2
            return 1
        fi
        echo "$1: $steps steps of $name in $seconds s: the baseline's bits"
    done <"$temporary/digests"
}

compare node node
chromium=$(command -v chromium) || skip_part "chromium is not installed (apt-get install chromium)"
if [[ -n $chromium ]]; then
    install_package "$directory" playwright-core 1.49.1 axe-core 4.14.1
    compare chromium "$chromium"
fi
