// Every number below n once, in an order that looks random and takes no memory: the order in which
// an epoch goes through its sequences. Internal to nn/data. Read next: text.h.
//
// A Feistel network turns a number of 2h bits (left, right) into another by rounds of
//     (left, right) -> (right, left xor F(round, right)),
// which can be undone whatever F is, so that it is a permutation of the 2^2h >= n numbers; F is
// Philox. What lands at n or above goes through it again until it is below ("cycle walking"), less
// than four times on average. Sources: Luby and Rackoff 1988, "How to construct pseudorandom
// permutations"; Black and Rogaway 2002, "Ciphers with arbitrary finite domains".
#pragma once

#include <tapestry/core/random.h>

#include <cstdint>
#include <span>

namespace tapestry {

class Permutation {
public:
    /// Of the numbers below n >= 1; another one for each seed and each index.
    Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t index);

    /// Of a number i < n: a number below n.
    std::uint64_t operator()(std::uint64_t i) const;

private:
    std::uint64_t scrambled(std::uint64_t x) const;

    std::uint64_t n_;
    std::uint64_t seed_;
    std::uint64_t index_;
    unsigned half_bits_;
};

/// The numbers that come next when all below n >= 1 come once, in the order of Permutation(n, seed,
/// 0), then once more, in that of Permutation(n, seed, 1), and so on. The generator's offset is how
/// many have come; its seed is the seed.
void next_in_epochs(Generator& generator, std::int64_t n, std::span<std::int64_t> to);

}  // namespace tapestry
