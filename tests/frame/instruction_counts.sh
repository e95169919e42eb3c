#!/usr/bin/env bash
# A ctest: the number of instructions that a product, a layer norm, attention and a training step
# take, counted by valgrind's callgrind, against instruction_counts.txt. Counts are the same on a
# busy and an idle machine, so 3% more is a regression and not noise.
#
#     instruction_counts.sh [--update] PROGRAM...
#
# PROGRAM is tests/instruction_counts of a build. With --update, writes the numbers of its compiler
# to the file instead. One thread, and AVX2, because valgrind does not support AVX-512. Per work:
#   instructions  all of them, per step for the work `step`
#   outside       those outside the kernels: tape, shapes, allocation, C library
#   storages      blocks from the tensors' allocator (must not grow at all)
#   mallocs       blocks from the system's
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
expectations=$here/instruction_counts.txt
# shellcheck source=tests/skip.sh
. "$here/../skip.sh"

export LC_ALL=C  # some awks print a decimal comma elsewhere
update=no
[[ ${1:-} != --update ]] || { update=yes; shift; }
(($# > 0)) || { echo "usage: instruction_counts.sh [--update] PROGRAM..." >&2; exit 2; }
command -v valgrind >/dev/null || skip "no valgrind here (Debian: valgrind)"
has_avx2 || skip "the numbers are those of AVX2, which this processor lacks"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# count PROGRAM COMPILER WORK STEPS prints lines: compiler, work, metric, number.
count() {
    local profile=$temporary/profile log=$temporary/log status=0
    rm -f "$profile".*
    TAPESTRY_ISA=avx2 TAPESTRY_THREADS=1 valgrind --tool=callgrind --callgrind-out-file="$profile" \
        --zero-before="measured_$3" --dump-after="measured_$3" --dump-line=no \
        --compress-strings=no --compress-pos=no "$1" "$3" >"$log" 2>&1 || status=$?
    if ((status != 0)); then
        echo "$1 $3 ended with status $status under valgrind:" >&2
        grep -vE '^--|^==[0-9]+== *$' "$log" | tail -n 25 >&2
        return 1
    fi
    # fn= starts a function, whose own cost follows line by line, in the last column; the line after
    # calls= has the cost of the callee.
    awk -v compiler="$2" -v work="$3" -v steps="$4" '
        /^fn=/ { kernel = /kernels::(avx2|baseline)::|xsimd_avx2::/; next }
        /^cfn=/ { called = substr($0, 5); next }
        /^calls=/ {
            times = substr($1, 7)
            if (called == "malloc") mallocs += times
            if (called ~ /^tapestry::\(anonymous namespace\)::Allocator::allocate\(/) storages += times
            inclusive = 1
            next
        }
        /^[0-9+*-]/ {
            if (!inclusive) { all += $NF; if (!kernel) outside += $NF }
            inclusive = 0
        }
        END {
            if (!all || !storages) { print "nothing was counted for " work | "cat >&2"; exit 1 }
            print compiler, work, "instructions", int(all / steps)
            print compiler, work, "outside", int(outside / steps)
            print compiler, work, "storages", int(storages / steps)
            print compiler, work, "mallocs", int(mallocs / steps)
        }' "$profile.1"  # the first dump: what happened in measured_*
}

# compare EXPECTED MEASURED prints a table of both; status 1 if anything has grown.
compare() {
    awk '
        /^#/ || NF == 0 { next }
        FNR == NR { expected[$1, $2, $3] = $4; next }
        {
            verdict = ""
            was = 0
            if (!(($1, $2, $3) in expected)) verdict = "NEW: run with --update"
            else {
                was = expected[$1, $2, $3]
                slack = $3 == "storages" ? 0 : 0.03 * was
                if ($4 > was + slack) { verdict = "MORE"; worse = 1 }
                else if ($4 < 0.97 * was) verdict = "fewer: make it the rule with --update"
            }
            change = was == 0 ? 0 : 100 * ($4 / was - 1)
            printf "%-9s %-10s %-12s %9d  was %9d  %+6.1f%%  %s\n", $1, $2, $3, $4, was,
                   change, verdict
        }
        END { exit worse }' "$1" "$2"
}

# ---- the check itself ----------------------------------------------------------------------------

cat >"$temporary/planted" <<'END'
# planted
c work instructions 1000
c work storages 100
c work mallocs 1000
END
judged() {  # STATUS TEXT LINE
    local status=0 said
    said=$(compare "$temporary/planted" <(echo "$3")) || status=$?
    if [[ $status != "$1" || $said != *"$2"* ]]; then
        echo "the check is broken: of \"$3\" it says (status $status): $said" >&2
        exit 1
    fi
}
judged 1 MORE "c work instructions 1031"
judged 0 "+2.9%" "c work instructions 1029"
judged 0 fewer "c work instructions 900"
judged 1 MORE "c work storages 101"
judged 0 NEW "c other mallocs 5"

# ---- counting ------------------------------------------------------------------------------------

failures=0
for program; do
    compiler=$("$program" compiler)
    if [[ $update == no ]] && ! grep -q "^$compiler " "$expectations"; then
        skip "$compiler: no numbers in $expectations; --update writes them"
    fi
    for work in gemm layer_norm attention step; do
        steps=1
        [[ $work != step ]] || steps=2  # that many does the program take
        count "$program" "$compiler" "$work" "$steps"
    done >"$temporary/measured"
    compare "$expectations" "$temporary/measured" || failures=$((failures + 1))
    if [[ $update == yes ]]; then
        { grep -v "^$compiler " "$expectations" || true; } >"$temporary/others"
        cat "$temporary/others" "$temporary/measured" >"$expectations"
        echo "written to $expectations"
        failures=0
    fi
done
((failures == 0)) || { echo "More instructions than before. If that is meant: --update"; exit 1; }
