#!/usr/bin/env bash
# Small training steps, the digits' convolutions and recurrent networks beside PyTorch's, run in turn
# on one thread:
#
#     tests/peers/small_steps.sh [--rounds N] BUILD PYTHON... [-- NAME...]
#
# BUILD/tests/small_steps is `cmake --build BUILD --target small_steps`; PYTHON is the command that
# runs a script where PyTorch is. Prints the medians of each round in microseconds of CPU time, and
# the ratio of their medians.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rounds=5
if [[ ${1:-} == --rounds ]]; then rounds=$2; shift 2; fi
(($# >= 2)) || { sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
ours=$1/tests/small_steps
shift
peer=()
while (($# > 0)) && [[ $1 != -- ]]; do peer+=("$1"); shift; done
[[ ${1:-} != -- ]] || shift
names=("$@")
((${#names[@]} > 0)) || names=(pinn32 pinn128 mlp64 mlp784 digits conv16 conv32 lstm gru)

median() { printf '%s\n' "$@" | sort -g | awk '{x[NR] = $1} END {print x[int((NR + 1) / 2)]}'; }

for name in "${names[@]}"; do
    steps=300
    [[ $name != digits && $name != conv* && $name != mlp784 && $name != lstm && $name != gru ]] ||
        steps=60
    a=() b=()
    for ((i = 0; i < rounds; ++i)); do
        a+=("$("$ours" "$name" $steps)")
        b+=("$(THREADS=1 "${peer[@]}" "$here/small_steps.py" "$name" $steps)")
    done
    awk -v name="$name" -v ours="$(median "${a[@]}")" -v theirs="$(median "${b[@]}")" \
        -v all="ours ${a[*]}, theirs ${b[*]}" \
        'BEGIN {printf "%-8s ours %9.1f us, PyTorch %9.1f us: %5.2f times   (%s)\n",
                       name, ours, theirs, theirs / ours, all}'
done
