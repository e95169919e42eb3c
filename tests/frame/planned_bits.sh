#!/usr/bin/env bash
# A ctest: the recipe with dropout, a report and evaluations gives the same parameter file with and
# without planned memory. 2000 steps: .ci/long plan.
#
#     planned_bits.sh EXAMPLES_DIR [STEPS]
set -euo pipefail
examples=$1 steps=${2:-40}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
"$examples/write_stories" --seed 2 --bytes 1000000 --out "$temporary/text.txt"

# trained NAME OPTION...: prints the SHA-256 of the parameters; the output is in NAME.log.
trained() {
    local name=$1
    shift
    "$examples/cli/tapestry" train --steps "$steps" --dropout 0.1 --eval-every $((steps / 4)) --threads 2 \
        --text "$temporary/text.txt" --out "$temporary/$name" "$@" >"$temporary/$name.log" 2>&1 ||
        { cat "$temporary/$name.log" >&2; return 1; }
    [[ -s $temporary/$name/report.html ]] || { echo "$name: no report" >&2; return 1; }
    sha256sum <"$temporary/$name/model.safetensors" | cut -d' ' -f1
}

eager=$(trained eager)
planned=$(trained planned --plan)
echo "eager:   $eager"
echo "planned: $planned"
grep '^plan: ' "$temporary/planned.log" || { echo "FAILED: no plan was made"; exit 1; }
followed=$(sed -nE 's/^plan: .*; ([0-9]+) steps followed it.*/\1/p' "$temporary/planned.log")
((followed >= steps - 10)) || { echo "FAILED: of $steps steps $followed followed the plan"; exit 1; }
[[ $eager == "$planned" ]] || { echo "FAILED: the parameters differ"; exit 1; }
