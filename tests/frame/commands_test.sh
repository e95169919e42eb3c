#!/usr/bin/env bash
# A ctest: how ./demo and ./check behave on machines that lack something, on which this test cannot
# be run; false dpkg-query, apt-get, id and sudo play them. Nothing is installed or built.
#
#     commands_test.sh SOURCE_DIR
set -euo pipefail
source=$1

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failures=0

# A machine: a folder with the programs it has; each notes that it was called.
tools=(bash env dirname tr tail mkdir cat sh cp)
new_machine() {  # UID INSTALLED_PACKAGES
    bin=$temporary/bin
    rm -rf "$bin" "$temporary/tree"
    mkdir -p "$bin" "$temporary/tree/cmake" "$temporary/tree/.ci"
    # A copy of the scripts, so that no build of the real tree is touched.
    cp "$source/demo" "$source/check" "$temporary/tree"
    cp "$source/.ci/run" "$temporary/tree/.ci"
    cp "$source/cmake/bootstrap.sh" "$temporary/tree/cmake"
    local tool
    for tool in "${tools[@]}"; do
        ln -s "$(command -v "$tool")" "$bin/$tool"
    done
    false_program id "echo $1"
    installed=" $2 "
    false_program dpkg-query "[[ '$installed' == *\" \${*: -1} \"* ]] && echo -n installed"
    # What configuring or building would call: the scripts must not get there in these tests.
    false_program cmake 'exit 77'
    false_program nproc 'echo 1'
    calls=$temporary/calls
    : >"$calls"
}
false_program() {  # NAME BODY
    printf '#!%s\necho "%s $*" >>%q\n%s\n' "$(command -v bash)" "$1" "$temporary/calls" "$2" \
        >"$temporary/bin/$1"
    chmod +x "$temporary/bin/$1"
}

# expect STATUS TEXT COMMAND...: the exit status, and a text that stdout or stderr must contain.
expect() {
    local status=0 output
    output=$(cd "$temporary/tree" && PATH=$bin "${@:3}" 2>&1 </dev/null) || status=$?
    if [[ $status != "$1" || $output != *"$2"* ]]; then
        echo "FAILED: ${*:3}: status $status, expected $1 and \"$2\"; output:"
        echo "$output"
        failures=$((failures + 1))
    fi
}
expect_call() {
    if ! grep -qF -- "$1" "$calls"; then
        echo "FAILED: was not called: $1; these were:"
        cat "$calls"
        failures=$((failures + 1))
    fi
}
expect_no_call() {
    if grep -q "^$1 " "$calls"; then
        echo "FAILED: was called: $1"
        failures=$((failures + 1))
    fi
}

all="g++ cmake ninja-build libfmt-dev libxsimd-dev doctest-dev nlohmann-json3-dev libcli11-dev"
line="apt-get update && apt-get install --yes --no-install-recommends"

echo "---- everything is there: neither root nor network is needed"
new_machine 1000 "$all"
expect 77 "Building" ./check  # 77: our cmake
expect_no_call apt-get

echo "---- root, and something missing: one update, one installation"
new_machine 0 "${all/cmake /}"
false_program apt-get 'exit 0'
expect 77 "Installing with apt: cmake" ./demo
expect_call "apt-get update"
expect_call "apt-get install --yes --no-install-recommends cmake"

echo "---- sudo takes root's place, and asks nothing when nobody could answer"
new_machine 1000 "g++ cmake"
false_program apt-get 'exit 0'
# shellcheck disable=SC2016  # for the false sudo to expand
false_program sudo '[[ $1 != -n ]] || shift; exec "$@"'
expect 77 "Installing with apt: ninja-build" ./check
expect_call "sudo -n sh"
expect_call "apt-get install --yes --no-install-recommends ninja-build libfmt-dev"

echo "---- neither: the line to run, exit 3"
new_machine 1000 "${all/libfmt-dev /}"
expect 3 "su -c '$line libfmt-dev'" ./check
expect 3 "su -c '$line libfmt-dev'" ./demo
expect 3 "su -c '$line libfmt-dev chromium nodejs npm'" ./.ci/run
expect_no_call cmake

echo "---- --no-install looks only"
new_machine 0 "${all/g++ /}"
false_program apt-get 'exit 0'
expect 3 "Missing: g++" ./check --no-install
expect 3 "Missing: g++" ./demo --no-install
expect_no_call apt-get

echo "---- apt fails"
new_machine 0 ""
false_program apt-get 'echo "E: no network" >&2; exit 100'
expect 3 "E: no network" ./demo
expect 3 "Could not install: $all" ./demo

echo "---- clang has packages of its own"
new_machine 1000 "$all"
expect 3 "clang-14 libomp-14-dev'" ./check --clang
expect 77 "build/asan" ./check --asan
expect 3 "chromium nodejs npm'" ./check --browser
false_program npm 'exit 77'
expect 3 "--no-install-recommends chromium'" ./check --browser

echo "---- wrong use"
new_machine 1000 ""
expect 2 "check: unknown option --fast" ./check --fast
expect 2 "demo: unknown option --fast" ./demo --fast
expect 2 "demo: --text needs a value" ./demo --text
expect 2 "--text /nowhere: no such file" ./demo --text /nowhere
expect 2 "--steps many: not a number of steps" ./demo --steps many
expect 2 "run: unknown option --fast" ./.ci/run --fast
expect 0 "Usage: ./demo" ./demo --help
expect 0 "Usage: ./check" ./check --help
expect 0 "Usage: .ci/run" ./.ci/run --help

((failures == 0)) || exit 1
echo "all as expected"
