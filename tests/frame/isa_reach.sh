#!/usr/bin/env bash
# A ctest: a machine with only SSE2 never executes an instruction that it lacks.
#
#     isa_reach.sh NM OBJDUMP CXX PROGRAM OBJECT...
#
# PROGRAM is tests/isa_reach, linked; OBJECT are all of the library, with those of the kernels in
# folders tapestry_kernels_ISA.dir. Possible failures, in the order of the checks:
#   a flag reaches an object it is not meant for, which then holds wider instructions;
#   an AVX object is entered other than through its `install`, which only table.cpp may call;
#   it has static variables to initialise, which happens at every start;
#   the linker keeps an AVX copy of a function for everyone (weak_symbols.sh checks the objects,
#   here it is the linked program);
#   table.cpp calls the `install` of an unavailable instruction set. It is compiled for that
#   set like the rest of its file, and compilers use vectors to store two pointers.
# Read next: weak_symbols.sh; ops/kernels/table.cpp; tests/emulate.sh, the proof by running.
set -euo pipefail
nm=$1 objdump=$2 cxx=$3 program=$4
shift 4
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

export LC_ALL=C  # awk reads what objdump prints
for tool in "$nm" "$objdump"; do
    command -v "$tool" >/dev/null || skip "no $tool here (Debian: binutils)"
done
[[ $(uname -m) == x86_64 ]] || skip "for x86-64 alone"
need_portable_build
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failures=0

# fail TEXT LINES
fail() {
    echo "FAULT: $1:"
    head -n 20 <<<"$2"
    failures=$((failures + 1))
}

# The functions with an instruction beyond SSE2, each with its first one: vector instructions with a
# v prefix (VEX or EVEX encoding), on masks, BMI, SSE3 and later. tzcnt is excluded: processors
# without it run it as bsf, and compilers know that.
wider_functions() {
    "$objdump" -dCw --no-show-raw-insn "$@" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = substr($0, index($0, "<")); found = 0; next }
        found || $1 !~ /^[0-9a-f]+:$/ { next }
        { wide = 0 }
        $2 ~ /^v/ && $3 ~ /%[xyz]mm/ { wide = 1 }
        $2 ~ /^v(zero|ldmxcsr|stmxcsr)/ || $3 ~ /%k[0-7]/ { wide = 1 }
        $2 ~ /^(andn|bextr|bls(i|msk|r)|bzhi|mulx|pdep|pext|(ro|sa|sh)rx|shlx)l?q?$/ { wide = 1 }
        $2 ~ /^(addsub|h(add|sub)|dp|blendv?)p[sd]$/ { wide = 1 }
        $2 ~ /^(lddqu|mov(ddup|s[hl]dup|ntdqa|be))/ { wide = 1 }
        $2 ~ /^p(abs|align|blend|cmp(eqq|gtq|.str)|h(add|sub|min))/ { wide = 1 }
        $2 ~ /^p(maddub|mulhrs|mull?d|mov[sz]x|shufb|sign|test)/ { wide = 1 }
        $2 ~ /^p((extr|insr)[bdq]|(max|min)(s[bd]|u[wd]))/ { wide = 1 }
        $2 ~ /^(extractps|insertps|mpsadbw|packusdw|round[ps][sd])/ { wide = 1 }
        $2 ~ /^(aes|crc32|lzcnt|pclmul|popcnt|sha)/ { wide = 1 }
        wide { found = 1; print name " " $2 " " $3 }'
}

# Names in the AVX namespaces that an object references.
avx_references() {
    "$nm" --demangle --undefined-only --print-file-name "$@" |
        grep -E 'kernels::avx|xsimd_avx' || true
}

# Sections of code that run before main.
initialisers() {
    "$objdump" -hw "$@" | grep -E ' \.(init_array|preinit_array|ctors|init)\b' || true
}

# ---- the checks themselves -----------------------------------------------------------------------

# planted FLAGS... compiles three functions and a variable that needs code before main.
planted() {
    "$cxx" -std=c++20 "$@" -c "$temporary/planted.cpp" -o "$temporary/planted.o"
}
cat >"$temporary/planted.cpp" <<'END'
namespace tapestry::kernels::avx512 { void install(float* table); }
float sum(const float* x) { float s = 0; for (int i = 0; i < 64; ++i) s += x[i] * x[i]; return s; }
void twice(float* x) { for (int i = 0; i < 64; ++i) x[i] += x[i]; }
unsigned without(unsigned a, unsigned b) { return ~a & b; }
float first = sum(&first);
void start(float* table) { tapestry::kernels::avx512::install(table); }
END
broken() { echo "the check is broken: $1" >&2; exit 1; }
planted -O3
[[ -z $(wider_functions "$temporary/planted.o") ]] || broken "it sees AVX in an object without"
[[ $(avx_references "$temporary/planted.o") == *avx512::install* ]] ||
    broken "it misses a reference"
[[ -n $(initialisers "$temporary/planted.o") ]] || broken "it misses a variable to initialise"
for flag in -mavx -mavx2 -mavx512f; do
    planted -O3 "$flag"
    found=$(wider_functions "$temporary/planted.o")
    [[ $found == *sum* && $found == *twice* ]] || broken "it misses $flag: $found"
done
planted -O3 -mbmi
[[ $(wider_functions "$temporary/planted.o") == *without* ]] || broken "it misses -mbmi"
cat >"$temporary/planted.s" <<'END'
only_sse2:  addps %xmm0, %xmm1
            pinsrw $1, %eax, %xmm0
            tzcnt %eax, %eax
            verr %ax
sse3:       haddps %xmm0, %xmm1
ssse3:      pshufb %xmm0, %xmm1
sse41:      pmulld %xmm0, %xmm1
sse42:      popcnt %eax, %ebx
masks:      kmovw %k1, %eax
upper:      vzeroupper
END
"$cxx" -c "$temporary/planted.s" -o "$temporary/planted.o"
found=$(wider_functions "$temporary/planted.o" | sed 's/>.*//' | tr '\n' ' ')
[[ $found == "<sse3 <ssse3 <sse41 <sse42 <masks <upper " ]] ||
    broken "of single instructions it sees $found"

# ---- the library ---------------------------------------------------------------------------------

narrow=() wide=() strangers=()
for object; do
    case $object in
        */tapestry_kernels_avx*.dir/*) wide+=("$object") ;;
        */kernels/table.cpp.o) narrow+=("$object") ;;
        *) narrow+=("$object") strangers+=("$object") ;;
    esac
done
if ((${#wide[@]} == 0 || ${#strangers[@]} + 1 != ${#narrow[@]})); then
    echo "not the library's objects: ${#wide[@]} for AVX, ${#narrow[@]} others"
    exit 1
fi

found=$(wider_functions "${narrow[@]}")
[[ -z $found ]] || fail "instructions beyond SSE2 in objects for every machine" "$found"
found=$(avx_references "${strangers[@]}")
[[ -z $found ]] || fail "AVX kernels are asked for by others than table.cpp" "$found"
found=$(initialisers "${wide[@]}")
[[ -z $found ]] || fail "AVX objects have variables to initialise at start" "$found"
[[ -n $(wider_functions "${wide[0]}") ]] || broken "no AVX in ${wide[0]}"

found=$(wider_functions "$program" | grep -vE 'kernels::avx(2|512|512_bf16|512_amx)::|xsimd_avx(2|512|512_bf16|512_amx)::' || true)
[[ -z $found ]] || fail "functions with AVX in $program that do not name it" "$found"

# ---- what runs -----------------------------------------------------------------------------------

# Valgrind 3.19 does not support AVX-512: it stops when a function with it is entered. And its list
# of entered functions shows whether AVX2 stays separate.
if command -v valgrind >/dev/null; then
    for isa in baseline avx2; do
        if [[ $isa == avx2 ]] && ! has_avx2; then
            skip_part "this processor has no avx2: what runs"
            continue
        fi
        status=0
        {
            TAPESTRY_ISA=$isa TAPESTRY_THREADS=1 valgrind --tool=callgrind \
                --callgrind-out-file="$temporary/calls" "$program"
        } >"$temporary/log" 2>&1 || status=$?
        found=$(grep -oE "kernels::avx[0-9a-z_]+::[a-z_]+" "$temporary/calls" "$temporary/log" |
            sed 's/^[^:]*://' | grep -v "kernels::$isa::" | sort | uniq -c || true)
        [[ -z $found ]] || fail "TAPESTRY_ISA=$isa, and yet these ran" "$found"
        ((status == 0)) ||
            fail "TAPESTRY_ISA=$isa, status $status" "$(grep ' at \| by ' "$temporary/log")"
    done
else
    skip_part "no valgrind here (Debian: valgrind): what runs"
fi

((failures == 0)) || exit 1
echo "${#narrow[@]} objects for every machine, ${#wide[@]} for AVX: none reaches into the other"
