#!/usr/bin/env bash
# A ctest: all that left_out names is there, a source or the beginning of a test case's name. What has
# been renamed would be run in WebAssembly, and what has gone would stand there for ever.
#
#     left_out.sh SOURCE_DIR
set -euo pipefail
tests=$1/tests
status=0
while read -r line; do
    name=${line%%  # *}
    case $name in
        *.cpp) [[ -e $tests/$name ]] ;;
        *) grep -rqF "\"${name%%\**}" "$tests" --include='*_test.cpp' ;;
    esac || { echo "tests/wasm/left_out: there is no '$name'" >&2; status=1; }
done < <(grep '^[^#]' "$tests/wasm/left_out")
exit "$status"
