// Texts that were tokenised before, kept for the next training on them. A text is known by its
// bytes, not by its name: one that was changed is another. Read next: data_directory.h, what an
// entry is.
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

    /// Texts below this are tokenised in no more time than a look at the disk takes, and not kept.
    static constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
};

/// The user's: ${XDG_CACHE_HOME:-~/.cache}/tapestry; nothing where neither variable says where.
std::optional<std::filesystem::path> user_cache_directory();

/// The text in a file as ids, with memory for a piece of it: of the tokenizer, or, if that is null,
/// of its characters. The ids are a file in `cache`; where there is no cache, or it cannot be
/// written, in memory for a short text and in a temporary file without a name for others. Throws
/// IoError and ValueError as DocumentReader and encode_documents do.
TokenData tokenize_text(const std::filesystem::path& text, std::unique_ptr<Tokenizer> tokenizer,
                        const TextCache* cache = nullptr);

}  // namespace tapestry
