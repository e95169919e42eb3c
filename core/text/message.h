// Parts of messages: a count with its noun, and paths.
#pragma once

#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tapestry {

/// "1 thread", "2 threads".
inline std::string pluralize(std::int64_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// A path for messages: between single quotes, made printable, cut after 300 characters.
inline std::string shown(const std::filesystem::path& path) {
    return utf8::quoted(path.native(), 300);
}

}  // namespace tapestry
