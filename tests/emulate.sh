#!/usr/bin/env bash
# A ctest: the op tests of the ordinary build on processors that lack instructions. qemu emulates
# one with AVX2 (Haswell) and one with only SSE (Nehalem), and stops a program that uses more: this
# proves that one binary runs on all of them. Tests only a part of every row (check_case.h), because
# qemu is slow; .ci/long runs everything.
#
#     emulate.sh TEST_OPS [DOCTEST_OPTION...]     the built program
set -euo pipefail
binary=$1
shift
(($# > 0)) || { export TAPESTRY_ROWS=emulated; set -- --test-case='ops: values*'; }
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/skip.sh"
[[ $(uname -m) == x86_64 ]] || skip "for x86-64 alone"
need_portable_build
command -v qemu-x86_64 >/dev/null || skip "no qemu-x86_64 here (Debian: qemu-user)"
unset TAPESTRY_ISA  # the emulated processors choose

# qemu warns about features of these processors that it lacks; none of them is used here.
on() {  # CPU COMMAND...
    qemu-x86_64 -cpu "$1" "${@:2}" 2> >(grep -v "TCG doesn't support requested feature" >&2)
}

for isa in avx2 avx512; do
    if said=$(TAPESTRY_ISA=$isa on Nehalem "$binary" "$@"); then
        echo "Nehalem accepts TAPESTRY_ISA=$isa" >&2
        exit 1
    fi
    grep -m 1 "TAPESTRY_ISA=$isa: not available" <<<"$said"
done
for cpu in Nehalem Haswell; do
    echo "==== $cpu"
    on "$cpu" "$binary" "$@"
done
