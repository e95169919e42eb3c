// A trained model that points at answers as a directory, in the format that model_directory.h has
// for language models: config.json, model.safetensors and the tokenizer; three marks are the ids
// after the tokenizer's. Read next: nn/models/span/span_reader.h.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/models/span/span_reader.h>

#include <filesystem>
#include <memory>

namespace tapestry {

/// Marks of a SpanReader beyond the tokenizer's ids: [CLS], [SEP] and padding.
inline constexpr std::int64_t kSpanMarks = 3;

/// A model that points at answers, from a directory.
struct LoadedSpanReader {
    std::unique_ptr<SpanReader> model;     ///< in evaluation mode
    std::unique_ptr<Tokenizer> tokenizer;  ///< of kSpanMarks tokens less than the model's
};

/// Reads a model. Throws IoError, with the file and the reason, as load_model does.
LoadedSpanReader load_span_reader(const std::filesystem::path& directory);

}  // namespace tapestry
