#include <tapestry/core/cpu.h>
#include <tapestry/ops/kernels/table.h>

#include <array>

// What the per-ISA objects define; see NAME.cpp and cmake/kernels.cmake.
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
namespace neon {
template <class Family>
void install(Family& kernels);
}

namespace {

template <class T>
std::array<Table<T>, 4> all_tables() {
    std::array<Table<T>, 4> tables{};
    const auto fill = [&tables](Isa isa, auto install) {
        for_each_family(tables[static_cast<std::size_t>(isa)], install);
    };
#if defined(__aarch64__)
    fill(Isa::neon, [](auto& family) { neon::install(family); });
#else
    fill(Isa::baseline, [](auto& family) { baseline::install(family); });
#endif
#if defined(__x86_64__)
    fill(Isa::avx2, [](auto& family) { avx2::install(family); });
    fill(Isa::avx512, [](auto& family) { avx512::install(family); });
#endif
    return tables;
}

}  // namespace

template <class T>
const Table<T>& table() {
    static const std::array<Table<T>, 4> tables = all_tables<T>();
    return tables[static_cast<std::size_t>(current_isa())];
}

template const Table<float>& table<float>();
template const Table<double>& table<double>();

}  // namespace tapestry::kernels
