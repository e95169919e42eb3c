// Texts from files of any size, a piece at a time: what a tokenizer reads when a text does not fit
// into memory. Read next: encode_documents.h, which turns the pieces into ids.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/file.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
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

}  // namespace tapestry
