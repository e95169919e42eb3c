// What lies in a directory. Read next: file.h.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tapestry {

/// The names in a directory, but "." and "..", in no order; as many as can be read, and why no
/// more, if there was a reason. (std::filesystem's iterators, and so its remove_all(), end the
/// process where there is no memory for the next path.)
std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& error);

/// Whatever the reason: none where there is no such directory.
std::vector<std::string> names_in(const std::filesystem::path& directory);

/// Whether there is anything of this name. Throws IoError where that cannot be told: to do as if
/// there were nothing may cost what is there.
bool is_there(const std::filesystem::path& path);

/// Removes a file, a link, or a directory with all that is in it. What cannot be removed stays.
void remove_tree(const std::filesystem::path& path);

}  // namespace tapestry
