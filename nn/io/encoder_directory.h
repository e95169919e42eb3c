// A trained encoder of text and its tokenizer as a directory, in the format that model_directory.h
// has for language models: a model of masked tokens, or one that points at answers. Its marks are
// the ids after the tokenizer's. Read next: nn/models/masked_language_model.h,
// nn/models/span/span_reader.h.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/span/span_reader.h>

#include <filesystem>
#include <memory>

namespace tapestry {

/// Marks of a SpanReader beyond the tokenizer's ids: [CLS], [SEP] and padding.
inline constexpr std::int64_t kSpanMarks = 3;

/// A model of text from a directory.
template <class Model>
struct LoadedEncoder {
    std::unique_ptr<Model> model;          ///< in evaluation mode
    std::unique_ptr<Tokenizer> tokenizer;  ///< of the model's ids without the marks
};

/// A model of masked tokens from a directory.
using LoadedMaskedModel = LoadedEncoder<MaskedLanguageModel>;
/// A model that points at answers, from a directory.
using LoadedSpanReader = LoadedEncoder<SpanReader>;

/// Reads a model of masked tokens. Throws IoError, with the file and the reason, as load_model
/// does.
LoadedMaskedModel load_masked_model(const std::filesystem::path& directory);

/// Reads a model that points at answers. Throws likewise.
LoadedSpanReader load_span_reader(const std::filesystem::path& directory);

}  // namespace tapestry
