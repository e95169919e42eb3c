#!/usr/bin/env bash
# Whether two commits compile to the same machine code: builds a target in both, in a work tree at the same
# path, and compares the code of every object of its archives. Sections of data may differ: texts of errors do.
# Usage: same_text.sh BASE HEAD [TARGET [CMAKE_OPTION...]]    the default TARGET is tapestry, the library
set -euo pipefail

base=$(git rev-parse --verify "$1^{commit}") head=$(git rev-parse --verify "$2^{commit}") target=${3:-tapestry}
options=("${@:4}")
work=$(mktemp -d)
cleanup() {
    git worktree remove --force "$work/tree" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
git worktree add --quiet --detach "$work/tree" "$base"

# code_of COMMIT: "OBJECT SHA-256" of the code of each object. The second commit's build is short: git writes only
# the files that differ.
code_of() {
    git -C "$work/tree" checkout --quiet --detach "$1"
    cmake -S "$work/tree" -B "$work/tree/build/text" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
    cmake --build "$work/tree/build/text" --target "$target" --parallel "$(nproc)" >"$work/log" 2>&1 ||
        { tail -n 50 "$work/log" >&2; return 1; }
    local archive object
    while IFS= read -r archive; do
        rm -rf "$work/objects"
        mkdir "$work/objects"
        (cd "$work/objects" && ar x "$archive")
        for object in "$work"/objects/*.o; do
            objcopy -O binary --only-section='.text*' "$object" "$object.text"
            echo "$(basename "$archive"):$(basename "$object") $(sha256sum <"$object.text" | cut -c 1-64)"
        done
    done < <(find "$work/tree/build/text" -name '*.a' | sort)
}

code_of "$base" >"$work/base"
code_of "$head" >"$work/head"
[[ -s $work/base ]] || { echo "the target $target makes no archive"; exit 1; }
if ! diff "$work/base" "$work/head" >"$work/differ"; then
    sed -n 's/^> \([^ ]*\) .*/other code: \1/p; s/^< \([^ ]*\) .*/other code: \1/p' "$work/differ" | sort -u
    exit 1
fi
echo "$(wc -l <"$work/base") objects of $target have the same code in $1 and $2"
