#!/usr/bin/env bash
# By hand: steps of two processes with one thread each compared with those of one process with two
# threads, alternating, on one machine; the same model, batch and micro-batches. SHAPE is layers,
# heads, dim, context, batch. A round takes about twenty seconds. Fails if the fastest step of two
# processes takes more than 1.05 times that of one.
#
#     speed.sh BUILD_DIR [ROUNDS]
#
# MEASURE is a command prefix for every single measurement, to keep others quiet.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
# shellcheck source=tests/distributed/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
# As for a user: tests disable how processes read each other's memory, because containers forbid it.
unset OMPI_MCA_btl_vader_single_copy_mechanism

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
    echo "$one $two"
done | awk '{
        printf "one process: median %.0f ms, fastest %.0f; two: %.0f, %.0f; %.3f and %.3f of it\n",
               $1, $2, $3, $4, $3 / $1, $4 / $2
        fflush()
        if (NR == 1 || $2 < one) one = $2
        if (NR == 1 || $4 < two) two = $4
    }
    END {
        printf "the fastest of all: %.0f ms and %.0f, %.3f of it\n", one, two, two / one
        exit two > 1.05 * one
    }'
