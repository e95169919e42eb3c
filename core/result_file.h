// Writes a result to a file that the user named (a page, a picture): a mistaken name must not cost
// a model or a text.
#pragma once

#include <filesystem>
#include <string_view>

namespace tapestry {

/// Writes as write_file_atomically does, but replaces only an empty file or an earlier result of
/// the same kind: one with the same first 14 bytes ("<!doctype html"). Throws IoError, leaving any
/// other file as it is.
void write_result(const std::filesystem::path& path, std::string_view contents);

}  // namespace tapestry
