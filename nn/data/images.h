// Images of one size, from files: what an image classifier learns from and classifies. Read next:
// nn/train/image/image_task.h, which trains one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// The size of an image.
struct ImageSize {
    std::int64_t height = 0;    ///< in pixels
    std::int64_t width = 0;     ///< in pixels
    std::int64_t channels = 1;  ///< 1: grey; 3: red, green, blue

    /// Numbers in an image.
    std::int64_t numbers() const { return height * width * channels; }
    bool operator==(const ImageSize&) const = default;
};

/// "28 x 28 pixels, 1 channel": height, width.
std::string to_text(const ImageSize& size);

/// Images of one size, with 8 bits per channel.
struct ImageSet {
    ImageSize size;                    ///< of each
    std::vector<std::uint8_t> pixels;  ///< image by image, channel by channel, row by row
    std::vector<std::string> names;    ///< of each: "digits/3/17.pgm", "train.csv:12"

    /// Number of images.
    std::int64_t count() const { return std::ssize(names); }
    /// The pixels of image i.
    std::span<const std::uint8_t> image(std::size_t i) const {
        const auto length = static_cast<std::size_t>(size.numbers());
        return {pixels.data() + i * length, length};
    }
};

/// Images and their classes.
struct ImagesByClass {
    std::vector<std::string> labels;    ///< the distinct names, sorted
    ImageSet images;                    ///< in the order of the files
    std::vector<std::int64_t> targets;  ///< of each image: index of its label
    std::string hash;                   ///< XXH3 of all of them
};

/// The images that a model needs.
struct WantedImages {
    std::optional<ImageSize> size = {};    ///< empty: that of the first image
    std::vector<std::string> labels = {};  ///< in their order; empty: those found, sorted
    /// If not 0, image files may have any size: their central square is scaled to side x side
    /// pixels, and grey and coloured ones are made alike (to what `size` says, else to colours).
    std::int64_t side = 0;
};

/// Reads images with a class each, from one of these:
///   a directory        a folder per class, with files .png, .jpg, .jpeg, .pgm, .ppm or .pnm (P2,
///                      P3, P5, P6)
///   .csv, .tsv         a label and the pixels of a grey image in each row, 0 to 255, row by row. A
///                      first line may name the columns, the label's "label". Images are square, or
///                      as `wanted` says.
///   an IDX file        the format of MNIST, images of 8 bits; the labels are in a file next to it,
///                      whose name has "labels" for "images" and "idx1" for "idx3"
/// Files and folders whose names begin with a dot are skipped. Pixels become 8 bits per channel:
/// values of PGM and PPM are scaled from their maximum to 255, 16 bits of PNG likewise. The
/// transparent parts of a PNG are laid over white. PNG and JPEG files are turned upright by their
/// EXIF, and need a build with libpng and libjpeg (docs/environment.md).
///
/// Throws IoError, with the file (and line): for images of different sizes or of another size than
/// `wanted`, damaged files, images of more than 2^26 pixels, unknown kinds of file, labels that are
/// not wanted; and unless there are at least two classes.
ImagesByClass read_images_by_class(const std::filesystem::path& path,
                                   const WantedImages& wanted = {});

/// Reads images of this size without classes: an image file, a directory of them, a .csv or .tsv
/// (labels, if there are any, are ignored) or an IDX file. With `is_scaled`, image files may have
/// any size, as with WantedImages::side; the size must be square. Throws as read_images_by_class
/// does.
ImageSet read_images(const std::filesystem::path& path, const ImageSize& size,
                     bool is_scaled = false);

}  // namespace tapestry
