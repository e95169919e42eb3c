# Shared by ./demo, ./check and .ci/run: finding and installing Debian packages, and building.
#
# Sourced by bash, after the caller has changed to the root of the tree. Needs only bash, coreutils
# and dpkg: it must run on a bare Debian 12, before anything is installed.
# Read next: CMakePresets.json, which defines what is built and where.
# shellcheck shell=bash
# shellcheck source=cmake/progress.sh
. "$(dirname "${BASH_SOURCE[0]}")/progress.sh"

# Packages for a build; for single tests; and for other compilers.
# shellcheck disable=SC2034  # used by those who source this
{
    build_packages=(g++ cmake ninja-build libfmt-dev libxsimd-dev doctest-dev nlohmann-json3-dev
                    libcli11-dev libxxhash-dev libpng-dev libjpeg-dev)
    test_packages=(chromium doxygen qemu-user valgrind pkgconf pybind11-dev python3-dev python3-numpy python3-pytest
                   iproute2 libopenmpi-dev openmpi-bin)
    # If npm comes from elsewhere, Debian's would conflict with it.
    command -v npm >/dev/null || test_packages+=(nodejs npm)
    clang_packages=(clang-14 libclang-rt-14-dev libomp-14-dev)
    neon_packages=(g++-aarch64-linux-gnu qemu-user)
}

# Wrong usage: one line on stderr, exit 2.
wrong_use() {
    echo "${0##*/}: $1 (--help says more)" >&2
    exit 2
}

# Prints the packages that are not installed, each once.
missing_packages() {
    local name seen=" "
    for name; do
        [[ $seen != *" $name "* ]] || continue
        seen+="$name "
        # dpkg-query also knows removed packages whose configuration remains.
        if [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
            echo "$name"
        fi
    done
}

# Exit 3: packages are missing and will not be installed.
give_up_on_packages() {
    echo "$1" >&2
    echo "Please run this line, then start ${0##*/} again:" >&2
    echo "    su -c '$2'" >&2
    exit 3
}

# ensure_packages yes|no NAME... installs missing packages ("no": only checks). If none is missing,
# it needs neither root nor a network.
ensure_packages() {
    local allowed=$1
    shift
    if ! command -v dpkg-query >/dev/null; then
        echo "No dpkg here. On Debian this needs: $*" >&2
        return 0  # CMake will say what it cannot find, and fetches libraries itself
    fi
    local missing
    missing=$(missing_packages "$@" | tr '\n' ' ')
    missing=${missing% }
    [[ -n $missing ]] || return 0

    local line="apt-get update && apt-get install --yes --no-install-recommends $missing"
    local as_root=()
    if [[ $allowed != yes ]]; then
        give_up_on_packages "Missing: $missing" "$line"
    elif [[ $(id -u) != 0 ]]; then
        command -v sudo >/dev/null ||
            give_up_on_packages "Missing, and there is neither root nor sudo to install: $missing" "$line"
        as_root=(sudo)
        if [[ -t 0 ]]; then
            sudo -v  # asks for a password now, not among the lines of progress
        else
            as_root+=(-n)  # nobody is there to type one
        fi
    fi
    echo "Installing with apt: $missing"
    mkdir -p build
    with_progress apt_steps build/apt.log \
        "${as_root[@]}" sh -c "export DEBIAN_FRONTEND=noninteractive; $line" ||
        give_up_on_packages "Could not install: $missing" "$line"
}

# How many processors there are to build and test on. OMP_NUM_THREADS, which nproc obeys, is for programs.
cores() { env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc; }

# quietly LOG COMMAND... keeps the output in a file and shows its end if the command fails.
quietly() {
    local log=$1 status=0
    shift
    "$@" >"$log" 2>&1 || status=$?
    if ((status != 0)); then
        tail -n 30 "$log" >&2
        echo "(all of it: $log)" >&2
    fi
    return "$status"
}

# build_preset NAME "TARGET..." [-DOPTION...] configures if needed and builds the targets, or those
# of the preset if none are given; ninja determines what is out of date. NAME_short is fewer targets
# of the configuration NAME.
build_preset() {
    local preset=$1 dir=build/${1%_short} targets
    read -ra targets <<<"${2:+--target $2}"
    shift 2
    mkdir -p "$dir"
    # build.ninja is written last: without it, an earlier configuration failed.
    if [[ ! -f $dir/build.ninja ]] || (($# > 0)); then
        if command -v ccache >/dev/null; then
            export CMAKE_CXX_COMPILER_LAUNCHER=ccache
        fi
        quietly "$dir/configure.log" cmake --preset "${preset%_short}" "$@"
    fi
    export CCACHE_SLOPPINESS=pch_defines,time_macros  # or it caches nothing that is precompiled
    export CCACHE_BASEDIR=$PWD  # g++'s results serve another checkout, too
    # CMake's default starts more compilers than there are cores, and memory may be short.
    NINJA_STATUS='[%f/%t] ' with_progress ninja_steps "$dir/build.log" \
        cmake --build --preset "$preset" "${targets[@]}" --parallel "$(cores)"
}
