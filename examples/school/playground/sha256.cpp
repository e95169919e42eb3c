#include <tapestry/examples/school/playground/sha256.h>

#include <fmt/format.h>

#include <bit>

namespace tapestry::examples {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoots{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Constants, because std::rotr takes an int in one standard library and an unsigned in another.
template <int first, int second, int third>
constexpr std::uint32_t turned(std::uint32_t x) {
    return std::rotr(x, first) ^ std::rotr(x, second) ^ std::rotr(x, third);
}

}  // namespace

void Sha256::add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) add_byte(byte);
}

void Sha256::add_byte(std::byte byte) {
    block_[bytes_ % 64] = byte;
    if (++bytes_ % 64 == 0) mix();
}

void Sha256::mix() {
    std::array<std::uint32_t, 64> words{};
    for (std::size_t i = 0; i < 64; ++i) {
        words[i / 4] = words[i / 4] << 8 | std::to_integer<std::uint32_t>(block_[i]);
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + words[i - 7] +
                   (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t choice = (e & f) ^ (~e & g);
        const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        const std::uint32_t first = h + turned<6, 11, 25>(e) + choice + kRoots[i] + words[i];
        const std::uint32_t second = turned<2, 13, 22>(a) + majority;
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += mixed[i];
}

// Pads with a one bit and zeros up to the last eight bytes of a block, then the length in bits.
std::string Sha256::hex() {
    const std::uint64_t bits = 8 * bytes_;
    add_byte(std::byte{0x80});
    while (bytes_ % 64 != 56) add_byte(std::byte{0});
    for (int shift = 56; shift >= 0; shift -= 8) add_byte(static_cast<std::byte>(bits >> shift));
    std::string text;
    for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
    return text;
}

}  // namespace tapestry::examples
