// What a run calls on the directory: all that a command of `tapestry` reads a directory with, and
// what writes into one. Anything but a tapestry::Error out of a call is a finding.
// Read next: run_archive.h.
#pragma once

#include <tapestry/nn/train/training_config.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace tapestry::fuzz {

struct Place {
    std::string directory = {};  ///< as the command line would name it
    std::string text = {};       ///< a text to learn from
    std::string out = {};        ///< an empty directory elsewhere
    std::int64_t step = 1;
};

struct Call {
    const char* name;
    void (*run)(const Place&);
    bool writes = false;  ///< into place.directory; otherwise that has to stay what it is
    bool keeps_foreign_files = true;
};

std::span<const Call> readers();
/// The first is nothing.
std::span<const Call> writers();

/// Whether the arithmetic that a configuration from a file asks for takes no longer than a moment.
bool is_small(const TrainingConfig& config);

/// The configuration of the latest checkpoint is small; true if there is none.
bool continues_small(const std::filesystem::path& directory);

}  // namespace tapestry::fuzz
