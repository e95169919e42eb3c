#!/usr/bin/env bash
# Compiles and runs every C++ program in README.md and docs/, and compares its output with the block
# that follows it, so the documents show what happens. Translations show the same programs and
# outputs (translations.sh).
#
# A block ```cpp with a main is a program; a block ```text right after it is its output. With
# --update the output blocks are rewritten instead of compared. A program that joins processes is
# linked with tapestry::mpi; if the build has MPI, three processes must print the same as one.
# Most programs are compiled together, and the few that train on a text for thousands of steps are only
# compiled; with --alone (`.ci/long documents`) each is compiled by itself, and all run. Programs that
# include headers of Eigen or Ceres are left out; with --adapters (`.ci/long adapters`) all others are.
# Usage: snippets.sh [--update] [--alone] [--adapters] COMPILER BUILD_DIR SOURCE_DIR [FLAGS]
set -euo pipefail

update=no alone=no adapters=no
[[ $1 != --update ]] || { update=yes; shift; }
[[ $1 != --alone ]] || { alone=yes; shift; }
[[ $1 != --adapters ]] || { adapters=yes; shift; }
compiler=$1 build=$2 source=$3
# shellcheck source=tests/distributed/environment.sh
. "$source/tests/distributed/environment.sh"
# shellcheck source=tests/skip.sh
. "$source/tests/skip.sh"
read -ra flags <<<"${4:-}"
unset OMP_NUM_THREADS OMP_THREAD_LIMIT  # nproc obeys them
export TAPESTRY_THREADS=${TAPESTRY_THREADS:-1}  # results do not depend on it; small models on two threads mostly wait

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
need_programs_in "$work"
programs=0
failures=0
compiled_only=0

# The folder for a document's programs: every folder has a README.md.
work_of() {
    local path=${1#"$source/"}
    echo "$work/${path//\//_}"
}

# Every program begins by reading this header, which takes longer than everything else: for programs
# compiled alone g++ uses a precompiled one (clang would need an option), which takes as long as three
# readings. It is the same header, so nothing else changes.
mkdir -p "$work/include/tapestry"
[[ $alone == no ]] || "$compiler" -w -std=c++20 -fopenmp -I "$build/include" "${flags[@]}" -x c++-header \
    "$build/include/tapestry/tapestry.h" -o "$work/include/tapestry/tapestry.h.gch"

# Splits a document into NAME.1.cpp, NAME.1.txt, NAME.2.cpp, ...: programs and expected outputs.
split() {
    awk -v out="$(work_of "$1")" '
        /^```cpp$/  { kind = "cpp"; text = ""; next }
        /^```text$/ { kind = adjacent ? "txt" : ""; text = ""; next }
        /^```$/ && kind == "cpp" {
            if (text ~ /int main\(/) { ++n; printf "%s", text > (out "." n ".cpp"); adjacent = 1 }
            kind = ""; next
        }
        /^```$/ { if (kind == "txt") printf "%s", text > (out "." n ".txt"); kind = ""; adjacent = 0; next }
        kind    { text = text $0 "\n"; next }
        /[^ ]/  { adjacent = 0 }
    ' "$1"
}

# Puts the outputs NAME.N.out into the document in place of its blocks.
rewrite() {
    awk -v out="$(work_of "$1")" '
        /^```cpp$/ { kind = "cpp"; text = "" }
        kind == "cpp" { text = text $0 }
        /^```$/ && kind == "cpp" { if (text ~ /int main\(/) { ++n; adjacent = 1 } kind = ""; print; next }
        /^```text$/ && adjacent {
            print; file = out "." n ".out"; kept = 1
            while ((getline line < file) > 0) { print line; kept = 0 }
            skipping = !kept; next  # a program that was left out keeps its block
        }
        /^```$/ && skipping { skipping = 0; adjacent = 0 }
        skipping { next }
        /[^ ]/ && kind == "" && !/^```/ { adjacent = 0 }
        { print }
    ' "$1" >"$work/rewritten" && cp "$work/rewritten" "$1"
}

mapfile -t mpi_libraries < <(LC_ALL=C sed -nE 's/^MPI_[a-z]+_LIBRARY:[^=]*=(.*\/.*)/\1/p' "$build/CMakeCache.txt")
mpirun=$(mpirun_of "$build")

# Does it include headers of Eigen or Ceres?
is_for_adapters() { grep -qE '^#include <(Eigen|ceres)/' "$1"; }

# The course's text.
stories='#include <tapestry/examples/stories/stories.h>'

has_vectors() { grep -q '^#include <xsimd/' "$1"; }

joins_processes() { grep -q '#include <tapestry/nn/distributed/mpi.h>' "$1"; }

# What the library reads PNG and JPEG with, if it was built with them.
read -ra image_libraries < <(grep -oE -- ' -l(png|jpeg)' "$build/tapestry.pc" | tr '\n' ' ' || true) || true

# compile PROGRAM: creates its .exe, or prints the compiler's messages.
compile() {
    local name=${1%.cpp} libraries=("$build/libtapestry.a" -lfmt "${image_libraries[@]}") first=()
    ! grep -qF "$stories" "$1" || libraries=("$build/examples/libtapestry_stories.a" "${libraries[@]}")
    ! joins_processes "$1" || libraries=("$build/libtapestry_mpi.a" "${libraries[@]}" "${mpi_libraries[@]}")
    ! is_for_adapters "$1" || libraries+=(-isystem /usr/include/eigen3 -lceres -lglog)
    # A precompiled header is used only if nothing is read before it, with the same options.
    [[ $alone == no ]] || ! includes_all "$1" || first=(-include "$work/include/tapestry/tapestry.h")
    # Vectors written by hand are for this processor, and slow unless they are optimised.
    ! has_vectors "$1" || first=(-O3 -march=native)
    "$compiler" -std=c++20 -fopenmp "${first[@]}" -I "$work/include" -I "$build/include" "${flags[@]}" "$1" \
        -o "$name.exe" "${libraries[@]}" >"$name.said" 2>&1 || true
}

includes_all() { grep -qx '#include <tapestry/tapestry.h>' "$1"; }

# Does a program include tapestry.h, and has it nothing for the preprocessor but includes? Then it can
# be compiled in a namespace together with others, which saves several times the program's own cost:
# reading the header. (A name that the program and the library both declare is ambiguous only in a
# program compiled alone: --alone finds it.)
is_groupable() {
    [[ $alone == no ]] && includes_all "$1" && ! joins_processes "$1" && ! has_vectors "$1" &&
        ! grep -q '^ *#[^i]' "$1" &&
        grep -qx 'int main() {' "$1" && ! grep -q '^namespace' "$1"
}

# Does it train on a text for a thousand steps or more? These take most of the time.
trains_long() { grep -q TextData "$1" && grep -qE 'step < [0-9]{4}' "$1"; }

includes_more() { [[ $(grep -c '^#include' "$1") != 1 ]]; }

# compile_together NAME PROGRAM...: one program that runs each of these, by its number; scripts in
# their places run it. Programs that do not compile together are compiled alone, to report their
# errors.
compile_together() {
    local name=$work/together.$1 program i=0
    shift
    {
        printf '#include <tapestry/tapestry.h>\n\n#include <cstdlib>\n'
        for program; do
            sed -n '/^#include/p' "$program"
            echo "namespace program_$i {"
            sed '/^#include/d; s/^int main() {/int run() {/; /^int run() {/,/^}/ s/^}/    return 0;\n}/' "$program"
            echo '}'
            i=$((i + 1))
        done
        echo 'int main(int, char** arguments) {'
        echo '    switch (std::atoi(arguments[1])) {'
        for ((i = 0; i < $#; ++i)); do echo "        case $i: return program_$i::run();"; done
        printf '        default: return 1;\n    }\n}\n'
    } >"$name.cpp"
    compile "$name.cpp"
    i=0
    for program; do
        if [[ -x $name.exe ]]; then
            printf '#!/bin/sh\nexec "%s" %s\n' "$name.exe" $i >"${program%.cpp}.exe"
            chmod +x "${program%.cpp}.exe"
            : >"${program%.cpp}.said"
        else
            compile "$program"
        fi
        i=$((i + 1))
    done
}

mapfile -t documents < <(find "$source/README.md" "$source/docs" -name '*.md' ! -name '*.zh.md' | sort)
for document in "${documents[@]}"; do split "$document"; done
# Those that include more are last in their group: to the others only tapestry.h is known.
together=() last=() others=()
for program in "$work"/*.cpp; do
    if is_for_adapters "$program"; then kind=yes; else kind=no; fi
    if [[ $kind != "$adapters" ]]; then
        mv "$program" "$program.left_out"
        continue
    fi
    if ! is_groupable "$program"; then
        others+=("$program")
    elif includes_more "$program"; then
        last+=("$program")
    else
        together+=("$program")
    fi
done
together+=("${last[@]}")

# Runs as many compilers at once as there are cores; the programs themselves run one after another.
in_turn() {
    while (($(jobs -pr | wc -l) >= $(nproc))); do wait -n || true; done
    "$@" &
}
at_once=$(((${#together[@]} + $(nproc) - 1) / $(nproc)))
((at_once >= 16)) || at_once=16
for ((i = 0; i < ${#together[@]}; i += at_once)); do
    in_turn compile_together $i "${together[@]:i:at_once}"
done
for program in "${others[@]}"; do in_turn compile "$program"; done
wait

for document in "${documents[@]}"; do
    for program in "$(work_of "$document")".*.cpp; do
        [[ -e $program ]] || continue
        programs=$((programs + 1))
        name=${program%.cpp}
        if [[ -x $name.exe && $alone == no && $update == no ]] && trains_long "$program"; then
            compiled_only=$((compiled_only + 1))
        elif [[ ! -x $name.exe ]] || ! (cd "$work" && "$name.exe") >"$name.out"; then
            echo "FAILED: $document, program ${name##*.}"
            cat "$name.said"
            failures=$((failures + 1))
        elif [[ $update == no && -e $name.txt ]] && ! diff "$name.txt" "$name.out"; then
            echo "OTHER OUTPUT: $document, program ${name##*.} (< in the document, > now)"
            failures=$((failures + 1))
        elif [[ -n $mpirun ]] && joins_processes "$program" &&
            ! (cd "$work" && timeout 300 "$mpirun" -n 3 "$name.exe") | diff "$name.out" -; then
            echo "OTHER OUTPUT OF THREE PROCESSES: $document, program ${name##*.} (> these)"
            failures=$((failures + 1))
        fi
    done
    [[ $update == no ]] || rewrite "$document"
done

# The command of the course's first page links what these programs link.
for document in "$source"/docs/course/README{,.zh}.md; do
    for option in -lfmt "${image_libraries[@]}" -fopenmp libtapestry.a libtapestry_stories.a; do
        grep -E '^    g\+\+ ' "$document" | grep -qF -- "$option" ||
            { echo "FAILED: the command of $document lacks $option"; failures=$((failures + 1)); }
    done
done

echo "$programs programs in the documents, $compiled_only of them not run, $failures failed"
expected=5
[[ $update$alone$adapters == nonono ]] || expected=0
[[ $programs -gt 0 && $failures -eq 0 && $compiled_only -eq $expected ]]
