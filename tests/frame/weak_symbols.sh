#!/usr/bin/env bash
# A ctest: no object compiled for one instruction set defines a symbol that other objects could use.
#
#     weak_symbols.sh NM CXX ISA OBJECT...
#
# If several objects define a weak symbol (an inline function, a template), the linker keeps one
# copy for all. If std::max<float> is compiled for AVX-512 and the linker keeps that copy, the
# program crashes on a machine without it. So each weak symbol of a kernel must carry its ISA in its
# name: it is a function of tapestry::kernels::ISA or of xsimd_ISA, or a template with such a type.
# Read next: ops/kernels/simd.h.
set -euo pipefail
nm=$1 cxx=$2 isa=$3
shift 3

# W, V, u: weak, weak object, unique. DW.ref.* are pointers for exception tables, not code.
foreign_symbols() {
    "$nm" --demangle --defined-only --print-file-name "$@" | grep -E ' [WVu] ' |
        grep -vE "kernels::$isa::|xsimd_$isa::|DW\.ref\." || true
}

# First checks that planted violations are found, and nothing else.
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cat >"$temporary/planted.cpp" <<END
inline int shared_by_all() { return 7; }
namespace tapestry::kernels::$isa {
inline int of_this_isa() { return shared_by_all(); }
}
int planted() { return tapestry::kernels::$isa::of_this_isa(); }
END
"$cxx" -O0 -c "$temporary/planted.cpp" -o "$temporary/planted.o"
found=$(foreign_symbols "$temporary/planted.o")
if [[ $found != *"shared_by_all()" || $found == *of_this_isa* ]]; then
    echo "the check is broken; of the planted object it says: $found" >&2
    exit 1
fi

found=$(foreign_symbols "$@")
if [[ -n $found ]]; then
    echo "Weak symbols that do not name their instruction set, in kernels for $isa:" >&2
    echo "$found" >&2
    exit 1
fi
echo "$# objects for $isa: every weak symbol names it"
