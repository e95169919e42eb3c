#!/usr/bin/env bash
# The commands of chapter 18 that reach the last row of the course's scoreboard: they run as printed there, and
# the validation loss is near the row's. Both languages have the same commands.
# Usage: course_command.sh EXAMPLES_DIR SOURCE_DIR
set -euo pipefail

chapter=docs/course/18-what-makes-it-fast
# shellcheck disable=SC2016  # awk's program
commands() { awk '/^    .*write_stories --bytes/ { inside = 1 } inside && !/^    / { exit } inside { print substr($0, 5) }' "$1"; }
mapfile -t lines < <(commands "$2/$chapter.md")
[[ ${#lines[@]} == 3 && ${lines[*]} == "$(commands "$2/$chapter.zh.md" | paste -sd ' ')" ]] ||
    { echo "FAILED: the chapters have:" "${lines[@]}"; exit 1; }
row=$(awk -F ' *[|] *' '/^\| fast recipe / { print $5 }' "$2/$chapter.md")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$1/cli:$PATH
cd "$work"
read -ra write <<<"${lines[0]}"
"$1/${write[0]#build/release/examples/}" "${write[@]:1}"
read -ra train <<<"${lines[1]}"
said=$("${train[@]}" 2>&1)
loss=$(sed -nE 's/^.*: loss .*, validation loss ([0-9.]+)$/\1/p' <<<"$said" | tail -n 1)
awk -v loss="$loss" -v row="$row" 'BEGIN { exit !(loss > row - 0.05 && loss < row + 0.05) }' ||
    { echo "FAILED: the row is $row, the command says:"; echo "$said"; exit 1; }
written=$(tapestry sample --model m --prompt "Once upon a time")
[[ $written == "Once upon a time"?* ]] || { echo "FAILED: it wrote: $written"; exit 1; }
echo "validation loss $loss; the row is $row"
