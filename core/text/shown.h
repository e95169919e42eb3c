// Paths in messages.
#pragma once

#include <tapestry/core/text/utf8.h>

#include <filesystem>
#include <string>

namespace tapestry {

/// How messages show a path: between single quotes, made printable, cut after 300 characters.
inline std::string shown(const std::filesystem::path& path) {
    return utf8::quoted(path.native(), 300);
}

}  // namespace tapestry
