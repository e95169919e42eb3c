# How a test that is a script says that it, or a part of it, cannot be run here; sourced. What
# tests/skip.h is for test cases.
# shellcheck shell=bash

# skip_part REASON: prints what ./check lists, under the script's name.
skip_part() {
    local script=${0##*/}
    echo "skipped: ${script%.sh}: $1"
}

# skip REASON: the same of the whole script, which ends.
skip() {
    skip_part "$1"
    exit 77  # what CMake knows as skipped (SKIP_RETURN_CODE)
}
