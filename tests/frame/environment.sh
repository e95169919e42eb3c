#!/usr/bin/env bash
# docs/environment.md lists every environment variable that the tree reads and every CMake option,
# and none that does not exist. Listed names are those between backquotes in the first column of its
# tables.
# Usage: environment.sh SOURCE_DIR
set -euo pipefail
export LC_ALL=C
set -- "$(realpath "$1")"  # find does not enter a link

# sources TREE PATTERN...: the tree's files with these names, except builds, dependencies, what is hidden
# (.git, .venv; not .ci) and this script, which plants variables.
sources() {
    local tree=$1 names=() pattern
    shift
    for pattern; do names+=(-o -name "$pattern"); done
    find "$tree" -mindepth 1 \( -path "$tree/build*" -o -name '.*' ! -name .ci -o -name node_modules -o -name venv \
        -o -path '*/install/consumer' \) -prune -o -type f \( "${names[@]:1}" \) ! -name environment.sh -print
}

# matches PATTERN FILE...: the matches after the pattern's \K, one per line.
matches() { xargs -r -d '\n' grep -hoP -- "$1" || true; }

# Variables: getenv in C++, the names set by launchers (mpi.cpp), process.env in JavaScript,
# os.environ in Python, and Tapestry's own in scripts.
variables() {
    sources "$1" '*.cpp' '*.h' | matches 'getenv\("\K[A-Z_0-9]+(?=")'
    sources "$1" '*.cpp' | matches 'launched\(\{\K[^}]*' | grep -oP '"\K[A-Z_]+(?=")' || true
    sources "$1" '*.js' | matches 'process\.env\.\K[A-Z_0-9]+'
    sources "$1" '*.py' run together | matches 'os\.environ(\.get\(|\[)"\K[A-Z_0-9]+'
    sources "$1" '*.sh' run long check demo build | matches '\$\{\KTAPESTRY_[A-Z_0-9]+(?=:?[-=])|"\$\{\KTAPESTRY_[A-Z_0-9]+(?=:=)'
}

# Options, and cached variables that a user may want to set.
options() {
    sources "$1" CMakeLists.txt '*.cmake' |
        matches '^\s*((cmake_dependent_)?option|find_(path|program|library))\(\K[A-Z_0-9]+(?=\s)|^\s*set\(\K[A-Z_0-9]+(?=\s.*\sCACHE\s)'
}

# shellcheck disable=SC2016  # the page's backquotes
listed() { awk -F '|' '/^\| `/ { print $2 }' "$1" | grep -oP '`\K[A-Z][A-Z_0-9]+(?=`)'; }

# check TREE: one line per missing or superfluous name; status 1 if there are any.
check() {
    local page=$1/docs/environment.md found
    found=$(diff <({ variables "$1"; options "$1"; } | sort -u) <(listed "$page" | sort -u) |
        sed -n 's/^< \(.*\)/docs\/environment.md does not list \1/p; s/^> \(.*\)/docs\/environment.md lists \1, which nothing reads/p')
    [[ -z $found ]] || { echo "$found"; return 1; }
}

# First checks that planted violations are found.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir "$planted"/{docs,.ci,.venv}
echo 'os.environ["NOT_OURS"]' >"$planted/.venv/a.py"
echo 'const char* a = std::getenv("A_READ"); launched({"B_SIZE", "C_SIZE"}, 1);' >"$planted/a.cpp"
echo 'process.env.D_SCALE' >"$planted/d.js"
# shellcheck disable=SC2016  # the script's text
echo ': "${TAPESTRY_E:=1}" "${TAPESTRY_F:-}" "$TAPESTRY_NOT_READ"' >"$planted/e.sh"
# shellcheck disable=SC2016
echo '"${TAPESTRY_I:-}"' >"$planted/.ci/run"
printf '%s\n' 'option(TAPESTRY_G "g" ON)' 'set(TAPESTRY_H "" CACHE STRING "h")' 'set(TAPESTRY_NONE 1)' \
    >"$planted/CMakeLists.txt"
# shellcheck disable=SC2016  # the page's backquotes
printf '| `%s` | x |\n' A_READ 'B_SIZE`, `C_SIZE' D_SCALE TAPESTRY_E TAPESTRY_F TAPESTRY_G TAPESTRY_H TAPESTRY_I \
    >"$planted/docs/environment.md"
check "$planted" || { echo "FAILED: a page that is complete was not accepted"; exit 1; }
sed -i '1d; s/TAPESTRY_G/TAPESTRY_GONE/' "$planted/docs/environment.md"
found=$(check "$planted") && { echo "FAILED: nothing was found where something is wrong"; exit 1; }
wanted='docs/environment.md does not list A_READ
docs/environment.md does not list TAPESTRY_G
docs/environment.md lists TAPESTRY_GONE, which nothing reads'
[[ $found == "$wanted" ]] || { echo "FAILED: found:" "$found"; exit 1; }

check "$1" || exit 1
echo "$(listed "$1/docs/environment.md" | wc -l) variables and options, all of them listed"
