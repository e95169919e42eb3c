// Digits of 8 x 8 pixels from a file, as scikit-learn and the UCI repository have them: 64 numbers
// and then the digit on each line, with commas between them.
#pragma once

#include <tapestry/examples/school/tasks/shapes.h>

#include <filesystem>

namespace tapestry::examples {

struct DigitFile {
    LabelledImages train, test;  ///< one line in five is held out
};

/// Reads the file; the brightest of its pixels becomes 1. Throws IoError as read_text does,
/// ValueError, naming the line, for what is not as above, for a negative pixel, for a file without
/// any light, and where not both parts hold a line.
DigitFile read_digits(const std::filesystem::path& path);

/// Each image of [B, 1, 8, 8] in a hand of its own: digits are few, and how they slant, or where
/// they stand to half a pixel, means nothing.
Tensor distorted(const Tensor& images, Generator& generator);

inline const TaskOptions kDigitFileOptions{.steps = 2000, .batch = 64, .rate = 1e-3};

Score learn_digit_file(const std::filesystem::path& path, const TaskOptions& options,
                       ImageModel model = ImageModel::transformer);

}  // namespace tapestry::examples
