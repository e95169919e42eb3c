// Digits of 8 x 8 pixels from a file in the format of scikit-learn and the UCI repository: 64
// numbers and the digit on each line, separated by commas.
#pragma once

#include <tapestry/examples/school/tasks/shapes.h>

#include <filesystem>

namespace tapestry::examples {

struct DigitFile {
    LabelledImages train, test;  ///< one line in five is held out
};

/// Reads the file and scales its brightest pixel to 1. Throws IoError as read_text does;
/// ValueError, naming the line, for a line in another format or a negative pixel; ValueError also
/// for a file with only zero pixels, or too few lines for both parts.
DigitFile read_digits(const std::filesystem::path& path);

/// Distorts each image of [B, 1, 8, 8] at random: digits are few, and their slant or their position
/// to half a pixel carries no meaning.
Tensor distorted(const Tensor& images, Generator& generator);

inline const TaskOptions kDigitFileOptions{.steps = 2000, .batch = 64, .rate = 1e-3};

Score learn_digit_file(const std::filesystem::path& path, const TaskOptions& options,
                       ImageModel model = ImageModel::transformer);

}  // namespace tapestry::examples
