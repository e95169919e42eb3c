// Reads texts from files of any size in pieces, for tokenizing texts that do not fit into memory,
// and encodes these pieces one at a time into a corpus. Read next: nn/io/data_directory.h, where
// the ids are stored; text.h, which splits them.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/data/tokenizer.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Called for an entry of a directory that is skipped, with the reason.
using SkippedEntry = std::function<void(const std::filesystem::path& entry, const char* why)>;

/// Expands paths: files are kept, and directories replaced by all files below them, sorted by name;
/// names that begin with a dot are skipped. Calls `skipped` for a link to nothing or to a
/// directory, a pipe, a socket or a device. Throws IoError for a directory that cannot be read or
/// contains no files.
std::vector<std::filesystem::path> files_below(const std::vector<std::string>& paths,
                                               const SkippedEntry& skipped = {});

/// Thrown for a file that is not UTF-8 text.
class NotTextError : public IoError {
public:
    using IoError::IoError;
};

/// Throws NotTextError, with the byte position in the file, unless the text, which begins at byte
/// `offset` of it, is UTF-8; at offset 0 also for what is known not to be text although its bytes
/// may be valid (file_kind.h).
void check_utf8(std::string_view text, const std::string& file, std::uint64_t offset = 0);

/// Whether a file of this name is JSON Lines: .jsonl or .ndjson.
bool is_json_lines(const std::filesystem::path& file);

/// A column's name as it is compared: "Label " -> "label".
std::string column_name(std::string_view field);

/// How files are cut into documents.
struct DocumentOptions {
    /// If given, files whose names end with .jsonl or .ndjson are JSON Lines: every line is an
    /// object, and its field of this name is a document.
    std::optional<std::string> field = {};
    /// Called occasionally with the bytes read so far and the total. May be empty.
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

/// A part of a document. The pieces of a document are consecutive.
struct DocumentPiece {
    std::string_view text;  ///< UTF-8, whole characters, never empty
    std::string what;       ///< where it is, for errors: "a.txt", "b.jsonl:3"
    bool begins = false;    ///< first piece of its document
    bool ends = false;      ///< last piece of its document
};

/// A file that has been read.
struct SourceFile {
    std::string path;         ///< as it was opened
    std::uint64_t bytes = 0;  ///< its length
    std::string hash;         ///< XXH3 of its bytes
};

/// Reads every file once, in order. A plain file is a document, without its byte order mark if it
/// has one; so is a line of JSON. Empty documents are skipped.
class DocumentReader {
public:
    /// Throws IoError for a file that is missing, a directory or unreadable.
    explicit DocumentReader(std::vector<std::filesystem::path> files, DocumentOptions options = {});
    ~DocumentReader();
    DocumentReader(const DocumentReader&) = delete;
    DocumentReader& operator=(const DocumentReader&) = delete;

    /// The next piece; empty at the end. The text is valid until the next call. Throws IoError for
    /// text that is not UTF-8, a line that is not a JSON object or lacks the field, with file and
    /// line, a file that cannot be read, and if no file has any text.
    std::optional<DocumentPiece> next();

    std::uint64_t bytes() const { return bytes_; }  ///< of all files together
    /// The files read to their end.
    const std::vector<SourceFile>& sources() const { return sources_; }

private:
    bool open_next();
    void close();
    void fill();
    std::optional<DocumentPiece> next_block();
    std::optional<DocumentPiece> next_line();

    std::vector<std::filesystem::path> files_;
    DocumentOptions options_;
    std::uint64_t bytes_ = 0;
    std::uint64_t bytes_read_ = 0;
    std::vector<SourceFile> sources_;
    bool any_text_ = false;

    // The open file.
    std::unique_ptr<InputFile> file_;
    std::unique_ptr<Checksum> sum_;
    std::string name_;
    std::uint64_t left_ = 0;    // bytes of it not read yet
    std::uint64_t offset_ = 0;  // bytes of it before the buffer
    std::size_t used_ = 0;      // bytes of the buffer already returned
    std::uint64_t line_ = 0;
    std::string buffer_;
    std::string document_;  // from JSON
};

// ---- to ids -------------------------------------------------------------------------------------

/// What encode_documents() wrote.
struct EncodedDocuments {
    std::int64_t ids = 0;        ///< including separators
    std::int64_t documents = 0;  ///< documents read
};

/// Passes the ids of all documents, packed by pack_ids, to `write`, each begun by begin_text(),
/// with the tokenizer's end-of-text id between documents. The ids are the same as if each document
/// were encoded at once. Throws as the reader and the tokenizer do, and ValueError for a second
/// document if there is no end-of-text id.
EncodedDocuments encode_documents(DocumentReader& documents, const Tokenizer& tokenizer,
                                  IdType type,
                                  const std::function<void(std::span<const std::byte>)>& write);

/// A text as token ids.
struct Corpus {
    std::unique_ptr<Tokenizer> tokenizer;  ///< that made the ids
    TokenIds ids;                          ///< of the whole text, in memory or in a file
    std::string hash;                      ///< data_hash() of both
    std::int64_t skipped = 0;              ///< files and links of a directory
};

/// XXH3 of ids and tokenizer: identifies a corpus independently of where it is stored.
std::string data_hash(const std::string& hash_of_ids, const Tokenizer& tokenizer);

/// A tokenizer of the characters that occur, sorted by code point, plus CharTokenizer::kEndOfText
/// if there are several documents. Throws as the reader does.
CharTokenizer characters_of(DocumentReader& documents);

/// The words of about `sample` bytes of the documents, in pieces spread evenly over them.
WordCounts words_of(DocumentReader& documents, std::uint64_t sample);

}  // namespace tapestry
