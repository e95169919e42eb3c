#!/usr/bin/env bash
# The recipe, `tapestry train` with its defaults, killed a hundred times at random and resumed with
# 1, 2, 3 and 8 threads in rotation: its model, its moments and its metrics without times are, byte
# for byte, those of an uninterrupted run. About four minutes: `.ci/long recipe`.
#
#     killed_recipe.sh TAPESTRY TEXT [KILLS]
#
# Read next: survival_test.cpp.
set -euo pipefail
(($# == 2 || $# == 3)) || { echo "usage: killed_recipe.sh TAPESTRY TEXT [KILLS]" >&2; exit 2; }
tapestry=$(realpath "$1") text=$(realpath "$2") wanted=${3:-100}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

train() {  # OUT OPTION...
    "$tapestry" train --text "$text" --no-report --rewind-budget 0 --out "$@" >log 2>&1
}

# The tensors of a safetensors file, which follow the header and its eight-byte length.
tensors() {
    local length
    length=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((length + 9)) "$1"
}

metrics() {
    sed -E 's/,"(tokens_per_s|seconds|of_peak)":[0-9.e+-]+//g' "$1/metrics.jsonl"
}

train whole
RANDOM=7
threads=(1 2 3 8)
for ((kills = 0; kills < wanted;)); do
    # Not in a subshell: the process to kill is the training run itself.
    TAPESTRY_THREADS=${threads[kills % 4]} "$tapestry" train --text "$text" --no-report \
        --rewind-budget 0 --out killed --resume --checkpoint-every 10 >log 2>&1 &
    sleep 0.$((2 + RANDOM % 8))
    kill -KILL $! 2>/dev/null || true
    status=0
    wait $! 2>/dev/null || status=$?
    if ((status == 128 + 9)); then
        kills=$((kills + 1))
    elif ((status == 0)); then
        echo "it had come to its end after $kills kills" >&2
        exit 1
    else
        cat log >&2
        exit 1
    fi
done
reached=$(grep -c '"step"' killed/metrics.jsonl || true)
train killed --resume

cmp whole/model.safetensors killed/model.safetensors
cmp <(tensors whole/checkpoints/*) <(tensors killed/checkpoints/*)
cmp <(metrics whole) <(metrics killed)
echo "$kills kills within $reached steps: the same model, moments and metrics"
