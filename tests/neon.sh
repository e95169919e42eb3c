#!/usr/bin/env bash
# The tests on NEON: built for AArch64 by a cross compiler, run by qemu. Not part of ./check, for it
# takes qemu minutes and packages of 70 MB.
#
#     tests/neon.sh [TEST...]     all of core, autograd and ops unless tests are named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
tests=("$@")
((${#tests[@]})) || tests=(core autograd ops)

ensure_packages yes "${build_packages[@]}" g++-aarch64-linux-gnu qemu-user
mkdir -p build/neon
if [[ ! -f build/neon/build.ninja ]]; then
    quietly build/neon/configure.log cmake -S . -B build/neon -G Ninja \
        -DCMAKE_BUILD_TYPE=Release -DTAPESTRY_INSTALL=OFF -DTAPESTRY_BUILD_EXAMPLES=OFF \
        -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64/toolchain.cmake \
        -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=cmake/aarch64/dependencies.cmake
fi
echo "Building in build/neon"
cmake --build build/neon --parallel "$(nproc)" --target "${tests[@]/#/test_}"
# The objects' symbols, and the tests themselves.
pattern=$(IFS='|' && echo "${tests[*]}")
ctest --test-dir build/neon --output-on-failure --no-tests=error --timeout 3600 \
    -R "^($pattern|weak_symbols_neon)\$"
