#!/usr/bin/env bash
# Builds the library and the op tests with another xsimd than the installed one: Debian 12 has 8.1,
# Debian 13 has 13. Not part of ./check: Debian 12 cannot install the other.
#
#     tests/xsimd13.sh DIR      DIR/xsimd/xsimd.hpp must exist; or XSIMD13=DIR in the environment
#
# From Debian 13, or a chroot of it:  apt-get download libxsimd-dev; dpkg -x libxsimd-dev*.deb DIR0
# gives DIR0/usr/include.
set -euo pipefail
headers=$(realpath "${1:-${XSIMD13:?the folder with the xsimd headers}}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
[[ -f $headers/xsimd/xsimd.hpp ]] || wrong_use "$headers/xsimd/xsimd.hpp: no such file"
grep -h 'define XSIMD_VERSION_[MP]' "$headers/xsimd/config/xsimd_config.hpp"

ensure_packages yes "${build_packages[@]}"
mkdir -p build/xsimd13
echo "Building in build/xsimd13"
quietly build/xsimd13/configure.log cmake -S . -B build/xsimd13 -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DTAPESTRY_XSIMD_INCLUDE_DIR="$headers" \
    -DTAPESTRY_WARNINGS_AS_ERRORS=ON
cmake --build build/xsimd13 --parallel "$(nproc)" --target test_ops
build/xsimd13/tests/test_ops
