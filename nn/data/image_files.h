// Parts of reading images: one image file, and images of one size put together. Internal to
// nn/data. Read next: images.h.
#pragma once

#include <tapestry/nn/data/images.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// One image.
struct DecodedImage {
    ImageSize size;                    ///< its size
    std::vector<std::uint8_t> pixels;  ///< channel by channel, row by row
};

/// Whether the name ends in .pgm, .ppm or .pnm.
bool is_image_name(const std::filesystem::path& file);

/// Decodes netpbm's P2, P3, P5 and P6; `name` is for messages. Throws IoError.
/// Source: https://netpbm.sourceforge.net/doc/pgm.html and ppm.html.
DecodedImage decode_netpbm(std::string_view bytes, const std::string& name);

/// Puts images of one size together.
class ImageCollector {
public:
    /// Without a size, that of the first image counts.
    explicit ImageCollector(std::optional<ImageSize> wanted) : wanted_(wanted) {}

    /// Throws IoError for an image of another size.
    void add(const ImageSize& size, std::span<const std::uint8_t> pixels, std::string name);
    /// All of them.
    ImageSet take() { return std::move(all_); }

private:
    std::optional<ImageSize> wanted_;
    ImageSet all_;
};

}  // namespace tapestry
