// Texts that were tokenized before, kept for the next training on them. A text is known by its
// bytes, not by its name: one that was changed is another. Read next: tokenize_text.h, which asks;
// data_directory.h, what an entry is.
#pragma once

#include <tapestry/nn/io/data_directory.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tapestry {

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

}  // namespace tapestry
