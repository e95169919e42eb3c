#include <tapestry/nn/data/permutation.h>

#include <algorithm>
#include <bit>

namespace tapestry {
namespace {

// Luby and Rackoff prove 4 enough for long halves. With halves of one or two bits, 6 are still
// biased (tests/nn/permutation_test.cpp); NIST SP 800-38G uses 10.
constexpr std::uint32_t kRounds = 10;

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t index)
    : n_(n),
      seed_(seed),
      index_(index),
      half_bits_(std::max(1U, static_cast<unsigned>(std::bit_width(n - 1) + 1) / 2)) {}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
    do {
        i = scrambled(i);
    } while (i >= n_);
    return i;
}

std::uint64_t Permutation::scrambled(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
        const auto words =
            philox({low(right), round, low(index_), high(index_)}, {low(seed_), high(seed_)});
        const std::uint64_t next = left ^ (words[0] & mask);
        left = right;
        right = next;
    }
    return left << half_bits_ | right;
}

void next_in_epochs(Generator& generator, std::int64_t n, std::span<std::int64_t> to) {
    const auto size = static_cast<std::uint64_t>(n);
    std::uint64_t count = generator.take(to.size());
    for (std::int64_t& number : to) {
        number = static_cast<std::int64_t>(
            Permutation(size, generator.seed(), count / size)(count % size));
        ++count;
    }
}

}  // namespace tapestry
