#include <tapestry/nn/pages/encoding.h>

#include <bit>
#include <cmath>
#include <string_view>
#include <vector>

namespace tapestry {

std::string base64(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
        unsigned group = 0;  // 24 bits
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8 | (j < count ? std::to_integer<unsigned>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
        }
    }
    return text;
}

std::uint16_t half_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
    if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7E00U);
    const float size = std::abs(x);
    if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to 2^16
    if (size < 0x1p-14F) {  // subnormal: a multiple of 2^-24
        return static_cast<std::uint16_t>(sign |
                                          static_cast<unsigned>(std::nearbyint(size * 0x1p24F)));
    }
    // Exponent and mantissa stand beside each other, so a carry of rounding runs into the exponent.
    const std::uint32_t rest = (bits & 0x7FFFFFFFU) - (112U << 23);
    const std::uint32_t odd = rest >> 13 & 1U;
    return static_cast<std::uint16_t>(sign | (rest + 0xFFFU + odd) >> 13);
}

std::string half_base64(std::span<const float> numbers) {
    std::vector<std::byte> bytes;
    bytes.reserve(2 * numbers.size());
    for (const float x : numbers) {
        const unsigned half = half_bits(x);
        bytes.push_back(static_cast<std::byte>(half & 0xFFU));
        bytes.push_back(static_cast<std::byte>(half >> 8));
    }
    return base64(bytes);
}

std::string float_base64(std::span<const float> numbers) {
    static_assert(std::endian::native == std::endian::little);
    return base64(std::as_bytes(numbers));
}

}  // namespace tapestry
