#include <tapestry/core/cpu.h>

#include <tapestry/core/error.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

namespace tapestry {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 6> kNames{{{Isa::baseline, "baseline"},
                                                                  {Isa::avx2, "avx2"},
                                                                  {Isa::avx512, "avx512"},
                                                                  {Isa::avx512_bf16, "avx512_bf16"},
                                                                  {Isa::avx512_amx, "avx512_amx"},
                                                                  {Isa::neon, "neon"}}};

// The instruction sets that this library has kernels for (cmake/kernels.cmake).
constexpr std::array kBuilt{
#ifdef TAPESTRY_WITH_BASELINE
    Isa::baseline,
#endif
#ifdef TAPESTRY_WITH_AVX2
    Isa::avx2,
#endif
#ifdef TAPESTRY_WITH_AVX512
    Isa::avx512,
#endif
#ifdef TAPESTRY_WITH_AVX512_BF16
    Isa::avx512_bf16,
#endif
#ifdef TAPESTRY_WITH_AVX512_AMX
    Isa::avx512_amx,
#endif
#ifdef TAPESTRY_WITH_NEON
    Isa::neon,
#endif
};

bool is_built(Isa isa) { return std::find(kBuilt.begin(), kBuilt.end(), isa) != kBuilt.end(); }

#if defined(__x86_64__)
// Tiles take 8 KiB of state in every thread that uses them, so Linux requires a process to request
// permission first, once.
bool may_use_tiles() {
    constexpr unsigned kBf16 = 1U << 22U, kTile = 1U << 24U;  // CPUID 7: EDX
    constexpr long kAskForFeature = 0x1023, kTileData = 18;   // asm/prctl.h, which may be older
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    if ((d & kBf16) == 0 || (d & kTile) == 0) return false;
    return ::syscall(SYS_arch_prctl, kAskForFeature, kTileData) == 0;
}

bool has_dot_products_of_bf16() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1U << 5U) != 0;
}

// Whether VDPBF16PS takes no longer than an f32 FMA, which does half the work. On Intel's servers
// its throughput is below that of FMAs.
bool are_dot_products_of_bf16_fast() {
    constexpr unsigned kZen4 = 0x19, kZen5 = 0x1a;  // families of AMD; the first is also Zen 3's
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0, &a, &b, &c, &d) == 0) return false;
    if (b != signature_AMD_ebx || c != signature_AMD_ecx || d != signature_AMD_edx) return false;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
    const unsigned family = (a >> 8U & 0xfU) + (a >> 20U & 0xffU);
    return family == kZen4 || family == kZen5;
}
#else
bool are_dot_products_of_bf16_fast() { return false; }
#endif

// __builtin_cpu_supports checks CPUID and XGETBV: true only if the system saves the registers too.
bool has(Isa isa) {
    if (!is_built(isa)) return false;
#if defined(__x86_64__)
    switch (isa) {
        case Isa::baseline: return true;
        case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case Isa::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
        case Isa::avx512_bf16: return has(Isa::avx512) && has_dot_products_of_bf16();
        case Isa::avx512_amx: {
            static const bool may = has(Isa::avx512) && may_use_tiles();
            return may;
        }
        case Isa::neon: return false;
    }
    return false;
#else
    return true;  // NEON is part of every AArch64; other machines only have the baseline
#endif
}

std::string joined_names() {
    std::string text;
    for (const Isa isa : available_isas()) {
        if (!text.empty()) text += ", ";
        text += name_of(isa);
    }
    return text;
}

Isa initial_isa() {
    const std::vector<Isa> available = available_isas();
    require(!available.empty(),
            "this build only has kernels for {}, which this machine does not support",
            name_of(kBuilt.front()));
    const char* wanted = std::getenv("TAPESTRY_ISA");
    if (wanted == nullptr) {
        const bool slow = available.back() == Isa::avx512_bf16 && !are_dot_products_of_bf16_fast();
        return slow ? parent_of(available.back()) : available.back();
    }
    for (const auto& [isa, name] : kNames) {
        if (name != wanted) continue;
        require(has(isa), "TAPESTRY_ISA={}: not available; this machine and this build have {}",
                wanted, joined_names());
        return isa;
    }
    fail(
        "TAPESTRY_ISA={}: unknown instruction set; must be one of baseline, avx2, avx512, "
        "avx512_bf16, avx512_amx and neon; this machine has {}",
        wanted, joined_names());
}

std::atomic<Isa>& chosen() {
    static std::atomic<Isa> value{initial_isa()};
    return value;
}

}  // namespace

std::string_view name_of(Isa isa) {
    for (const auto& [known, name] : kNames) {
        if (known == isa) return name;
    }
    return "?";
}

std::vector<Isa> available_isas() {
    std::vector<Isa> isas;
    for (const auto& [isa, name] : kNames) {
        if (has(isa)) isas.push_back(isa);
    }
    return isas;
}

Isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void set_isa(Isa isa) {
    require(has(isa), "set_isa: {} is not available; this machine and this build have {}",
            name_of(isa), joined_names());
    chosen().store(isa, std::memory_order_relaxed);
}

}  // namespace tapestry
