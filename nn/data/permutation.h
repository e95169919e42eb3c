// A pseudorandom permutation of the numbers below n that needs no memory: the order of the
// sequences in an epoch. Internal to nn/data. Read next: text.h.
//
// A Feistel network maps a number of 2h bits (left, right) to another by rounds of
//     (left, right) -> (right, left xor F(round, right)),
// which are invertible for any F, so it is a permutation of the 2^2h >= n numbers; F is Philox.
// Results of n or above go through it again until they are below n ("cycle walking"), less than
// four times on average. Sources: Luby and Rackoff 1988, "How to construct pseudorandom
// permutations"; Black and Rogaway 2002, "Ciphers with arbitrary finite domains".
#pragma once

#include <tapestry/core/random.h>

#include <cstdint>
#include <span>

namespace tapestry {

class Permutation {
public:
    /// Permutes the numbers below n >= 1; a different permutation for each seed and index.
    Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t index);

    /// Maps i < n to a number below n.
    std::uint64_t operator()(std::uint64_t i) const;

private:
    std::uint64_t scrambled(std::uint64_t x) const;

    std::uint64_t n_;
    std::uint64_t seed_;
    std::uint64_t index_;
    unsigned half_bits_;
};

/// Fills `to` with the next numbers of a sequence in which all numbers below n >= 1 come once in
/// the order of Permutation(n, seed, 0), then once in that of Permutation(n, seed, 1), and so on.
/// The generator's offset counts the numbers so far; its seed is the seed.
void next_in_epochs(Generator& generator, std::int64_t n, std::span<std::int64_t> to);

}  // namespace tapestry
