#!/usr/bin/env bash
# A ctest: the loops that take the time compile as intended. In the disassembly of one instruction
# set's kernels, the matrix product's inner loops hold the fused multiply-adds of their tile at full
# width, and nothing that would wait for memory; norm, attention, cross-entropy and the optimizers'
# updates also hold full-width FMAs, and keep their vectors in registers.
#
#     hot_loops.sh OBJDUMP CXX avx2|avx512 OBJECT...
#
# No timing shows this as well: a compiler that spilled one accumulator, or flags that separated
# products from sums, cost 10% here and 50% there, within the noise of a busy machine.
# Read next: hot_loops.awk, which reads the disassembly; ops/kernels/gemm_tile.h.
set -euo pipefail
objdump=$1 cxx=$2 isa=$3
shift 3
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/skip.sh
. "$here/../skip.sh"

export LC_ALL=C  # awk reads what objdump prints
command -v "$objdump" >/dev/null || skip "no objdump here (Debian: binutils)"
# `least`: the FMAs of the largest tile. 14 x 2 vectors fill 32 registers, 6 x 2 fill 16.
case $isa in
    avx512) register=zmm least=28 flags=(-mavx512f -mfma -mprefer-vector-width=512) bytes=64 ;;
    avx2) register=ymm least=12 flags=(-mavx2 -mfma) bytes=32 ;;
    *) skip "no loops to look at for $isa" ;;
esac

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failures=0

disassemble() { "$objdump" -dCw --no-show-raw-insn "$@"; }
judge() { awk -v register="$register" -f "$here/hot_loops.awk" "$@"; }

# ---- the check itself: planted good and bad tiles ------------------------------------------------

# plant NAME VECTORS ROWS REGISTER_BYTES FLAGS... compiles a tile, float and double, to NAME.dis.
plant() {
    cat >"$temporary/$1.cpp" <<END
template <class T>
struct Vectors { typedef T type __attribute__((vector_size($4), aligned(sizeof(T)), may_alias)); };
template <class T, int V, int R>
__attribute__((noinline)) void multiply_tile(long k, const T* a, long row, const T* b, T* c) {
    using Batch = typename Vectors<T>::type;
    Batch sum[R][V] = {};
    for (; k > 0; --k, ++a, b += sizeof(Batch) / sizeof(T) * V)
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i)
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v)
                sum[i][v] += a[i * row] * reinterpret_cast<const Batch*>(b)[v];
    __builtin_memcpy(c, sum, sizeof(sum));
}
template void multiply_tile<float, $2, $3>(long, const float*, long, const float*, float*);
template void multiply_tile<double, $2, $3>(long, const double*, long, const double*, double*);
END
    "$cxx" -std=c++20 -O3 "${@:5}" -c "$temporary/$1.cpp" -o "$temporary/$1.o"
    disassemble "$temporary/$1.o" >"$temporary/$1.dis"
}

# wants STATUS TEXT KIND NAME: the check's expected result for NAME.dis.
wants() {
    local status=0 said
    said=$(judge -v kind="$3" -v least="$planted" "$temporary/$4.dis") || status=$?
    if [[ $status != "$1" || $said != *"$2"* ]]; then
        echo "the check is broken: of the planted $4 it says (status $status, not $1 and \"$2\"):"
        echo "$said"
        failures=$((failures + 1))
    fi
}

planted=8  # FMAs of the planted 2 x 4 tiles
narrower=$((bytes / 2))
plant good 2 4 "$bytes" "${flags[@]}" -ffp-contract=fast
plant parted 2 4 "$bytes" "${flags[@]}" -ffp-contract=off
plant spilled 3 14 "$bytes" "${flags[@]}" -ffp-contract=fast  # 42 sums for 32 registers at most
plant narrow 2 4 "$narrower" "${flags[@]}" -ffp-contract=fast
# Before each FMA a loop that loads an address from the stack, one that stores, one that calls.
while read -r name line; do
    awk -v line="$line" '/vfmadd/ && !n++ { print "     0:\t" line } { print }' \
        "$temporary/good.dis" >"$temporary/$name.dis"
done <<END
reload mov    0x18(%rsp),%rax
store vmovups %${register}1,(%rax)
call call   1234 <exp>
part vmulps %${register}1,%${register}2,%${register}3
END
# A kernel that spills a vector to the stack and reloads it.
sed -E "0,/vfmadd/s/^( *[0-9a-f]+:\t)vfmadd.*/\1vmovaps %${register}1,0x40(%rsp)\n&/" \
    "$temporary/good.dis" >"$temporary/kernel.dis"

wants 0 "2 tiles" tile good
wants 1 "no loop with packed FMAs" tile parted
wants 1 "on the stack" tile spilled
wants 1 "narrower than $register" tile narrow
wants 1 "addresses or counters read from the stack" tile reload
wants 1 "nothing to store" tile store
wants 1 "1 calls" tile call
wants 1 "separate products" tile part
wants 0 "loops with FMAs, 0 of them spill" kernel good
wants 1 "8 products and 8 sums, none fused" kernel parted
wants 1 "no loop with FMAs for float" kernel parted
wants 1 "narrower than $register" kernel narrow
wants 1 "vectors put on the stack" kernel kernel
planted=9
wants 1 "9 wanted" tile good
((failures == 0)) || exit 1

# ---- the kernels ---------------------------------------------------------------------------------

# look KERNEL OPTION... reports its findings in KERNEL.cpp's object.
look() {
    local object found=
    for object in "${objects[@]}"; do
        [[ $object != */$1.cpp.o ]] || found=$object
    done
    if [[ -z $found ]]; then
        echo "$isa: no object of $1.cpp among those given"
        failures=$((failures + 1))
        return
    fi
    disassemble "$found" >"$temporary/$1.dis"
    local status=0 said
    said=$(judge "${@:2}" "$temporary/$1.dis") || status=$?
    printf '%s\n' "$isa $1: ${said//$'\n'/$'\n'$isa $1: }"
    ((status == 0)) || failures=$((failures + 1))
}

objects=("$@")
look gemm -v kind=tile -v least="$least"
look norm -v kind=kernel
# Products of a few rows, shared by attention and gemm.cpp, keep their sums in an array.
look attention -v kind=kernel -v except='few_rows|dot_products'
look optimizer_step -v kind=kernel
# Four exponentials at a time need more registers than there are; this is counted and allowed.
look cross_entropy -v kind=kernel -v may_spill=1
((failures == 0)) || { echo "$failures kernels for $isa are not what they should be"; exit 1; }
