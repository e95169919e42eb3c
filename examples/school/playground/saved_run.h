// A training as the directory that `tapestry train` keeps (docs/checkpoints.md), so that either
// goes on with what the other has begun; under TAPESTRY_ISA=baseline to the same bits. Read next:
// nn/train/run_directory.h.
#pragma once

#include <tapestry/nn/train/run_state.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tapestry::examples {

/// How a run went, besides what its session knows.
struct RunSoFar {
    RunState state = {};
    std::vector<StepMetrics> steps = {};
};

/// What `tapestry train --resume --out DIRECTORY` goes on with, but for the text; what was in the
/// directory is gone. Throws IoError.
void save_run(Session& session, const RunSoFar& run, const std::filesystem::path& directory);

struct OpenedRun {
    std::unique_ptr<Session> session;
    RunSoFar run = {};
    std::filesystem::path directory = {};
    std::vector<std::string> differs = {};  ///< "isa", "version": the steps' bits will, too
};

/// Where the latest checkpoint left it. `text` is the file it learns from, wherever that was.
/// Throws IoError where there is no checkpoint, and as RunDirectory::resume does.
OpenedRun open_run(const std::filesystem::path& directory, const std::string& text);

}  // namespace tapestry::examples
