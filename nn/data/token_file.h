// Token ids from a file, for models whose tokenizer is not at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// The whole numbers in a file, separated by white space. Throws IoError for what is no number, an
/// id outside a vocabulary of `vocab`, with its position counted from 0, or fewer than two of them.
std::vector<std::int64_t> read_token_file(const std::string& path, std::int64_t vocab);

}  // namespace tapestry
