#!/usr/bin/env bash
# Replays all of the recipe's 2000 steps: loss, gradient norm and rate have the bits in
# metrics.jsonl, and every fiftieth step's gradients their checksum. Then single steps, chosen by
# seed, each by a separate command with a page: none may take more than SECONDS. Those farthest from
# a state, the last before the next one, are included.
#
#     every_step.sh TAPESTRY TEXT [SECONDS [STEPS]]
#
# STEPS: fewer, to try the script.
set -euo pipefail
(($# >= 2 && $# <= 4)) || {
    echo "usage: every_step.sh TAPESTRY TEXT [SECONDS [STEPS]]" >&2
    exit 2
}
tapestry=$(realpath "$1") text=$(realpath "$2") most=${3:-2} steps=${4:-2000}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export XDG_CACHE_HOME=$place/cache

"$tapestry" train --text "$text" --out m --steps "$steps" --hash-every 50 --no-report | tail -2
"$tapestry" rewind m --all

# The last step before each of three states, and others anywhere.
mapfile -t kept < <(find m/rewind -name 'step-*' 2>/dev/null | sed 's/.*step-0*//; s/[.].*//' | sort -n)
RANDOM=1
drawn=("${kept[@]: -3}")
while ((${#drawn[@]} < 20)); do drawn+=($((1 + RANDOM % steps))); done
# Wall-clock and CPU seconds. On a shared machine only the latter measure the step: one that exceeds
# the wall-clock limit is tried again, three times in all.
TIMEFORMAT='%R %U'
longest=0 busiest=0
for step in "${drawn[@]}"; do
    for try in 1 2 3; do
        measured=$({ time "$tapestry" rewind m --step "$step" --inspect page.html >said; } 2>&1) || {
            cat said
            echo "FAILED: step $step: $measured"
            exit 1
        }
        grep -q '^the same bits as metrics.jsonl$' said
        read -r seconds processor <<<"$measured"
        awk "BEGIN { exit !($seconds > $most && $try < 3) }" || break
    done
    longest=$(printf '%s\n' "$seconds" "$longest" | sort -g | tail -1)
    busiest=$(printf '%s\n' "$processor" "$busiest" | sort -g | tail -1)
done
echo "${#drawn[@]} single steps, the same bits; the longest took $longest s, $busiest s of the processor"
awk "BEGIN { exit !($longest <= $most) }" || {
    echo "FAILED: more than $most s"
    exit 1
}
