// Texts to ids: one text, whatever its size, kept for the next training on it; or many files, as a
// directory of data. Read next: data_directory.h, what is written; nn/data/documents.h, how ids are
// made.
#pragma once

#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/io/data_directory.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

// ---- texts that were tokenized before -----------------------------------------------------------

// They are kept for the next training on them. A text is known by its bytes, not by its name: one
// that was changed is another. An entry is a directory of data.

struct TextCache {
    std::filesystem::path directory;  ///< in which each text has one
    /// Of all entries together: the oldest is removed first. What is larger by itself is not kept.
    std::uint64_t max_bytes = std::uint64_t{20} << 30;
    /// Told, with the reason, when nothing can be kept; the text is read all the same. May be
    /// empty.
    std::function<void(const std::string&)> warn = {};

    /// Texts below this are tokenized in no more time than a look at the disk takes, and not kept.
    static constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
};

/// The user's: ${XDG_CACHE_HOME:-~/.cache}/tapestry; nothing where neither variable says where.
std::optional<std::filesystem::path> user_cache_directory();

/// What is kept of the text with this hash, as ids of the tokenizer, or, if that is null, of its
/// own characters. An entry that is damaged is removed.
std::optional<TokenData> find_tokenized(const TextCache& cache, const std::string& text,
                                        const Tokenizer* tokenizer);

/// Tokenizes the text with this hash and keeps it, for this user alone, as its own characters' or
/// as the tokenizer's. Throws as write_data does, and IoError if the text has another hash by now.
TokenData keep_tokenized(const TextCache& cache, const std::string& text, DocumentReader& reader,
                         const Tokenizer& tokenizer, bool of_own_characters);

// ---- a text -------------------------------------------------------------------------------------

/// The text in a file as ids, with memory for a piece of it: of the tokenizer, or, if that is null,
/// of its characters. The ids are a file in `cache`; where there is no cache, or it cannot be
/// written, in memory for a short text and in a temporary file without a name for others. Throws
/// IoError and ValueError as DocumentReader and encode_documents do.
TokenData tokenize_text(const std::filesystem::path& text, std::unique_ptr<Tokenizer> tokenizer,
                        const TextCache* cache = nullptr);

// ---- files --------------------------------------------------------------------------------------

// Data for a training, of many files, with a tokenizer that is made from them or at hand: what
// `tapestry tokenize` does.

struct TokenizeOptions {
    std::vector<std::string> texts;  ///< files, and directories of them
    std::string field = "text";      ///< of a line of JSON: where its text is
    /// "chars": of the characters that occur. "bpe": byte pairs, learned from the texts. Anything
    /// else is the directory of a model or of data, whose tokenizer is taken.
    std::string tokenizer = "chars";
    std::int64_t vocab = 4096;           ///< of "bpe": tokens, the 256 bytes among them
    std::uint64_t sample = 100'000'000;  ///< of "bpe": bytes of text to learn from
    /// Told when the files are read anew, and what for: "counting", "encoding". May be empty.
    std::function<void(const std::string& purpose)> begun = {};
    /// DocumentOptions::progress. What it throws ends the work, and nothing is left of it.
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

/// What was written.
struct TokenizedFiles {
    EncodedDocuments encoded = {};
    double bytes = 0;        ///< of the files
    double seconds = 0;      ///< that encoding took
    std::string unit = {};   ///< "character" or "token"
    std::int64_t vocab = 0;  ///< of the tokenizer
    std::string kind = {};   ///< the tokenizer's
};

/// Writes the data into the directory `out`. Throws IoError if there is data in it, and if the
/// tokenizer's directory has none; as files_below, DocumentReader, train_byte_pairs and write_data
/// do.
TokenizedFiles tokenize_files(const std::string& out, const TokenizeOptions& options);

/// "2 documents, 1.3 MB: 1300000 characters, 65 different"
std::string to_text(const TokenizedFiles& files);

}  // namespace tapestry
