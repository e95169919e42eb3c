#!/usr/bin/env bash
# A ctest: after training, the parameters equal those in fixtures/bits.json to the last bit, on
# every instruction set of this processor: after 25 steps on the best one, after 5 on the others,
# which are slow. (WebAssembly has the baseline's bits: tests/wasm/same_bits.sh.) A refactoring must
# not change them; an intended change is a separate commit, with a line in CHANGELOG.md.
#
#     bits.sh [--all | --update] EXAMPLES_DIR FIXTURES_DIR COMPILER
#
# EXAMPLES_DIR holds the built programs. With --all, 5, 25 and 100 steps on all instruction sets
# (.ci/long bits); with --update, rewrites fixtures/bits.json. The bits are those of g++: clang
# rounds some products and sums in other places.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

form=short
[[ ${1:-} != --all && ${1:-} != --update ]] || { form=${1#--}; shift; }
(($# == 3)) || { echo "usage: bits.sh [--all | --update] EXAMPLES_DIR FIXTURES_DIR COMPILER" >&2; exit 2; }
examples=$1 expected=$2/bits.json
if [[ $("$3" --version) != *"Free Software Foundation"* ]]; then  # g++ may be called c++
    skip "the bits of g++ are pinned, not those of $3"
fi

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# The options of each case for `tapestry train`.
declare -A options=(
    [demo]="--layers 4 --heads 4 --dim 128 --context 64 --batch 12 --eval-every 50 --eval-batches 5"
    [recipe]="--no-report --eval-every 0"
    [dropout]="--no-report --eval-every 0 --dropout 0.1"
    [accumulate]="--no-report --eval-every 0 --accumulate 2"
    [two_layers]="--layers 2 --heads 2 --dim 64 --context 32 --batch 8 --no-report --eval-every 0"
)
declare -A texts=([demo]=1 [recipe]=2 [dropout]=2 [accumulate]=2 [two_layers]=2)  # seeds of write_stories

# digest_of FILE: SHA-256 of the tensors in a safetensors file, which follow the header and its
# eight-byte length.
digest_of() {
    local length
    length=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((length + 9)) "$1" | sha256sum | cut -d' ' -f1
}

# line ISA CASE STEPS prints the line for bits.json.
line() {
    local out=$temporary/$1-$2
    # shellcheck disable=SC2086  # several options
    TAPESTRY_ISA=$1 "$examples/cli/tapestry" train --steps "$3" ${options[$2]} --threads 2 \
        --text "$temporary/${texts[$2]}.txt" --out "$out" >"$temporary/log" 2>&1 ||
        { cat "$temporary/log" >&2; return 1; }
    printf '  "%s %s %s": "%s"' "$1" "$2" "$3" "$(digest_of "$out/model.safetensors")"
    rm -r "$out"
}

for seed in 1 2; do
    "$examples/write_stories" --seed $seed --bytes 1000000 --out "$temporary/$seed.txt"
done
available=()
for isa in baseline avx2 avx512; do
    if TAPESTRY_ISA=$isa "$examples/cli/tapestry" info >/dev/null 2>&1; then
        available+=("$isa")
    else
        skip_part "this processor has no $isa"
    fi
done
differ=0 lines=()
for isa in "${available[@]}"; do
    for name in demo recipe dropout accumulate two_layers; do
        lengths=(5 25 100)
        if [[ $name == two_layers ]]; then
            lengths=(100)  # quick everywhere
        elif [[ $form == short ]]; then
            [[ $isa == "${available[-1]}" ]] && lengths=(25) || lengths=(5)
        fi
        for steps in "${lengths[@]}"; do
            found=$(line "$isa" $name "$steps")
            lines+=("$found")
            [[ $form != update ]] || continue
            if ! grep -qF -- "$found" "$expected"; then
                echo "the bits have moved; bits.json says otherwise than$found" >&2
                differ=1
            fi
        done
    done
done
if [[ $form == update ]]; then
    { echo '{'; printf '%s\n' "${lines[@]}" | sed '$!s/$/,/'; echo '}'; } >"$expected"
fi
((differ == 0)) || exit 1
echo "${#lines[@]} trainings: the same bits"
