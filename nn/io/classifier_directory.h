// A trained text classifier as a directory, in the format that model_directory.h has for language
// models: config.json, which also has the labels, and model.safetensors. Read next:
// nn/models/bag/bag.h, the model; image_classifier_directory.h, the same for images.
#pragma once

#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/bag/bag.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// A classifier from a directory.
struct LoadedClassifier {
    std::unique_ptr<BagClassifier> model;  ///< in evaluation mode
    std::vector<std::string> labels;       ///< of its classes, by id
};

/// Writes everything but the weights (write_weights in model_directory.h) into a folder of the
/// directory, "" for none.
void write_description(Commit& commit, const std::string& folder, const BagConfig& config,
                       const std::vector<std::string>& labels);

/// Reads a classifier. Throws IoError, with the file and the reason, as load_model does.
LoadedClassifier load_classifier(const std::filesystem::path& directory);

/// Writes a classifier's directory with the rows of its table in int8 (ops/int8_rows.h), which
/// load_classifier reads as f32; all else stays as it is. For a `dim` of 16 it has a third of the
/// size. Throws IoError as load_classifier does; BusyError if a run is using the directory.
void quantize_classifier(const std::filesystem::path& from, const std::filesystem::path& to);

/// Whether quantize_classifier() wrote the directory. Throws IoError for a damaged config.json.
bool is_quantized_classifier(const std::filesystem::path& directory);

/// Only its labels. Throws IoError.
std::vector<std::string> load_labels(const std::filesystem::path& directory);

}  // namespace tapestry
