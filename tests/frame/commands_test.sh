#!/usr/bin/env bash
# A ctest: how ./demo and ./check behave on incomplete machines, where this test could not run; what
# they print while installing or building; and how they interpret ctest's output. Fake dpkg-query,
# apt-get, id, sudo, cmake and ctest are used: nothing is installed or built.
#
#     commands_test.sh SOURCE_DIR
# shellcheck disable=SC2016  # the bodies of false programs are theirs to expand
set -euo pipefail
source=$1
# shellcheck source=cmake/progress.sh
. "$source/cmake/progress.sh"
# shellcheck source=tests/skip.sh
. "$source/tests/skip.sh"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
need_programs_in "$temporary"
failures=0

# A machine: a folder with the programs it has; each logs its calls.
tools=(bash env dirname tr tail mkdir cat sh cp grep awk sort tee sleep)
new_machine() {  # UID INSTALLED_PACKAGES
    bin=$temporary/bin
    rm -rf "$bin" "$temporary/tree"
    mkdir -p "$bin" "$temporary/tree/cmake/wasm" "$temporary/tree/.ci"
    # A copy of the scripts, so no build of the real tree is touched.
    cp "$source/demo" "$source/check" "$temporary/tree"
    cp "$source/.ci/run" "$temporary/tree/.ci"
    cp "$source"/cmake/{bootstrap,progress,verdict}.sh "$temporary/tree/cmake"
    cp "$source/cmake/wasm/install.sh" "$temporary/tree/cmake/wasm"
    local tool
    for tool in "${tools[@]}"; do
        ln -s "$(command -v "$tool")" "$bin/$tool"
    done
    false_program id "echo $1"
    installed=" $2 "
    false_program dpkg-query "[[ '$installed' == *\" \${*: -1} \"* ]] && echo -n installed"
    # Called when configuring or building, which the scripts must not reach in most of these tests.
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
# The same for a text with seconds left, which are more if the script gets no processor for some: again, then.
expect_left() {
    local before=$failures
    for _ in 1 2 3 4; do
        expect "$@" >/dev/null
        ((failures > before)) || return 0
        failures=$before
    done
    expect "$@"
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

all="g++ cmake ninja-build libfmt-dev libxsimd-dev doctest-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libpng-dev libjpeg-dev"
all_of_ci="chromium doxygen qemu-user valgrind pkgconf pybind11-dev python3-dev python3-numpy python3-pytest iproute2 libopenmpi-dev openmpi-bin nodejs npm clang-14 libclang-rt-14-dev libomp-14-dev g++-aarch64-linux-gnu emscripten"
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
false_program sudo '[[ $1 != -n ]] || shift; exec "$@"'
expect 77 "Installing with apt: ninja-build" ./check
expect_call "sudo -n sh"
expect_call "apt-get install --yes --no-install-recommends ninja-build libfmt-dev"

echo "---- neither: the line to run, exit 3"
new_machine 1000 "${all/libfmt-dev /}"
expect 3 "su -c '$line libfmt-dev'" ./check
expect 3 "su -c '$line libfmt-dev'" ./demo
expect 3 "su -c '$line libfmt-dev chromium doxygen qemu-user valgrind pkgconf pybind11-dev python3-dev python3-numpy python3-pytest iproute2 libopenmpi-dev openmpi-bin nodejs npm clang-14 libclang-rt-14-dev libomp-14-dev \
g++-aarch64-linux-gnu'" ./.ci/run
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

echo "---- other compilers, and the tools of single tests, are packages of their own"
new_machine 1000 "$all"
expect 3 "recommends clang-14 libclang-rt-14-dev libomp-14-dev'" ./check --clang
expect 3 "recommends g++-aarch64-linux-gnu qemu-user'" ./check --neon
expect 3 "recommends clang-14 libclang-rt-14-dev libomp-14-dev'" ./check --asan
expect 3 "recommends emscripten nodejs'" ./check --wasm
expect 3 "recommends chromium doxygen qemu-user valgrind pkgconf pybind11-dev python3-dev python3-numpy python3-pytest iproute2 libopenmpi-dev openmpi-bin nodejs npm'" ./check --complete
false_program npm 'exit 77'
expect 3 "recommends chromium doxygen qemu-user valgrind pkgconf pybind11-dev python3-dev python3-numpy python3-pytest iproute2 libopenmpi-dev openmpi-bin'" ./check --complete

# ---- progress ------------------------------------------------------------------------------------

# A cmake that configures immediately, and builds three of four objects.
new_builder() {
    new_machine 1000 "$all"
    false_program cmake '
        if [[ $1 == --build ]]; then
            for n in 1 2 3; do echo "[$n/4] Building CXX object $n.o"; done
            echo "FAILED: 4.o"; echo "4.cpp:1: error: no such thing"
            exit 78
        fi'
}

echo "---- while it builds: lines with what is done and what is left; the errors at the end"
new_builder
export TAPESTRY_PROGRESS_SECONDS=0
expect_left 78 "    3 of 4 done, about 0 s left" ./check
expect 78 "4.cpp:1: error: no such thing" ./check
expect_call "cmake --build --preset release --parallel 1"
expect 78 "    2 of 4 done" ./demo
expect_call "cmake --build --preset release --target tapestry_demo write_stories --parallel 1"

echo "---- also while a single object takes long"
for seconds in 3 6 12 24; do  # the reader may have to wait for a processor
    false_program cmake "if [[ \$1 == --build ]]; then echo '[1/4] 1.o'; sleep $seconds; exit 78; fi"
    said=$(cd "$temporary/tree"; TAPESTRY_PROGRESS_SECONDS=1 PATH=$bin ./check </dev/null 2>&1) || true
    lines=$(grep -c '^    1 of 4 done$' <<<"$said" || true)
    ((lines < 2)) || break
done
if ((lines < 2)); then
    echo "FAILED: $lines lines within $seconds seconds:" && echo "$said"
    failures=$((failures + 1))
fi

echo "---- on a terminal: one line, rewritten"
new_builder
export SHELL=/bin/sh  # script starts commands by the user's, which need not be a shell
if script --quiet --command true /dev/null >/dev/null 2>&1; then
    for _ in 1 2 3 4 5; do  # see expect_left
        said=$(cd "$temporary/tree"; script --quiet --return --command "PATH='$bin' ./check" \
            /dev/null </dev/null) || true
        [[ $said != *"about 0 s left"* ]] || break
    done
    if [[ $said != *$'\r    3 of 4 done, about 0 s left\e[K'*$'\r\e[K'*"no such thing"* ]]; then
        echo "FAILED: on a terminal:" && cat -A <<<"$said"
        failures=$((failures + 1))
    fi
else
    skip_part "no pseudo-terminals here: what is said on a terminal"
fi

echo "---- while apt installs"
new_machine 0 ""
false_program apt-get '
    if [[ $1 == install ]]; then
        echo "0 upgraded, 2 newly installed, 0 to remove and 5 not upgraded."
        for step in "Get:1" "Get:2" "Unpacking" "Unpacking" "Setting up"; do
            echo "$step x"
        done
    fi'
expect 77 "    4 of 6 done, about" ./demo
expect 77 "    5 of 6 done in" ./demo
unset TAPESTRY_PROGRESS_SECONDS

echo "---- the time left"
# left SECONDS DONE STEPS
left() {
    # shellcheck disable=SC2034  # progress reads them
    local begin=$((SECONDS - $1)) steps_done=$2 steps=$3
    progress
}
told=$(left 60 50 200; left 5 2 200; left 7 0 0; left 60 100 200; left 3600 1 1000; left 90 9 10)
[[ $told == "50 of 200 done, about 3 min left
2 of 200 done
7 s so far
100 of 200 done, about 60 s left
1 of 1000 done
9 of 10 done, about 10 s left" ]] || { echo "FAILED: the time left: $told"; failures=$((failures + 1)); }

# ---- the verdict ---------------------------------------------------------------------------------

# tests_that_end LINE: everything is built, and ctest prints and logs this; its skipped tests have
# two reasons.
tests_that_end() {
    new_machine 1000 "$all $all_of_ci"
    false_program cmake 'exit 0'
    cat >"$temporary/LastTest.log" <<'END'
1/3 Testing: cli
Output:
skipped: cli: a disk: no file system can be mounted here
Test Passed.
2/3 Testing: pages
Output:
skipped: pages: no browser
Test Skipped.
3/3 Testing: silent
Test Skipped.
END
    cat >"$temporary/said" <<END
2/3 Test #2: pages ............***Skipped   0.01 sec
3/3 Test #3: silent ...........***Skipped   0.01 sec

$1
END
    false_program ctest "
        mkdir -p build/\${2%_short}/Testing/Temporary
        cp '$temporary/LastTest.log' build/\${2%_short}/Testing/Temporary
        cat '$temporary/said'"
    printf '%s\n' '# a comment' '' 'cli: a disk: no file  # why' 'silent  # for now' \
        >"$temporary/tree/.ci/may_skip"
}

echo "---- what was skipped is listed"
tests_that_end "100% tests passed, 0 tests failed out of 9"
expect 0 "Skipped:
    cli: a disk: no file system can be mounted here
    pages: no browser
    silent: no reason given
100% tests passed, 0 tests failed out of 9
7 passed, 0 failed, 3 skipped" ./check

echo "---- and has failed under --strict, unless it has leave"
expect 1 "Skipped without leave (.ci/may_skip):
    pages: no browser
100% tests passed, 0 tests failed out of 9
7 passed, 1 failed, 2 skipped" ./check --strict
echo "pages: no browser" >>"$temporary/tree/.ci/may_skip"
expect 0 "7 passed, 0 failed, 3 skipped" ./check --strict

echo "---- .ci/run adds up"
expect 0 "release  7 passed, 0 failed, 3 skipped
clang    7 passed, 0 failed, 3 skipped
asan     7 passed, 0 failed, 3 skipped
neon     7 passed, 0 failed, 3 skipped
wasm     7 passed, 0 failed, 3 skipped
35 passed, 0 failed, 15 skipped" ./.ci/run
expect_call "cmake --build --preset wasm_short"
expect_call "ctest --preset release --parallel 2"  # with --complete: all tests
false_program ctest '[[ $2 != asan ]] || exit 1; echo "99% tests passed, 1 tests failed out of 100"'
expect 1 "asan     0 passed, 1 failed
neon     99 passed, 1 failed, 3 skipped
wasm     99 passed, 1 failed, 3 skipped
396 passed, 5 failed, 12 skipped" ./.ci/run

echo "---- what the user has set for programs, and wants coloured, changes neither tests nor verdict"
new_machine 1000 "$all"
false_program nproc 'echo "${OMP_NUM_THREADS:-1}"'
false_program cmake 'exit 0'
false_program ctest '
    mkdir -p build/release/Testing/Temporary && : >build/release/Testing/Temporary/LastTest.log
    echo "${CLICOLOR_FORCE:-}${TAPESTRY_FUSE:-}${TAPESTRY_ISA:-}${TAPESTRY_PLAN:-}100% tests passed, 0 tests failed out of 9"'
expect 0 "9 passed, 0 failed" env CLICOLOR_FORCE=1 OMP_NUM_THREADS=64 TAPESTRY_FUSE=0 TAPESTRY_ISA=avx2 \
    TAPESTRY_PLAN=1 ./check
expect_call "cmake --build --preset release --parallel 1"
expect_call "ctest --preset release --label-exclude complete --parallel 2"
expect_call "ctest --preset release --label-regex complete --show-only"

echo "---- failures"
tests_that_end "89% tests passed, 1 tests failed out of 9"
expect 1 "6 passed, 1 failed, 3 skipped" ./check
tests_that_end "ctest crashed"
expect 1 "0 passed, 1 failed" ./check

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
