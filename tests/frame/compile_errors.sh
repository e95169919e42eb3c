#!/usr/bin/env bash
# A ctest: the compiler's messages for common mistakes. Each file of compile_errors/ names a
# standard in its first line and a sentence in its second: its compilation fails, the first error
# contains the sentence, and the output is short. (If std::vector does the copying, the compiler
# also reports the path there.) A file without a sentence compiles.
#
#     compile_errors.sh COMPILER INCLUDE_DIR [FLAG...]
set -euo pipefail
compiler=$1 include=$2
shift 2
here=$(dirname "${BASH_SOURCE[0]}")/compile_errors
failures=0
export LC_ALL=C  # the compiler's messages are compared

wrong() { # wrong FILE WHAT OUTPUT
    printf '%s: %s; the compiler says:\n%s\n\n' "${1##*/}" "$2" "$3"
    failures=$((failures + 1))
}

for file in "$here"/*.cpp; do
    { read -r _ standard && read -r _ sentence; } <"$file"
    status=0
    # shellcheck disable=SC2086  # several flags may stand in one argument
    said=$("$compiler" $* "$standard" -fsyntax-only -I "$include" "$file" 2>&1) || status=$?
    first=$(grep -m1 'error:' <<<"$said") || true
    most=20
    [[ $file != *vector* ]] || most=45
    if [[ -z $sentence ]]; then
        ((status == 0)) || wrong "$file" "does not compile" "$said"
    elif ((status == 0)); then
        wrong "$file" "compiles" "$said"
    elif [[ ${first//\" \"/} != *"$sentence"* ]]; then
        wrong "$file" "the first error is not '$sentence'" "$said"
    elif (($(wc -l <<<"$said") > most)); then
        wrong "$file" "more than $most lines" "$said"
    fi
done
exit $((failures > 0))
