#!/usr/bin/env bash
# A ctest: installs a build tree under a temporary prefix and builds an external project against it,
# with CMake's find_package, pkg-config, and as a subdirectory.
#
#     install.sh BUILD_DIR SOURCE_DIR CXX CXX_FLAGS
#
# The library itself is not built again: in the subdirectory variant only the consumer is compiled.
set -euo pipefail
build=$1 source=$2 cxx=$3 flags=$4
unset DESTDIR OMP_NUM_THREADS OMP_THREAD_LIMIT  # cmake would install elsewhere; nproc obeys the others
# shellcheck source=tests/skip.sh
. "$source/tests/skip.sh"
# shellcheck source=tests/distributed/environment.sh
. "$source/tests/distributed/environment.sh"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
need_programs_in "$temporary"
cp -r --no-preserve=mode "$source/tests/install/consumer" "$temporary/consumer"  # the tree may be read-only
prefix=$temporary/prefix

configure() {  # DIR -DOPTION...
    cmake -S "$temporary/consumer" -B "$temporary/$1" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags" "${@:2}" >/dev/null
}

echo "---- find_package"
cmake --install "$build" --prefix "$prefix" >/dev/null
headers=$prefix/include/tapestry
for unwanted in tests examples ops/kernels ops/catalog nn/catalog; do
    if [[ -e $headers/$unwanted ]]; then
        echo "$unwanted should not be installed" >&2
        exit 1
    fi
done
if grep -rl '^//.*Internal to ' "$headers"; then
    echo "these are internal and should not be installed" >&2
    exit 1
fi
# No installed file may refer to the build or source tree. As words: a tree in /tapestry is not .../include/tapestry.
if grep -rIlwF -e "$build" -e "$source" -e "-I$build" -e "-I$source" -e "-L$build" "$prefix"; then
    echo "these installed files name the tree they were built in" >&2
    exit 1
fi
configure found -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$temporary/found" --parallel "$(nproc)"
"$temporary/found/consumer"
[[ $("$temporary/found/processes") == "1 processes" ]]
mpirun=$(mpirun_of "$build")
if [[ -n $mpirun ]]; then
    [[ $(timeout 300 "$mpirun" -n 3 "$temporary/found/processes") == "3 processes" ]]
else
    skip_part "no MPI in this build: tapestry::mpi as one process alone"
fi

# Most have a source that includes them first, whose compilation has shown it.
echo "---- every other installed header compiles on its own"
begins_a_source() {  # HEADER, as ROOM/FILE.h
    local first
    first=$(grep -m 1 '^#include' "$source/${1%.h}.cpp" 2>/dev/null) &&
        [[ $first == "#include <tapestry/$1>" ]]
}
moved=$source/cmake/moved_headers.txt
while read -r header; do
    begins_a_source "$header" || grep -q "^$header " "$moved" || echo "$header"
done < <(cd "$headers" && find . -name '*.h' -printf '%P\n' | sort) >"$temporary/alone"
xargs -P "$(nproc)" -I '{}' "$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -Werror \
    -I "$prefix/include" -include "$headers/{}" -x c++ /dev/null <"$temporary/alone"
echo "$(wc -l <"$temporary/alone") headers"
while read -r old new; do
    [[ -e $headers/$old && -e $headers/$new ]] || { echo "moved_headers.txt: $old or $new is not installed" >&2; exit 1; }
done < <(grep '^[^#]' "$moved")
said=$("$cxx" -std=c++20 -fsyntax-only -I "$prefix/include" "$temporary/consumer/old_paths.cpp" 2>&1)
[[ $said == *'<tapestry/nn/module.h> is <tapestry/nn/module/module.h> now'* ]]

echo "---- pkg-config"
if command -v pkg-config >/dev/null; then
    pc=$(dirname "$(find "$prefix" -name tapestry.pc)")
    # pkg-config quotes for a shell.
    eval "wanted=($(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs tapestry))"
    # shellcheck disable=SC2086,SC2154  # flags are words; eval sets the rest
    "$cxx" -std=c++20 $flags "$temporary/consumer/main.cpp" -o "$temporary/by_pkg_config" "${wanted[@]}"
    "$temporary/by_pkg_config"
else
    skip_part "pkg-config is not installed (Debian: pkgconf)"
fi

echo "---- add_subdirectory"
configure inside -DTAPESTRY_SOURCE_TREE="$source"
# Runs only its compile command: ninja would first build the library's generated source.
compile=$(ninja -C "$temporary/inside" -t commands CMakeFiles/consumer.dir/main.cpp.o | tail -n 1)
[[ $compile == *consumer* ]]
(cd "$temporary/inside" && bash -c "$compile")
