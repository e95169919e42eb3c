# The final report of ./check and .ci/run: skipped tests and their reasons, ctest's verdict, and how
# many tests passed, failed and were skipped.
#
# Sourced by bash, from the root of the tree. Tests report skipping with tests/skip.h or
# tests/skip.sh: a line "skipped: NAME: REASON". Needs grep and awk, which a machine that runs ctest
# has.
# shellcheck shell=bash

# tested STRICT DIR: reports the ctest run in DIR whose output is DIR/check.log. With STRICT "yes",
# a skipped test that is not listed in .ci/may_skip counts as failed. Status 1 if anything failed.
tested() {
    local strict=$1 dir=$2 verdict name
    # "96% tests passed, 2 tests failed out of 57"
    if ! verdict=$(grep -E '^[0-9]+% tests passed' "$dir/check.log"); then
        echo "ctest gave no verdict"
        echo "0 passed, 1 failed"
        return 1
    fi
    [[ $verdict =~ ,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]
    local failed=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    # Programs skipped as a whole, and single cases of those that passed.
    local passed=$((total - failed - $(grep -c '\*\*\*Skipped' "$dir/check.log")))
    local allowed=() unexpected=()
    while IFS= read -r name; do
        if [[ $strict != yes ]] || may_skip "$name"; then
            allowed+=("$name")
        else
            unexpected+=("$name")
        fi
    done < <(skipped_in "$dir/Testing/Temporary/LastTest.log")
    list "Skipped:" "${allowed[@]}"
    list "Skipped without leave (.ci/may_skip):" "${unexpected[@]}"
    echo "$verdict"
    failed=$((failed + ${#unexpected[@]}))
    closing_line "$passed" "$failed" "${#allowed[@]}"
    ((failed == 0))
}

# closing_line PASSED FAILED SKIPPED
closing_line() {
    echo "$1 passed, $2 failed$( (($3 == 0)) || echo ", $3 skipped")"
}

# total LOG...: the closing lines of several runs of ./check and their sum; a run without one has
# failed. Status 1 if anything failed.
total() {
    local log line passed=0 failed=0 skipped=0
    for log; do
        line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
        line=${line:-0 passed, 1 failed}
        log=${log##*/}
        printf '%-8s %s\n' "${log%.log}" "$line"
        [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
    done
    closing_line "$passed" "$failed" "$skipped"
    ((failed == 0))
}

# list TITLE LINE...: prints nothing if there are no lines.
list() {
    (($# > 1)) || return 0
    echo "$1"
    printf '    %s\n' "${@:2}"
}

# "NAME: REASON" of everything skipped, from ctest's log; also of a test that gave no reason.
skipped_in() {
    awk '/^[0-9]+\/[0-9]+ Testing: / { test = $3; reasons = 0 }
         sub(/^skipped: /, "") { print; ++reasons }
         /^Test Skipped\.$/ && reasons == 0 { print test ": no reason given" }' "$1" | sort -u
}

# may_skip "NAME: REASON": does it begin with a line of .ci/may_skip? The text after a # there gives
# the justification.
may_skip() {
    local line
    while IFS= read -r line; do
        line=${line%%#*}
        line=${line%"${line##*[![:space:]]}"}
        [[ -z $line || $1 != "$line"* ]] || return 0
    done <.ci/may_skip
    return 1
}
