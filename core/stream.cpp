#include <tapestry/core/stream.h>

namespace tapestry {
namespace {

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32U); }

// 64 bits of (a, b) under `key`.
std::uint64_t scrambled(std::uint64_t a, std::uint64_t b, std::uint64_t key) {
    const auto words = philox({low(a), high(a), low(b), high(b)}, {low(key), high(key)});
    return words[0] | std::uint64_t{words[1]} << 32;
}

// FNV-1a. Source: Fowler, Noll and Vo, draft-eastlake-fnv.
std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h;
}

}  // namespace

Generator stream(std::uint64_t seed, std::string_view name, std::uint64_t step,
                 std::uint64_t index) {
    return Generator(scrambled(step, index, scrambled(hash(name), name.size(), seed)));
}

}  // namespace tapestry
