// The calls of a run: everything that reads a directory on behalf of a command, and everything that
// writes into one. A call may throw a tapestry::Error; any other exception is a finding.
// Read next: run_archive.cpp.
#pragma once

#include <tapestry/nn/train/training_config.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace tapestry::fuzz {

struct Place {
    std::string directory = {};  ///< as given on the command line
    std::string text = {};       ///< a text to train on
    std::string out = {};        ///< an empty directory elsewhere
    std::int64_t step = 1;
};

struct Call {
    const char* name = nullptr;
    void (*run)(const Place&) = nullptr;
    bool writes = false;       ///< into place.directory, which must otherwise not change
    bool keeps_files = false;  ///< all of them, but for a lock, although it may write
    bool slow = false;         ///< takes more than ten milliseconds on a run
};

/// All of them: one bit of Archive::readers each, so at most 32, and new ones at the end.
std::span<const Call> readers();
/// Those of examples, and of models of any task: the last of readers().
std::span<const Call> example_readers();
/// Archive::readers of those that are not slow.
std::uint32_t quick_readers();
/// The first does nothing.
std::span<const Call> writers();

/// Whether a step under this configuration takes milliseconds; configurations come from files.
bool is_small(const TrainingConfig& config);

/// Whether the latest checkpoint's configuration is small; true if there is none.
bool continues_small(const std::filesystem::path& directory);

}  // namespace tapestry::fuzz
