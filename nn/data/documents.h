// Texts from files of any size, a piece at a time: what a tokenizer reads when a text does not fit
// into memory; and these pieces as ids, with memory for one at a time. Read next:
// nn/io/data_directory.h, where the ids go.
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

/// The files among these paths, and, in the order of their names, all that lie in the directories
/// among them or further down; names that begin with a dot are left out. Throws IoError for a
/// directory that cannot be read or holds none.
std::vector<std::filesystem::path> files_below(const std::vector<std::string>& paths);

/// Throws IoError, saying at which byte of the file, unless the text, which begins at byte `offset`
/// of it, is UTF-8.
void check_utf8(std::string_view text, const std::string& file, std::uint64_t offset = 0);

struct DocumentOptions {
    /// If given, files whose names end with .jsonl or .ndjson are JSON Lines: every line is an
    /// object, and a document is what stands in its field of this name.
    std::optional<std::string> field = {};
    /// Told now and then how many bytes of how many have been read. May be empty.
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

/// A part of a document. One document's follow one another.
struct DocumentPiece {
    std::string_view text;  ///< UTF-8, whole characters, never none
    std::string what;       ///< where it is, for errors: "a.txt", "b.jsonl:3"
    bool begins = false;    ///< the document
    bool ends = false;
};

/// A file that has been read.
struct SourceFile {
    std::string path;
    std::uint64_t bytes = 0;
    std::string hash;  ///< XXH3 of its bytes
};

/// Reads every file once, from the beginning to the end. A plain file is a document, less a byte
/// order mark at its beginning; so is a line of JSON. Empty ones are passed over.
class DocumentReader {
public:
    /// Throws IoError for a file that is missing, a directory or unreadable.
    explicit DocumentReader(std::vector<std::filesystem::path> files, DocumentOptions options = {});
    ~DocumentReader();
    DocumentReader(const DocumentReader&) = delete;
    DocumentReader& operator=(const DocumentReader&) = delete;

    /// Nothing at the end. The text is valid until the next call. Throws IoError for what is not
    /// UTF-8, a line that is no JSON object or lacks the field, with file and line, a file that
    /// cannot be read, and when all of them together have no text.
    std::optional<DocumentPiece> next();

    std::uint64_t bytes() const { return bytes_; }  ///< of all files together
    /// Those that have been read to their ends.
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

    // The file that is open.
    std::unique_ptr<InputFile> file_;
    std::unique_ptr<Checksum> sum_;
    std::string name_;
    std::uint64_t left_ = 0;    // bytes of it that have not been read
    std::uint64_t offset_ = 0;  // bytes of it before the buffer
    std::size_t used_ = 0;      // bytes of the buffer that have been handed on
    std::uint64_t line_ = 0;
    std::string buffer_;
    std::string document_;  // of JSON
};

// ---- to ids -------------------------------------------------------------------------------------

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
