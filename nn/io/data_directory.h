// A text as a model reads it, kept on the disk: a directory with the ids, the tokenizer they come
// from, and data.json, which says what they are. `tapestry tokenize` writes it, `tapestry train
// --data` reads it. docs/data.md describes the files. Read next: tokenize.h, which keeps such
// directories by itself.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/data/tokenizer.h>

#include <filesystem>
#include <memory>
#include <string>

namespace tapestry {

/// Ids, and what they stand for.
struct TokenData {
    std::unique_ptr<Tokenizer> tokenizer;
    TokenIds ids;
    std::string hash;  ///< data_hash of the two
};

/// XXH3 of ids and tokenizer: which data it is, wherever it lies.
std::string data_hash(const std::string& hash_of_ids, const Tokenizer& tokenizer);

/// Whether it is a directory with data, as far as can be said without reading that.
bool has_data(const std::filesystem::path& directory);

/// Throws IoError for such a directory: a model's tokenizer has the names of the data's.
void check_holds_no_data(const std::filesystem::path& directory);

/// Encodes the documents into a directory, which is made if need be. data.json is written last: a
/// directory without it is none, and one that was left unfinished is written anew. What was there
/// is written over. Throws IoError, and as encode_documents does. `options` are those of every
/// file.
EncodedDocuments write_data(const std::filesystem::path& directory, DocumentReader& documents,
                            const Tokenizer& tokenizer, const WriteOptions& options = {});

/// Removes what write_data wrote there, and the directory unless something else is in it. What
/// cannot be removed stays.
void remove_data(const std::filesystem::path& directory);

/// Opens it, having compared the ids with their hash, which reads all of them once. Throws IoError
/// naming file and reason: no such directory, unfinished, of a format that is not known, damaged,
/// another tokenizer than the ids were made with.
TokenData load_data(const std::filesystem::path& directory);

/// Its tokenizer alone, for other texts. Throws IoError as load_data does.
std::unique_ptr<Tokenizer> load_data_tokenizer(const std::filesystem::path& directory);

}  // namespace tapestry
