// Compact encodings of many numbers, for the page's data. Internal to nn/pages.
#pragma once

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/inspect/statistics.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tapestry {

/// RFC 4648, section 4, with padding.
std::string base64(std::span<const std::byte> bytes);

/// The nearest IEEE 754 binary16, ties to even; infinity beyond 65504.
std::uint16_t half_bits(float x);

/// The numbers as binary16, little-endian, in base64.
std::string half_base64(std::span<const float> numbers);

/// Bits in pairs of 91 characters, 13 bits each, most significant first: 8% shorter than base64. A
/// pair is 91 a + b, and digit d is the character 35 + d, but '!' instead of '<' and '~' instead of
/// '\\', so that the text needs no escapes in JSON inside of HTML. Zeros fill the last pair.
std::string base91(std::span<const std::byte> bytes);

/// Rows of `width` numbers of 12 bits: multiples, -2047 to 2047, of the smallest power of two that
/// fits the row's largest, in two's complement, most significant first, in base91(). `units` has a
/// byte per row: the exponent plus 127, or 255 if a number is not finite.
struct PackedRows {
    std::string numbers;
    std::string units;
};
PackedRows pack_rows(std::span<const float> numbers, std::size_t width);

/// The numbers as f32, little-endian, in base64.
std::string float_base64(std::span<const float> numbers);

void write(JsonWriter& json, const Log2Histogram& h);

/// { verdict, rule, text, advice, command }
void write(JsonWriter& json, const Diagnosis& diagnosis);

}  // namespace tapestry
