#include <tapestry/nn/train/run_directory.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/train/metrics_file.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

fs::path made(const fs::path& path) {
    check_holds_no_data(path);
    make_directories(path);
    return path;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(made(path)), lock_(path_) {
    check_holds_no_data(path_);  // a tokenization may have ended before the lock
}

void RunDirectory::put_in_order() const { settle(path_); }

std::vector<std::string> RunDirectory::foreign() const {
    const SavedFiles files(path_);
    const auto& manifest = files.manifest();
    std::set<std::string> ours{resumed_from_};
    if (manifest) {
        for (const StoredCheckpoint& one : stored_checkpoints(files)) ours.insert(one.name());
    }
    std::vector<std::string> others;
    for (const std::string& name : checkpoint_files(path_)) {
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
    auto session = Session::resume(state_path, options, {.directory = path_, .cache = cache});
    const CheckpointInfo info = checkpoint_info(state_path);
    RunState state = run_state_from_json(info.run, shown(state_path));
    check_time_left(info, state, session->config(), shown(state_path));
    if (!session->overridden().empty()) {
        state.segments.push_back(
            {session->steps() + 1, to_json(session->config()), session->overridden()});
    }
    session->set_seconds_before(state.seconds);
    resumed_ = std::move(state);
    resumed_from_ = name;
    return session;
}

RunHistory::RunHistory(std::filesystem::path directory) : directory_(std::move(directory)) {
    latest_ = read_saved(directory_, [this](const SavedFiles& files) {
        const std::vector<StoredCheckpoint> stored = stored_checkpoints(files);
        require<IoError>(!stored.empty(),
                         "{}: contains no checkpoint of a run; `tapestry train` writes them unless "
                         "--checkpoint-every is 0",
                         shown(directory_));
        files.check({stored.back().name()});
        return checkpoint_info(files.path(stored.back().name()));
    });
    state_ = run_state_from_json(latest_.run, shown(directory_));
    require<IoError>(!state_.segments.empty(), "{}: its checkpoint has no configuration",
                     shown(directory_));
    const TrainingConfig config = config_of(state_.segments.size() - 1);
    steps_ = read_saved(directory_, [&config](const SavedFiles& files) {
        return read_steps(files.path(kMetricsName), config.tokens_per_step());
    });
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        require<IoError>(steps_[i].step == static_cast<std::int64_t>(i) + 1,
                         "{}: found step {} instead of step {}", shown(directory_ / kMetricsName),
                         steps_[i].step, i + 1);
    }
}

const StepMetrics& RunHistory::step(std::int64_t number, std::string_view what) const {
    require(number >= 1 && number <= last_step(), "{} {}: {} has steps 1 to {}", what, number,
            shown(directory_), last_step());
    return steps_[static_cast<std::size_t>(number - 1)];
}

std::size_t RunHistory::segment_of(std::int64_t step) const {
    const auto& all = state_.segments;
    const auto after = std::find_if(all.begin() + 1, all.end(), [step](const RunSegment& segment) {
        return segment.first_step > step;
    });
    return static_cast<std::size_t>(after - all.begin()) - 1;
}

// The latest checkpoint's configuration is that of the last segment, except for the path of its
// data, which may have been moved since.
TrainingConfig RunHistory::config_of(std::size_t segment) const {
    TrainingConfig latest = training_config_from_json(latest_.config, shown(directory_));
    if (segment + 1 == state_.segments.size()) return latest;
    TrainingConfig config =
        training_config_from_json(state_.segments[segment].config, shown(directory_));
    const bool needs_base = config.frozen_weights == WeightType::int8;
    if (needs_base && config.start_hash == latest.start_hash &&
        (is_there(latest.start) || is_there(latest.start_place))) {
        config.start = std::move(latest.start);
        config.start_place = std::move(latest.start_place);
    }
    return config;
}

}  // namespace tapestry
