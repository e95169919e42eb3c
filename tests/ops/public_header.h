// A public header as data: its introduction, its remarks, and its declarations with their
// docstrings. Headers are formatted by clang-format and documented as CONTRIBUTING.md requires, so
// a line-based reader suffices.
//
// Read next: ops_page.h, which turns it into docs/ops.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapestry::test {

using Lines = std::vector<std::string>;

struct Declaration {
    std::string name;  ///< "exp", "operator+", "CrossEntropyOptions"
    std::string code;  ///< "Tensor exp(const Tensor& x);", or a type without its private part
};

/// Adjacent declarations, without an empty line between them, under one docstring; or, without
/// declarations, a remark.
struct Entry {
    std::vector<Declaration> declarations;
    Lines text;  ///< the docstring's lines, or the remark's

    Lines names() const;  ///< of the declarations, overloads once
};

struct PublicHeader {
    std::string path;  ///< "ops/loss.h"
    Lines opening;
    std::vector<Entry> entries;
};

/// Throws std::runtime_error for a declaration without an end.
PublicHeader read_public_header(const std::filesystem::path& root, const std::string& path);

/// The public headers of ops/, as "ops/loss.h", in order: those not "Internal to" some room.
Lines public_op_headers(const std::filesystem::path& root);

Lines lines_of(const std::filesystem::path& file);

}  // namespace tapestry::test
