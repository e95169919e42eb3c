// docs/ops.md: every public function, generated from the public headers, the phrasebook and the
// catalogue.
#pragma once

#include <tapestry/tests/ops/phrasebook.h>
#include <tapestry/tests/ops/public_header.h>

#include <filesystem>
#include <string>

namespace tapestry::test {

/// The headers that docs/ops.md shows, in its order.
Lines headers_of_ops_page(const std::filesystem::path& root);

/// The text of docs/ops.md for the tree at `root`.
std::string ops_page(const std::filesystem::path& root, const Phrasebook& phrasebook);

}  // namespace tapestry::test
