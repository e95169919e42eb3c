#!/usr/bin/env bash
# docs/examples.md matches the code: its C++ occurs in examples/programs, and the programs print its
# outputs, blocks that begin with "$ PROGRAM". The figures are those of g++ and the baseline
# instruction set.
#
#     examples_page.sh [--update] EXAMPLES_DIR SOURCE_DIR COMPILER
#
# EXAMPLES_DIR holds the built programs. With --update the outputs are rewritten.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

update=no
[[ ${1:-} != --update ]] || { update=yes; shift; }
(($# == 3)) || { echo "usage: examples_page.sh [--update] EXAMPLES_DIR SOURCE_DIR COMPILER" >&2; exit 2; }
examples=$1 source=$2
if [[ $("$3" --version) != *"Free Software Foundation"* || $(uname -m) != x86_64 ]]; then
    skip "the figures are those of g++ on x86-64"
fi

programs=$(cat "$source"/examples/programs/*.cpp)
export TAPESTRY_THREADS=${TAPESTRY_THREADS:-1}  # results do not depend on it; small models on two threads mostly wait
failures=0 outputs=0
wanted='' block='' kind=''  # wanted: the page as it should be
while IFS= read -r line; do
    case $kind,$line in
        ,'```cpp') kind=cpp block='' ;;
        ,'```text') kind=text ;;
        cpp,'```')
            [[ $programs == *"$block"* ]] ||
                { echo "NOT in examples/programs:"; echo "$block"; failures=$((failures + 1)); }
            kind='' ;;
        text,'```') kind='' ;;
        cpp,*) block+=$line$'\n' ;;
        text,'$ '*)
            if ! output=$(TAPESTRY_ISA=baseline "$examples/${line#??}"); then
                echo "FAILED: ${line#??}"
                failures=$((failures + 1))
            fi
            outputs=$((outputs + 1))
            wanted+=$line$'\n'$output$'\n'
            continue ;;
        text,*) continue ;;  # what it printed then
    esac
    wanted+=$line$'\n'
done <"$source/docs/examples.md"

if [[ $update == yes ]]; then
    printf '%s' "$wanted" >"$source/docs/examples.md"
elif ! diff "$source/docs/examples.md" <(printf '%s' "$wanted"); then
    echo "OTHER OUTPUT (< in the document, > now): read it, then examples_page.sh --update"
    failures=$((failures + 1))
fi
echo "$outputs outputs, $failures failures"
((outputs == 10 && failures == 0))
