// Fuzzing a library that may write anywhere, on a machine that is still needed. Read next: world.h.
#pragma once

#include <filesystem>
#include <vector>

namespace tapestry::fuzz {

/// From now on this process and its children write below these directories only, and the kernel
/// (Landlock, Linux 5.13) refuses the rest. False where it cannot.
bool confine_writing(const std::vector<std::filesystem::path>& directories);

}  // namespace tapestry::fuzz
