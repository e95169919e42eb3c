#include <tapestry/nn/train/run_directory.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/nn/io/manifest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::array kPurposes{CheckpointPurpose::resume, CheckpointPurpose::rewind};
constexpr std::string_view kSuffix = ".safetensors";

const char* folder_of(CheckpointPurpose purpose) {
    return purpose == CheckpointPurpose::resume ? "checkpoints" : "rewind";
}

std::string prefix_of(CheckpointPurpose purpose) {
    return fmt::format("{}/step-", folder_of(purpose));
}

// The checkpoint of this name; nothing for another's.
std::optional<StoredCheckpoint> checkpoint_of(std::string_view name) {
    for (const CheckpointPurpose purpose : kPurposes) {
        const std::string prefix = prefix_of(purpose);
        if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
        const char* end = name.data() + name.size() - kSuffix.size();
        std::int64_t step = 0;
        const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
        if (error == std::errc{} && stop == end) return StoredCheckpoint{step, purpose};
    }
    return std::nullopt;
}

fs::path made(const fs::path& path) {
    make_directories(path);
    return path;
}

// Checkpoints of a commit that never came, or of one whose successor meant to remove them.
void remove_unlisted(const fs::path& directory) {
    const Manifest manifest = read_manifest(directory).value_or(Manifest{});
    std::error_code ignored;
    for (const CheckpointPurpose purpose : kPurposes) {
        const std::string folder = folder_of(purpose);
        for (const std::string& file : names_in(directory / folder)) {
            const std::string name = fmt::format("{}/{}", folder, file);
            if (checkpoint_of(name) && !manifest.files.contains(name)) {
                fs::remove(directory / name, ignored);
            }
        }
        remove_stale_temporaries(directory / folder);
    }
}

}  // namespace

std::string StoredCheckpoint::name() const {
    return fmt::format("{}{:08}{}", prefix_of(purpose), step, kSuffix);
}

std::vector<StoredCheckpoint> stored_checkpoints(const fs::path& directory) {
    std::vector<StoredCheckpoint> stored;
    for (const auto& [name, digest] : read_manifest(directory).value_or(Manifest{}).files) {
        if (const auto one = checkpoint_of(name)) stored.push_back(*one);
    }
    std::sort(stored.begin(), stored.end(),
              [](const auto& a, const auto& b) { return a.step < b.step; });
    return stored;
}

RunDirectory::RunDirectory(fs::path path) : path_(made(path)), lock_(path_) {
    settle(path_);
    remove_unlisted(path_);
    remove_stale_temporaries(path_);
}

std::unique_ptr<Session> RunDirectory::resume(const ResumeOptions& options,
                                              const TextCache* cache) {
    const std::vector<StoredCheckpoint> stored = stored_checkpoints(path_);
    if (stored.empty()) return nullptr;
    const std::string name = stored.back().name();
    check_files(path_, {name});
    auto session = Session::resume(path_ / name, options, load_tokenizer(path_), cache);
    RunState state = run_state_from_json(checkpoint_info(path_ / name).run, shown(path_ / name));
    if (!session->overridden().empty()) {
        state.segments.push_back(
            {session->steps() + 1, to_json(session->config()), session->overridden()});
    }
    session->set_seconds_before(state.seconds);
    resumed_ = std::move(state);
    return session;
}

}  // namespace tapestry
