#!/usr/bin/env bash
# A ctest: everything named by excluded_tests exists, as a source or the beginning of a test case's name.
# A renamed test would run in WebAssembly, and a deleted one would stay in the list forever.
#
#     excluded_tests.sh SOURCE_DIR
set -euo pipefail
tests=$1/tests
status=0
while read -r line; do
    name=${line%%  # *}
    case $name in
        *.cpp) [[ -e $tests/$name ]] ;;
        *) grep -rqF "\"${name%%\**}" "$tests" --include='*_test.cpp' ;;
    esac || { echo "tests/wasm/excluded_tests: there is no '$name'" >&2; status=1; }
done < <(grep '^[^#]' "$tests/wasm/excluded_tests")
exit "$status"
