#include <tapestry/core/cpu.h>
#include <tapestry/core/error.h>
#include <tapestry/ops/kernels/table.h>

// Defined by the per-ISA objects; see NAME.cpp and cmake/kernels.cmake.
namespace tapestry::kernels {
namespace baseline {
template <class Family>
void install(Family& kernels);
}
namespace avx2 {
template <class Family>
void install(Family& kernels);
}
namespace avx512 {
template <class Family>
void install(Family& kernels);
}
namespace avx512_bf16 {
template <class Family>
void install(Family& kernels);
}
namespace avx512_amx {
template <class Family>
void install(Family& kernels);
}
namespace neon {
template <class Family>
void install(Family& kernels);
}

namespace {

template <class T, class F>
Table<T> filled(const F& install) {
    Table<T> table{};
    for_each_family(table, install);
    return table;
}

#ifdef TAPESTRY_WITH_AVX512
/// The AVX-512 table with different products of bf16.
template <class T, class F>
Table<T> avx512_and(const F& install) {
    auto table = filled<T>([](auto& family) { avx512::install(family); });
    if constexpr (std::is_same_v<T, float>) install(table.half_gemm);
    return table;
}
#endif

}  // namespace

// A table is filled when its instruction set is first the current one, and so known to be present:
// `install` is compiled for that set like the rest of its file, and compilers use its vectors to
// store pointers.
template <class T>
const Table<T>& table() {
    switch (current_isa()) {
#ifdef TAPESTRY_WITH_AVX512
        case Isa::avx512: {
            static const Table<T> avx512 = filled<T>([](auto& family) { avx512::install(family); });
            return avx512;
        }
#endif
#ifdef TAPESTRY_WITH_AVX512_BF16
        case Isa::avx512_bf16: {
            static const Table<T> bf16 =
                avx512_and<T>([](auto& family) { avx512_bf16::install(family); });
            return bf16;
        }
#endif
#ifdef TAPESTRY_WITH_AVX512_AMX
        case Isa::avx512_amx: {
            static const Table<T> amx =
                avx512_and<T>([](auto& family) { avx512_amx::install(family); });
            return amx;
        }
#endif
#ifdef TAPESTRY_WITH_AVX2
        case Isa::avx2: {
            static const Table<T> avx2 = filled<T>([](auto& family) { avx2::install(family); });
            return avx2;
        }
#endif
#ifdef TAPESTRY_WITH_NEON
        case Isa::neon: {
            static const Table<T> neon = filled<T>([](auto& family) { neon::install(family); });
            return neon;
        }
#endif
#ifdef TAPESTRY_WITH_BASELINE
        case Isa::baseline: {
            static const Table<T> baseline =
                filled<T>([](auto& family) { baseline::install(family); });
            return baseline;
        }
#endif
        default: fail("no kernels for {} in this build", name_of(current_isa()));
    }
}

template const Table<float>& table<float>();
template const Table<double>& table<double>();

}  // namespace tapestry::kernels
