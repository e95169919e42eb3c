#!/usr/bin/env bash
# Installs what the preset wasm needs besides a build's own packages, half a GB: Debian's
# emscripten, and node if missing. Neither ./demo nor ./check does this.
#
#     cmake/wasm/install.sh [--no-install]      (--no-install: only checks, exit 3 if something is missing)
# Read next: toolchain.cmake.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh

install=yes
[[ $# == 0 || $* == --no-install ]] || wrong_use "unknown option $1"
[[ $# == 0 ]] || install=no
wasm_packages=(emscripten)
command -v node >/dev/null || wasm_packages+=(nodejs)
ensure_packages "$install" "${build_packages[@]}" "${wasm_packages[@]}"
