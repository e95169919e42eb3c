// The rounds of Philox4x32-10, for core/random.cpp and for kernels. Plain arrays and static
// functions: a kernel's copy is compiled for its instruction set and must stay in its file.
//
// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// table 2 and section 3.3.
#pragma once

#include <cstdint>

namespace tapestry {

/// W independent counters side by side, word k of all of them in word[k]: loops over W vectorise.
template <int W>
struct PhiloxBlocks {
    std::uint32_t word[4][W];  ///< word k of counter w is word[k][w]
};

/// The blocks with the counters first .. first + W - 1.
template <int W>
static PhiloxBlocks<W> philox_counters(std::uint64_t first) {
    PhiloxBlocks<W> x;
    for (int i = 0; i < W; ++i) {
        const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
        x.word[0][i] = static_cast<std::uint32_t>(counter);
        x.word[1][i] = static_cast<std::uint32_t>(counter >> 32U);
        x.word[2][i] = 0;
        x.word[3][i] = 0;
    }
    return x;
}

/// Ten rounds with a key, which is incremented by the golden ratio and sqrt(3) - 1.
template <int W>
static void scramble(PhiloxBlocks<W>& x, std::uint64_t key) {
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
    auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32U);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < W; ++i) {
            const std::uint64_t product0 = kMultiplier0 * x.word[0][i];
            const std::uint64_t product1 = kMultiplier1 * x.word[2][i];
            x.word[0][i] = static_cast<std::uint32_t>(product1 >> 32U) ^ x.word[1][i] ^ key0;
            x.word[1][i] = static_cast<std::uint32_t>(product1);
            x.word[2][i] = static_cast<std::uint32_t>(product0 >> 32U) ^ x.word[3][i] ^ key1;
            x.word[3][i] = static_cast<std::uint32_t>(product0);
        }
        key0 += kWeyl0;
        key1 += kWeyl1;
    }
}

}  // namespace tapestry
