// Texts in files to data for a training, with a tokenizer that is made from them or at hand: what
// `tapestry tokenize` does. Read next: data_directory.h, what is written; nn/data/documents.h, what
// is read.
#pragma once

#include <tapestry/nn/data/encode_documents.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tapestry {

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
