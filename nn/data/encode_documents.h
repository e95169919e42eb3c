// Documents of any size to ids, with memory for a piece of them. Read next: nn/io/data_directory.h,
// where the ids go.
#pragma once

#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/data/tokenizer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tapestry {

struct EncodedDocuments {
    std::int64_t ids = 0;  ///< separators among them
    std::int64_t documents = 0;
};

/// Hands the ids of all documents to `write`, as pack_ids keeps them, with the tokenizer's
/// end-of-text id between a document and the next. A document's ids are those of all of it, encoded
/// at once. Throws as the reader and the tokenizer do, and ValueError for a second document where
/// there is no end-of-text id.
EncodedDocuments encode_documents(DocumentReader& documents, const Tokenizer& tokenizer,
                                  IdType type,
                                  const std::function<void(std::span<const std::byte>)>& write);

/// A tokenizer of the characters that occur, sorted by code point; of several documents with
/// CharTokenizer::kEndOfText. Throws as the reader does.
CharTokenizer characters_of(DocumentReader& documents);

/// The words of about `sample` bytes of the documents, taken in pieces from all over them.
WordCounts words_of(DocumentReader& documents, std::uint64_t sample);

}  // namespace tapestry
