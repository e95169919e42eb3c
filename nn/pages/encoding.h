// Many numbers in few characters, for the page's data. Internal to nn/pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tapestry {

/// RFC 4648, section 4, with padding.
std::string base64(std::span<const std::byte> bytes);

/// The nearest binary16 of IEEE 754, ties to even; beyond 65504 infinite.
std::uint16_t half_bits(float x);

/// The numbers as binary16, little-endian, in base64.
std::string half_base64(std::span<const float> numbers);

/// The numbers as they are, little-endian, in base64.
std::string float_base64(std::span<const float> numbers);

}  // namespace tapestry
