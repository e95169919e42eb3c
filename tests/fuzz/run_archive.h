// One run of the fuzzer. Read next: directory_fuzzer.cpp.
#pragma once

#include <tapestry/tests/fuzz/archive.h>
#include <tapestry/tests/fuzz/world.h>

#include <string>

namespace tapestry::fuzz {

/// Unpacks the archive, makes its calls, and compares everything that they must not change: first
/// after the readers, then after the writer. Returns the finding, or "".
std::string run_archive(const World& world, const Archive& archive);

}  // namespace tapestry::fuzz
