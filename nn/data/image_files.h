// Parts of reading images: one image file (image_files.cpp, png.cpp, jpeg.cpp, exif.cpp), and
// images of one size put together. Internal to nn/data. Read next: images.h.
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

/// Whether the name ends in .pgm, .ppm, .pnm, .png, .jpg or .jpeg, in capital or small letters.
bool is_image_name(const std::filesystem::path& file);

/// Decodes an image file, whose kind its first bytes decide; `name` is for messages. Throws
/// IoError.
DecodedImage decode_image(std::string_view bytes, const std::string& name);

/// Decodes netpbm's P2, P3, P5 and P6; `name` is for messages. Throws IoError.
/// Source: https://netpbm.sourceforge.net/doc/pgm.html and ppm.html.
DecodedImage decode_netpbm(std::string_view bytes, const std::string& name);

/// Decodes a PNG to 8 bits: grey, or colours (also of a palette), over white where it is
/// transparent, and turned upright by its EXIF. Gamma and profiles are ignored. Throws IoError,
/// also in a build without libpng.
DecodedImage decode_png(std::string_view bytes, const std::string& name);

/// Decodes a JPEG, grey or coloured, turned upright by its EXIF; CMYK is refused. Throws IoError,
/// also for missing parts, which libjpeg would fill with grey, for damage that libjpeg notices (a
/// JPEG has no checksum), for arithmetic coding, where it notices none, and in a build without
/// libjpeg.
DecodedImage decode_jpeg(std::string_view bytes, const std::string& name);

/// Throws IoError for sides outside [1, 16384] and more than 2^26 pixels.
void check_image_size(std::int64_t height, std::int64_t width, const std::string& name);

/// The orientation that EXIF's bytes (a TIFF header and what follows) give: 1, upright, to 8; 1 if
/// they give none.
int exif_orientation(std::string_view tiff);

/// Turns an image of this orientation upright.
void orient(DecodedImage& image, int orientation);

/// Cuts the central square out and scales it to side x side pixels.
void scale_to_square(DecodedImage& image, std::int64_t side);
/// Grey becomes red, green and blue.
void add_colours(DecodedImage& image);
/// Red, green and blue become grey: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601).
void remove_colours(DecodedImage& image);

/// Puts images of one size together.
class ImageCollector {
public:
    /// Without a size, that of the first image counts. With `side`, image files are scaled to
    /// side x side, and all are coloured if one is, or as `wanted` says.
    explicit ImageCollector(std::optional<ImageSize> wanted, std::int64_t side = 0)
        : wanted_(wanted), side_(side) {}

    /// Adds an image file. Throws IoError for an image of another size.
    void add(DecodedImage image, std::string name);
    /// Adds an image as it is. Throws IoError for another size.
    void add(const ImageSize& size, std::span<const std::uint8_t> pixels, std::string name);
    /// All of them.
    ImageSet take() { return std::move(all_); }

private:
    std::optional<ImageSize> wanted_;
    std::int64_t side_;
    ImageSet all_;
};

}  // namespace tapestry
