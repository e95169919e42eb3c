#include <tapestry/nn/pages/encoding.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <vector>

namespace tapestry {
namespace {

constexpr int kNoPower = 1000;

// The smallest n >= -126 for which no number exceeds 2047 times 2^n; kNoPower if one is not finite.
int power_of(std::span<const float> row) {
    double most = 0;
    for (const float x : row) {
        if (!std::isfinite(x)) return kNoPower;
        most = std::max(most, std::abs(static_cast<double>(x)));
    }
    int power = 0;
    const double fraction = std::frexp(most / 2047, &power);  // in [0.5, 1), or 0
    return std::max(-126, fraction == 0.5 ? power - 1 : power);
}

}  // namespace

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

std::string base91(std::span<const std::byte> bytes) {
    constexpr unsigned kBits = 13;
    const auto digit = [](unsigned d) {
        const auto c = static_cast<char>('#' + d);
        return c == '<' ? '!' : c == '\\' ? '~' : c;
    };
    std::string text;
    text.reserve((8 * bytes.size() + kBits - 1) / kBits * 2);
    unsigned waiting = 0, count = 0;  // bits that are not yet written
    const auto write = [&](unsigned pair) {
        text += digit(pair / 91);
        text += digit(pair % 91);
    };
    for (const std::byte b : bytes) {
        waiting = waiting << 8 | std::to_integer<unsigned>(b);
        count += 8;
        if (count < kBits) continue;
        count -= kBits;
        write(waiting >> count);
        waiting &= (1U << count) - 1;
    }
    if (count > 0) write(waiting << (kBits - count));
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
    // Exponent and mantissa are adjacent, so a carry from rounding runs into the exponent.
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

PackedRows pack_rows(std::span<const float> numbers, std::size_t width) {
    constexpr int kBias = 127, kNotFinite = 255;
    std::vector<std::byte> units;
    std::vector<unsigned> packed;
    for (std::size_t first = 0; first < numbers.size(); first += width) {
        const auto row = numbers.subspan(first, width);
        const int power = power_of(row);
        units.push_back(static_cast<std::byte>(power == kNoPower ? kNotFinite : power + kBias));
        for (const float x : row) {
            const double multiple = power == kNoPower ? 0 : std::nearbyint(std::ldexp(x, -power));
            packed.push_back(static_cast<unsigned>(static_cast<int>(multiple)) & 0xFFFU);
        }
    }
    if (packed.size() % 2 != 0) packed.push_back(0);
    std::vector<std::byte> bytes;
    bytes.reserve(packed.size() / 2 * 3);
    for (std::size_t i = 0; i < packed.size(); i += 2) {
        const unsigned both = packed[i] << 12 | packed[i + 1];
        for (const unsigned shift : {16U, 8U, 0U}) {
            bytes.push_back(static_cast<std::byte>(both >> shift & 0xFFU));
        }
    }
    return {base91(bytes), base64(units)};
}

void write(JsonWriter& json, const Log2Histogram& h) {
    json.object("first", h.first, "counts", h.counts);
}

void write(JsonWriter& json, const Diagnosis& d) {
    constexpr const char* kVerdicts[] = {"silent", "good", "open", "bad"};
    json.object("verdict", kVerdicts[static_cast<std::size_t>(d.verdict)], "rule", d.rule, "text",
                d.text, "advice", d.advice, "command", d.command);
}

}  // namespace tapestry
