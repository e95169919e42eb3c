// What lies in a directory. Read next: file.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

/// The names in a directory, but "." and "..", in no order; as many as can be read, none where
/// there is no such directory. (std::filesystem's iterators end the process where there is no
/// memory for the next path.)
std::vector<std::string> names_in(const std::filesystem::path& directory);

}  // namespace tapestry
