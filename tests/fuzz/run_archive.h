// One run of the fuzzer. Read next: directory_fuzzer.cpp.
#pragma once

#include <tapestry/tests/fuzz/archive.h>
#include <tapestry/tests/fuzz/world.h>

#include <string>

namespace tapestry::fuzz {

/// Unpacks the archive, calls the readers and the writer that it names, and looks after each of the
/// two parts at what must not have changed. What was found, or "". Does not return from a call that
/// crashes.
std::string run_archive(const World& world, const Archive& archive);

}  // namespace tapestry::fuzz
