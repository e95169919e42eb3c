# How a test script reports that it, or a part of it, cannot run here; sourced. The counterpart of
# tests/skip.h.
# shellcheck shell=bash

# skip_part REASON: prints a line for ./check to list, with the script's name.
skip_part() {
    local script=${0##*/}
    echo "skipped: ${script%.sh}: $1"
}

# skip REASON: the same for the whole script, and ends it.
skip() {
    skip_part "$1"
    exit 77  # what CMake knows as skipped (SKIP_RETURN_CODE)
}

# need_programs_in FOLDER: skips if a program there cannot be run, as on a file system mounted noexec.
need_programs_in() {
    printf '#!/bin/sh\n' >"$1/runs"
    chmod +x "$1/runs"
    "$1/runs" 2>/dev/null || skip "programs in ${TMPDIR:-/tmp} cannot be run; TMPDIR names another folder"
    rm "$1/runs"
}

# need_portable_build: skips if all was compiled for this machine alone.
need_portable_build() {
    [[ -z ${MACHINE_FLAG-} ]] || skip "compiled with $MACHINE_FLAG, so not for other processors"
}

# has_avx2: does this processor have what the kernels for AVX2 need?
has_avx2() { grep -m 1 '^flags' /proc/cpuinfo 2>/dev/null | grep -w avx2 | grep -qw fma; }
