#!/usr/bin/env bash
# The size of every room: its files, lines, the median file and the budget of room_budgets.txt; at
# the end the totals of production code and tests, and how many files name a storage type. By hand; sizes_test.cpp fails if a room exceeds
# its budget.
#
#     tests/frame/figures.sh [--budgets]
#
# --budgets: prints a room_budgets.txt with every room 5 % above its present size.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# sizes FOLDER...: "ROOM LINES" of every C++ file.
sizes() {
    find "$@" \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z | xargs -0 wc -l |
        awk '$2 != "total" { room = $2; sub("/[^/]*$", "", room); print room, $1 }'
}

production=(core autograd ops nn python examples)
if [[ ${1:-} == --budgets ]]; then
    grep '^#' tests/frame/room_budgets.txt || true
    sizes "${production[@]}" | awk '{ lines[$1] += $2 } END { for (room in lines) print room, int(lines[room] * 1.05 + 0.5) }' | sort
    exit
fi

# summary NAME: files, lines, median and files under 40 of "ROOM LINES" on stdin.
summary() {
    sort -k 2n | awk -v name="$1" -v budget="${2:-}" '
        { size[NR] = $2; lines += $2; small += $2 < 40 }
        END {
            printf "%-30s %5d files %7d lines, median %4.0f, %3d under 40", name, NR, lines,
                (size[int((NR + 1) / 2)] + size[int((NR + 2) / 2)]) / 2, small
            print budget == "" ? "" : "; budget " budget
        }'
}

sizes "${production[@]}" >"${sizes:=$(mktemp)}"
trap 'rm -f "$sizes"' EXIT
for room in $(cut -d ' ' -f 1 "$sizes" | sort -u); do
    grep "^$room " "$sizes" | summary "$room" "$(sed -n "s|^$room ||p" tests/frame/room_budgets.txt)"
done
summary production <"$sizes"
sizes tests | summary tests
grep -rliE 'bf16|\bf16\b' --include='*.h' --include='*.cpp' "${production[@]}" | wc -l |
    sed 's/$/ files name bf16 or f16/'
