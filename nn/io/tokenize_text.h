// A text file as ids, whatever its size. Read next: text_cache.h, where they are kept;
// nn/data/encode_documents.h, how they are made.
#pragma once

#include <tapestry/nn/io/text_cache.h>

#include <filesystem>
#include <memory>

namespace tapestry {

/// The text in a file as ids, with memory for a piece of it: of the tokenizer, or, if that is null,
/// of its characters. The ids are a file in `cache`; where there is no cache, or it cannot be
/// written, in memory for a short text and in a temporary file without a name for others. Throws
/// IoError and ValueError as DocumentReader and encode_documents do.
TokenData tokenize_text(const std::filesystem::path& text, std::unique_ptr<Tokenizer> tokenizer,
                        const TextCache* cache = nullptr);

}  // namespace tapestry
