#!/usr/bin/env bash
# The op tests of the ordinary build on processors that lack instructions: qemu plays one with AVX2
# (Haswell) and one with SSE alone (Nehalem), and stops a program that uses more than they have. It
# is the proof that one binary runs on all of them. Not part of ./check: qemu is slow.
#
#     tests/emulate.sh [DOCTEST_OPTION...]     for instance --test-case='ops*'
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh

ensure_packages yes "${build_packages[@]}" qemu-user
build_preset release test_ops
binary=build/release/tests/test_ops

# qemu warns of features of these processors that it lacks, none of which is used here.
on() {  # CPU COMMAND...
    qemu-x86_64 -cpu "$1" "${@:2}" 2> >(grep -v "TCG doesn't support requested feature" >&2)
}

for isa in avx2 avx512; do
    if TAPESTRY_ISA=$isa on Nehalem "$binary" "$@" >build/emulate.log; then
        echo "Nehalem accepts TAPESTRY_ISA=$isa" >&2
        exit 1
    fi
    grep -m 1 "TAPESTRY_ISA=$isa: this machine lacks it" build/emulate.log
done
for cpu in Nehalem Haswell; do
    echo "==== $cpu"
    on "$cpu" "$binary" "$@"
done
