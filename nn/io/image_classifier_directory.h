// A trained image classifier as a directory, in the format that model_directory.h has for language
// models: config.json, which also has the labels and how pixels are normalised, and
// model.safetensors. Read next: nn/models/vision_transformer.h, the model.
#pragma once

#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/vision_transformer.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// What an image classifier knows apart from its weights.
struct ImageClasses {
    std::vector<std::string> labels = {};  ///< of its classes, by id
    std::vector<double> mean = {};         ///< of the pixels, 0 to 255, by channel
    std::vector<double> deviation = {};    ///< of the pixels, by channel; positive
};

/// An image classifier from a directory.
struct LoadedImageClassifier {
    std::unique_ptr<VisionTransformer> model;  ///< in evaluation mode
    ImageClasses classes;                      ///< its labels and normalisation
};

/// Writes everything but the weights (write_weights in model_directory.h) into a folder of the
/// directory, "" for none.
void write_description(Commit& commit, const std::string& folder,
                       const VisionTransformerConfig& config, const ImageClasses& classes);

/// Reads an image classifier. Throws IoError, with the file and the reason, as load_model does.
LoadedImageClassifier load_image_classifier(const std::filesystem::path& directory);

/// All but its weights. Throws IoError.
ImageClasses load_image_classes(const std::filesystem::path& directory);

}  // namespace tapestry
