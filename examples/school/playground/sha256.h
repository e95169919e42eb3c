// SHA-256: shows that two runs ended in the same numbers, by a digest that every system's tools can
// print as well.
//
// Source: FIPS 180-4, "Secure Hash Standard", section 6.2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tapestry::examples {

class Sha256 {
public:
    void add(std::span<const std::byte> bytes);

    /// The digest of all bytes added, as 64 hexadecimal digits. Do not add data afterwards.
    std::string hex();

private:
    void add_byte(std::byte byte);
    void mix();

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::byte, 64> block_{};
    std::uint64_t bytes_ = 0;
};

}  // namespace tapestry::examples
