#include <tapestry/nn/train/run_directory.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/io/data_directory.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::array kPurposes{CheckpointPurpose::resume, CheckpointPurpose::rewind};

const char* folder_of(CheckpointPurpose purpose) {
    return purpose == CheckpointPurpose::resume ? kCheckpointsFolder : kRewindFolder;
}

// The checkpoint of this name; nothing for another's.
std::optional<StoredCheckpoint> checkpoint_of(const std::string& name) {
    const auto parts = saved_name(name);
    if (!parts || !parts->is_state()) return std::nullopt;
    const bool resumes = parts->folder == kCheckpointsFolder;
    return StoredCheckpoint{*step_of_state(parts->file),
                            resumes ? CheckpointPurpose::resume : CheckpointPurpose::rewind};
}

fs::path made(const fs::path& path) {
    check_holds_no_data(path);
    make_directories(path);
    return path;
}

// The names in the folders of states: "checkpoints/step-00000250.safetensors".
std::vector<std::string> names_of_states(const fs::path& directory) {
    std::vector<std::string> names;
    for (const CheckpointPurpose purpose : kPurposes) {
        const std::string folder = folder_of(purpose);
        for (const std::string& file : names_in(directory / folder)) {
            names.push_back(fmt::format("{}/{}", folder, file));
        }
    }
    return names;
}

bool is_checkpoint(const fs::path& path) {
    try {
        checkpoint_info(path);
        return true;
    } catch (const IoError&) {
        return false;
    }
}

// Those that the manifest lists, or, where somebody has removed it, those that are there.
std::vector<StoredCheckpoint> all_stored(const SavedFiles& files) {
    std::vector<StoredCheckpoint> stored;
    if (files.manifest()) {
        for (const auto& [name, digest] : files.manifest()->files) {
            if (const auto one = checkpoint_of(name)) stored.push_back(*one);
        }
        return stored;
    }
    for (const std::string& name : names_of_states(files.directory())) {
        const auto one = checkpoint_of(name);
        if (one && is_checkpoint(files.path(name))) stored.push_back(*one);
    }
    return stored;
}

}  // namespace

std::string StoredCheckpoint::name() const {
    return fmt::format("{}/{}", folder_of(purpose), state_file(step));
}

std::vector<StoredCheckpoint> stored_checkpoints(const SavedFiles& files) {
    std::vector<StoredCheckpoint> stored = all_stored(files);
    std::sort(stored.begin(), stored.end(),
              [](const auto& a, const auto& b) { return a.step < b.step; });
    return stored;
}

std::vector<StoredCheckpoint> stored_checkpoints(const fs::path& directory) {
    return stored_checkpoints(SavedFiles(directory));
}

RunDirectory::RunDirectory(fs::path path) : path_(made(path)), lock_(path_) {}

void RunDirectory::put_in_order() const { settle(path_); }

std::vector<std::string> RunDirectory::foreign() const {
    const SavedFiles files(path_);
    const auto& manifest = files.manifest();
    std::set<std::string> ours{resumed_from_};
    if (manifest) {
        for (const StoredCheckpoint& one : stored_checkpoints(files)) ours.insert(one.name());
    }
    std::vector<std::string> others;
    for (const std::string& name : names_of_states(path_)) {
        const bool is_removed = manifest && manifest->removed.contains(name);
        if (!ours.contains(name) && !is_removed) others.push_back(name);
    }
    std::sort(others.begin(), others.end());
    return others;
}

std::unique_ptr<Session> RunDirectory::resume(const ResumeOptions& options,
                                              const TextCache* cache) {
    const SavedFiles files(path_);
    const std::vector<StoredCheckpoint> stored = stored_checkpoints(files);
    if (stored.empty()) return nullptr;
    const std::string name = stored.back().name();
    files.check({name});
    const fs::path state_path = files.path(name);
    auto session = Session::resume(state_path, options, load_tokenizer(path_), cache);
    RunState state = run_state_from_json(checkpoint_info(state_path).run, shown(state_path));
    if (!session->overridden().empty()) {
        state.segments.push_back(
            {session->steps() + 1, to_json(session->config()), session->overridden()});
    }
    session->set_seconds_before(state.seconds);
    resumed_ = std::move(state);
    resumed_from_ = name;
    return session;
}

}  // namespace tapestry
