// Keeps the machine safe from a library that may write anywhere. Read next: world.h.
#pragma once

#include <filesystem>
#include <vector>

namespace tapestry::fuzz {

/// Restricts this process and its children to writing below these directories, by Landlock. Returns
/// false if the kernel does not support it (Linux before 5.19).
bool confine_writing(const std::vector<std::filesystem::path>& directories);

}  // namespace tapestry::fuzz
