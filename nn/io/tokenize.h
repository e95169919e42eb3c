// Tokenizes one text of any size, with a cache for later runs; or many files, into a data
// directory. Read next: data_directory.h, the files written; nn/data/documents.h, the encoding.
#pragma once

#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/text_files.h>
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

// Caches tokenized texts for later runs. A text is identified by its contents, not its name. Each
// entry is a data directory.

/// A directory of tokenized texts.
struct TextCache {
    std::filesystem::path directory;  ///< contains one directory per text
    /// Limit on the total size of entries: the oldest is removed first. A larger text is not
    /// cached.
    std::uint64_t max_bytes = std::uint64_t{20} << 30;
    /// Called with the reason when a text cannot be cached; it is still read. May be empty.
    std::function<void(const std::string&)> warn = {};

    /// Smaller texts are tokenized as fast as the cache could be read, and are not cached.
    static constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
};

/// The user's cache directory, ${XDG_CACHE_HOME:-~/.cache}/tapestry; empty if neither variable is
/// set.
std::optional<std::filesystem::path> user_cache_directory();

/// Identifies a text by the files it was read from: a file's own hash, or one of all files' hashes
/// for several files and JSON Lines, which are cut into documents.
std::string hash_of_text(const std::vector<SourceFile>& sources);

/// Looks up the text with this hash, as ids of the tokenizer or, if that is null, of its own
/// characters. Removes a damaged entry.
std::optional<Corpus> find_tokenized(const TextCache& cache, const std::string& text,
                                     const Tokenizer* tokenizer);

/// Tokenizes the text with this hash and caches it, readable only by this user, under its own
/// characters or under the tokenizer. Throws as write_data does, and IoError if the text no longer
/// has this hash.
Corpus keep_tokenized(const TextCache& cache, const std::string& text, DocumentReader& reader,
                      const Tokenizer& tokenizer, bool of_own_characters);

// ---- a text -------------------------------------------------------------------------------------

/// A text as ids of the tokenizer or, if that is null, of its characters, using memory for one
/// piece at a time. A text is a file, a file of JSON Lines whose lines are documents with a field
/// "text", or a directory, whose files are documents; files of it that are not text are skipped.
/// The ids are a file in `cache`; if there is no cache, or it cannot be written, they are in memory
/// for a short text and in an unnamed temporary file for others. Throws IoError and ValueError as
/// text_files, DocumentReader and encode_documents do.
Corpus tokenize_text(const std::filesystem::path& text, std::unique_ptr<Tokenizer> tokenizer,
                     const TextCache* cache = nullptr);

// ---- files --------------------------------------------------------------------------------------

// Tokenizes many files into training data, with a new or an existing tokenizer: this is `tapestry
// tokenize`.

/// What to tokenize, and how.
struct TokenizeOptions {
    std::vector<std::string> texts;  ///< files and directories
    TextFileOptions files = {};      ///< which files of the directories
    std::string field = "text";      ///< field of a line of JSON that holds its text
    /// "chars": the characters that occur. "bpe": byte pairs, learned from the texts. Any other
    /// value is the directory of a model or of data whose tokenizer is used, or a tokenizer.json.
    std::string tokenizer = "chars";
    std::int64_t vocab = 4096;           ///< for "bpe": number of tokens, including the 256 bytes
    std::uint64_t sample = 100'000'000;  ///< for "bpe": bytes of text to learn from
    /// Called when a pass over the files starts, with its purpose: "counting", "encoding". May be
    /// empty. `progress` is also called while pairs are learned after "counting".
    std::function<void(const std::string& purpose)> begun = {};
    /// DocumentOptions::progress. An exception that it throws cancels the work, and leaves nothing
    /// behind.
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

/// Summary of the files written.
struct TokenizedFiles {
    EncodedDocuments encoded = {};  ///< ids and documents written
    double bytes = 0;               ///< size of the files
    double seconds = 0;             ///< time spent encoding
    std::string unit = {};          ///< "character" or "token"
    std::int64_t vocab = 0;         ///< of the tokenizer
    std::string kind = {};          ///< the tokenizer's
    std::int64_t wanted = 0;        ///< tokens that byte pairs were to have; 0 if none were learned
    double cut_share = 0;           ///< WordCounts::cut_share() of the text learned from
    std::int64_t sampling = 1;      ///< WordCounts::sampling() of it
};

/// Writes the data into the directory `out`, which it locks. Throws IoError if it has data already,
/// BusyError while another process writes into it, and if the
/// tokenizer's directory has none; as text_files, DocumentReader, train_byte_pairs and write_data
/// do.
TokenizedFiles tokenize_files(const std::string& out, const TokenizeOptions& options);

/// "2 documents, 1.3 MB: 1300000 characters, 65 different", and why byte pairs have fewer tokens
/// than wanted
std::string to_text(const TokenizedFiles& files);

}  // namespace tapestry
