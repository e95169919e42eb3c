#!/usr/bin/env bash
# A ctest of the preset wasm: the playground's page in Debian's chromium, without a network, and no
# larger than 3 MB. Skipped, with a message, without chromium, npm or npm's packages.
#
#     playground_page.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
directory=$build/npm_pages
# shellcheck source=tests/npm/install.sh
. "$source/tests/npm/install.sh"

page=$build/examples/school/playground/playground.html
bytes=$(wc -c <"$page")
echo "$page: $bytes bytes"
((bytes <= 3000000)) || { echo "that is more than 3 MB" >&2; exit 1; }
chromium=$(command -v chromium) || skip "chromium is not installed (apt-get install chromium)"
install_package "$directory" playwright-core 1.49.1 axe-core 4.14.1
page() {
    NODE_PATH=$directory/node_modules node "$source/tests/wasm/playground_$1.js" "$chromium" \
        "$build/examples/school/playground" "${@:2}"
}
# Two browsers at a time, because each mostly waits.
page page "${TAPESTRY_SCREENSHOTS:-}" &
first=$!
for part in answers keys; do page "$part" "${TAPESTRY_SCREENSHOTS:-}"; done

# A run of the native command, interrupted after its first checkpoint, and its final result.
tapestry=$source/build/release/examples/cli/tapestry
[[ -x $tapestry ]] || { skip_part "no native command in build/release"; wait $first; exit; }
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
"$source/build/release/examples/write_stories" --seed 1 --bytes 100000 --out "$run/stories.txt"
steps=400
for ((tries = 0; tries < 20; ++tries)); do  # it may end before this script gets a processor
    rm -rf "$run/run"
    TAPESTRY_ISA=baseline "$tapestry" train --text "$run/stories.txt" --out "$run/run" --steps "$steps" \
        --layers 2 --heads 2 --dim 64 --context 32 --batch 8 --eval-every 10 >"$run/log" 2>&1 &
    command=$!
    until [[ -e $run/run/model.safetensors ]] || ! kill -0 $command 2>/dev/null; do sleep 0.05; done
    kill -TERM $command 2>/dev/null || true
    wait $command && status=0 || status=$?
    ((status == 0)) || break
done
step=$(sed -nE 's/.*"event":"end","step":([0-9]+).*/\1/p' "$run/run/metrics.jsonl")
[[ $status == 130 && -n $step ]] || { cat "$run/log"; echo "not interrupted: $status" >&2; exit 1; }
cp -r "$run/run" "$run/half"
TAPESTRY_ISA=baseline "$tapestry" train --resume --out "$run/run" >"$run/log" 2>&1 || { cat "$run/log" >&2; exit 1; }
length=$(od -An -t u8 -N 8 "$run/run/model.safetensors" | tr -d ' ')
digest=$(tail -c +$((length + 9)) "$run/run/model.safetensors" | sha256sum | cut -d' ' -f1)
page directory "$run/half" "$run/stories.txt" "$step" "$steps" "$digest"
wait $first
