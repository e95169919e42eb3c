// The orientation in which a camera held an image. libexif would be a library for one number.
#include <tapestry/nn/data/image_files.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tapestry {

// TIFF: II or MM for the order of bytes, 42, the place of the first directory; a directory is a
// number of entries of 12 bytes: tag, type, count, value. Source: CIPA DC-008, section 4.6.
int exif_orientation(std::string_view tiff) {
    constexpr std::size_t kHeader = 8, kEntry = 12;
    constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
    const bool is_little = tiff.starts_with("II");
    if (tiff.size() < kHeader || (!is_little && !tiff.starts_with("MM"))) return 1;
    const auto number = [&](std::size_t at, std::size_t length) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < length; ++i) {
            const std::size_t place = is_little ? at + length - 1 - i : at + i;
            value = 256 * value + static_cast<unsigned char>(tiff[place]);
        }
        return value;
    };
    const std::size_t directory = number(4, 4);
    if (directory < kHeader || directory > tiff.size() - 2) return 1;
    const std::size_t entries = number(directory, 2);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t at = directory + 2 + i * kEntry;
        if (at + kEntry > tiff.size()) return 1;
        if (number(at, 2) != kOrientation || number(at + 2, 2) != kShort) continue;
        const std::uint32_t value = number(at + 8, 2);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

void orient(DecodedImage& image, int orientation) {
    if (orientation == 1) return;
    // From 5 on rows become columns; then they are read backwards, or columns are.
    const bool is_turned = orientation >= 5;
    const bool rows_backwards =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const bool columns_backwards =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const std::int64_t height = image.size.height, width = image.size.width;
    if (is_turned) std::swap(image.size.height, image.size.width);
    std::vector<std::uint8_t> turned;
    turned.reserve(image.pixels.size());
    for (std::int64_t c = 0; c < image.size.channels; ++c) {
        for (std::int64_t y = 0; y < image.size.height; ++y) {
            for (std::int64_t x = 0; x < image.size.width; ++x) {
                const std::int64_t row = is_turned ? x : y, column = is_turned ? y : x;
                const std::int64_t from_row = rows_backwards ? height - 1 - row : row;
                const std::int64_t from_column = columns_backwards ? width - 1 - column : column;
                turned.push_back(image.pixels[static_cast<std::size_t>(
                    (c * height + from_row) * width + from_column)]);
            }
        }
    }
    image.pixels = std::move(turned);
}

}  // namespace tapestry
