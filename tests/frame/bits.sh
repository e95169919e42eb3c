#!/usr/bin/env bash
# A ctest: after 100 steps of training the parameters are what they were when fixtures/bits.json was
# written, to the last bit, on every instruction set that this processor has. A refactoring must not
# move them; a change that is meant to is a commit of its own, with a line in CHANGELOG.md.
#
#     bits.sh [--update] EXAMPLES_DIR FIXTURES_DIR COMPILER
#
# EXAMPLES_DIR holds the built programs. With --update, fixtures/bits.json is written anew. The bits
# are those of g++: clang rounds some products and sums at other places.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

update=no
[[ ${1:-} != --update ]] || { update=yes; shift; }
(($# == 3)) || { echo "usage: bits.sh [--update] EXAMPLES_DIR FIXTURES_DIR COMPILER" >&2; exit 2; }
examples=$1 expected=$2/bits.json
if [[ $("$3" --version) != *"Free Software Foundation"* ]]; then  # g++ may be called c++
    skip "the bits of g++ are pinned, not those of $3"
fi

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# What a case passes to `tapestry train`. All of them learn 100 steps.
declare -A options=(
    [demo]="--layers 4 --heads 4 --dim 128 --context 64 --batch 12 --eval-every 50 --eval-batches 5"
    [recipe]="--no-report --eval-every 0"
    [dropout]="--no-report --eval-every 0 --dropout 0.1"
    [accumulate]="--no-report --eval-every 0 --accumulate 2"
)
declare -A texts=([demo]=1 [recipe]=2 [dropout]=2 [accumulate]=2)  # seeds of write_stories

# digest_of FILE: SHA-256 of the tensors in a safetensors file, which follow eight bytes with the
# length of the header, and the header.
digest_of() {
    local length
    length=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((length + 9)) "$1" | sha256sum | cut -d' ' -f1
}

# line ISA CASE prints the line that belongs into bits.json.
line() {
    local out=$temporary/$1-$2
    # shellcheck disable=SC2086  # several options
    TAPESTRY_ISA=$1 "$examples/cli/tapestry" train --steps 100 ${options[$2]} --threads 2 \
        --text "$temporary/${texts[$2]}.txt" --out "$out" >"$temporary/log" 2>&1 ||
        { cat "$temporary/log" >&2; return 1; }
    printf '  "%s %s": "%s"' "$1" "$2" "$(digest_of "$out/model.safetensors")"
    rm -r "$out"
}

for seed in 1 2; do
    "$examples/write_stories" --seed $seed --bytes 1000000 --out "$temporary/$seed.txt"
done
differ=0 lines=()
for isa in baseline avx2 avx512; do
    if ! TAPESTRY_ISA=$isa "$examples/cli/tapestry" info >/dev/null 2>&1; then
        skip_part "this processor has no $isa"
        continue
    fi
    for name in demo recipe dropout accumulate; do
        found=$(line $isa $name)
        lines+=("$found")
        [[ $update == no ]] || continue
        if ! grep -qF -- "$found" "$expected"; then
            echo "the bits have moved; bits.json says otherwise than$found" >&2
            differ=1
        fi
    done
done
if [[ $update == yes ]]; then
    { echo '{'; printf '%s\n' "${lines[@]}" | sed '$!s/$/,/'; echo '}'; } >"$expected"
fi
((differ == 0)) || exit 1
echo "${#lines[@]} trainings: the same bits"
