// A tokenized text on disk: a directory with the ids, their tokenizer, and data.json, which
// describes them. `tapestry tokenize` writes it, `tapestry train --data` reads it; docs/data.md
// describes the files. Read next: tokenize.h, which caches such directories.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/tokenizer.h>

#include <filesystem>
#include <memory>
#include <string>

namespace tapestry {

/// The former name of Corpus.
using TokenData [[deprecated("use Corpus")]] = Corpus;

/// Whether a directory has data, without reading it.
bool has_data(const std::filesystem::path& directory);
/// Whether a tokenization was killed there: ids, but no data.
bool has_unfinished_data(const std::filesystem::path& directory);

/// Throws IoError if it has: a model's tokenizer files would overwrite the data's.
void check_holds_no_data(const std::filesystem::path& directory);

/// Encodes the documents into a directory, which is created if necessary. data.json is written
/// last: without it there is no data, so an unfinished directory is rewritten. Overwrites existing
/// data. Throws IoError, and as encode_documents does. `options` apply to every file.
EncodedDocuments write_data(const std::filesystem::path& directory, DocumentReader& documents,
                            const Tokenizer& tokenizer, const WriteOptions& options = {});

/// Removes the files of write_data, and the directory unless it has other contents. Leaves what
/// cannot be removed.
void remove_data(const std::filesystem::path& directory);

/// Opens the data after checking the ids against their hash, which reads all of them once. Throws
/// IoError, with file and reason: no such directory, unfinished, of an unknown format, damaged,
/// with another tokenizer than the ids were made with, or without the token that it begins texts
/// with, as older versions made it.
Corpus load_data(const std::filesystem::path& directory);

/// Only its tokenizer, for other texts. Throws IoError as load_data does.
std::unique_ptr<Tokenizer> load_data_tokenizer(const std::filesystem::path& directory);

}  // namespace tapestry
