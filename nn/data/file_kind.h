// The kind of a file that was given as text or weights, from its first bytes: error messages name
// it and the command that helps. Internal to nn.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapestry {

/// As many bytes of a file as kind_of_file() looks at.
inline constexpr std::size_t kKindBytes = 4096;

/// What the file is, with the command that helps: "a gzip archive (gunzip unpacks it)". Empty if
/// that is unknown or, under `may_be_text`, if a text might begin so.
std::string_view kind_of_file(std::string_view beginning, bool may_be_text);

/// The encoding of text that is not UTF-8 although its bytes may be valid as such: "UTF-16LE",
/// "UTF-32BE", "ISO-2022-JP"; "UTF-16" and "UTF-32" with a byte order mark. Empty if there is no
/// sign of one.
std::string_view encoding_of(std::string_view beginning);

/// The first bytes of a file; empty if it cannot be read.
std::string beginning_of(const std::filesystem::path& path);

}  // namespace tapestry
