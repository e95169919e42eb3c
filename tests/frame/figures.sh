#!/usr/bin/env bash
# The size of every room: its files, lines, the median file and the budget of room_budgets.txt; at
# the end the totals of production code and tests. By hand; sizes_test.cpp fails if a room exceeds
# its budget.
#
#     tests/frame/figures.sh [--budgets | --small | --walks] [TREE]
#
# --budgets: prints a room_budgets.txt with every room 5 % above its present size.
# --small:   the files under 40 lines in production and under 60 in tests, by what they are.
# --walks:   the files that name an op, an optimiser, a kind of model, an instruction set, a storage
#            type in code: those that adding another one can touch. docs/architecture.md has the ways.
# TREE:      another tree, for comparison.
set -euo pipefail

what=rooms
case ${1:-} in
--*) what=${1#--}; shift ;;
esac
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

production=()
for folder in core autograd ops nn python examples; do
    [[ -d $folder ]] && production+=("$folder")
done

sources() {
    find "$@" \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z
}

# sizes FOLDER...: "ROOM LINES" of every C++ file.
sizes() {
    sources "$@" | xargs -0 wc -l |
        awk '$2 != "total" { room = $2; sub("/[^/]*$", "", room); print room, $1 }'
}

# summary NAME: files, lines, median, and files under 40 and over 300 of "ROOM LINES" on stdin.
summary() {
    sort -k 2n | awk -v name="$1" -v budget="${2:-}" '
        { size[NR] = $2; lines += $2; small += $2 < 40; large += $2 > 300 }
        END {
            printf "%-30s %5d files %7d lines, median %4.0f, %3d under 40, %3d over 300", name, NR, lines,
                (size[int((NR + 1) / 2)] + size[int((NR + 2) / 2)]) / 2, small, large
            print budget == "" ? "" : "; budget " budget
        }'
}

# small LIMIT FOLDER...: what the files with fewer lines are, and each of them.
small() {
    local limit=$1
    shift
    sources "$@" | xargs -0 wc -l | awk -v limit="$limit" '
        $2 != "total" { lines[$2] = $1 }
        END {
            for (file in lines) {
                if (lines[file] >= limit) continue
                stem = file; sub("[.][^.]*$", "", stem)
                kind = "other source"
                if (file ~ /[.]h$/) kind = (stem ".cpp" in lines) ? "header of a source" : "header alone"
                else if (stem ".h" in lines) kind = lines[stem ".h"] < limit ? "source of a small header" : "source of a header"
                else if (file ~ /^examples\/programs\//) kind = "program"
                else if (file ~ /_test[.]cpp$/) kind = "test of one thing"
                else if (file ~ /compile_errors\//) kind = "program that must not compile"
                printf "%-30s %4d %s\n", kind, lines[file], file
            }
        }' | sort -k 1,1 -k 2,2
}

# walk THING EXAMPLE PATTERN: the files of production and build that name the example outside comments.
walk() {
    local file found=()
    while IFS= read -r file; do
        if (($(sed 's|//.*||; /^ *#[^a-z]/d' "$file" | grep -cE "$3") > 0)); then found+=("$file"); fi
    done < <(grep -rlE "$3" --include='*.h' --include='*.cpp' --include='*.cmake' --include=CMakeLists.txt \
        "${production[@]}" cmake CMakeLists.txt | grep -v '^examples/stories/' | sort)
    printf '%-16s like %-12s %3d files\n' "$1" "$2" ${#found[@]}
    printf '    %s\n' "${found[@]}"
}

case $what in
budgets)
    grep '^#' tests/frame/room_budgets.txt || true
    sizes "${production[@]}" | awk '{ lines[$1] += $2 } END { for (room in lines) print room, int(lines[room] * 1.05 + 0.5) }' | sort
    ;;
small)
    for part in "40 ${production[*]}" "60 tests"; do
        read -r limit folders <<<"$part"
        echo "== under $limit: $folders"
        # shellcheck disable=SC2086
        small "$limit" $folders
        # shellcheck disable=SC2086
        small "$limit" $folders | cut -c 1-30 | sort | uniq -c
    done
    ;;
walks)
    walk op softplus '\b[Ss]oftplus\b'
    walk optimiser RMSprop '\bRMSprop|rmsprop'
    walk 'model kind' Span '\bSpan(Config|Reader)\b|span_reader'
    walk 'decoder family' qwen3 '\bqwen3\b'
    walk ISA avx512_amx 'avx512_amx|amx_gemm'
    walk dtype f16 '\b[Ff]16\b'
    ;;
rooms)
    sizes "${production[@]}" >"${all:=$(mktemp)}"
    trap 'rm -f "$all"' EXIT
    cut -d ' ' -f 1 "$all" | sort -u | while read -r room; do
        grep "^$room " "$all" | summary "$room" "$(sed -n "s|^$room ||p" tests/frame/room_budgets.txt 2>/dev/null)"
    done
    summary production <"$all"
    sizes tests | summary tests
    ;;
*)
    echo "figures.sh: unknown --$what" >&2
    exit 2
    ;;
esac
