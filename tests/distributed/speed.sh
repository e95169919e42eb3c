#!/usr/bin/env bash
# By hand: steps of two processes of a thread each beside those of one process of two threads, in turn, on
# one machine; the same model, batch and micro-batches. SHAPE is layers, heads, dim, context, batch.
#
#     speed.sh BUILD_DIR [ROUNDS]
#
# MEASURE is put before every single measurement: what keeps others quiet.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
# shellcheck source=tests/distributed/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

build=$(realpath "$1") rounds=${2:-3}
mpirun=$(mpirun_of "$build")
[[ -n $mpirun ]] || skip "no MPI in $build"
read -r layers heads dim context batch <<<"${SHAPE:-6 6 384 256 16}"

# step THREADS [LAUNCHER...]: median and fastest, in milliseconds.
step() {
    local threads=$1
    shift
    # shellcheck disable=SC2086  # words
    ${MEASURE:-} "$@" "$build/examples/cli/tapestry" profile --layers "$layers" --heads "$heads" \
        --dim "$dim" --context "$context" --batch "$batch" --micro-batches 2 --threads "$threads" \
        --steps "${STEPS:-4}" --json |
        python3 -c 'import json, sys; x = json.loads(sys.stdin.read()); print(x["median_ms"], x["min_ms"])'
}

for ((round = 1; round <= rounds; ++round)); do
    one=$(step 2) two=$(step 1 "$mpirun" -n 2)
    echo "$one $two" | awk '{printf "one process: median %.0f ms, fastest %.0f; two: %.0f, %.0f; %.3f and %.3f of it\n",
                             $1, $2, $3, $4, $3 / $1, $4 / $2}'
done
