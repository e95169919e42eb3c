// The fuzzer's input: a small archive of a directory, and which calls to make on it. Headers are
// text, so a mutated archive still decodes:
//
//     run 3f 1 2                      readers (hexadecimal mask), writer, step
//     file 644 17 D/config.json       kind, mode (octal), length, path ("%20" for a space)
//     {"context": 8, ...              the contents, then a line end
//     link 0 18 D/best                the contents are the target
//     ../outside/private
//
// Paths are relative to D's parent. Read next: world.h, which unpacks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::fuzz {

enum class EntryKind { file, link, hard_link, fifo, directory };

struct Entry {
    EntryKind kind = EntryKind::file;
    std::string path = {};
    unsigned mode = 0644;
    std::string contents = {};  ///< of a file; the target of a link
};

struct Archive {
    std::uint32_t readers = ~std::uint32_t{0};  ///< one bit per entry of readers()
    std::uint32_t writer = 0;                   ///< index into writers(); 0: none
    std::uint32_t step = 1;                     ///< for calls that take a step
    std::vector<Entry> entries = {};
};

inline constexpr std::size_t kMaxEntries = 64;
inline constexpr std::size_t kMaxContents = std::size_t{1} << 18;
inline constexpr std::size_t kMaxPath = 400;

/// Never fails: skips lines that are not headers and truncates what is too long.
Archive decode(std::string_view bytes);

/// decode(encode(archive)) is the archive, within the limits above.
std::string encode(const Archive& archive);

}  // namespace tapestry::fuzz
