#include <tapestry/nn/train/run_history.h>

#include <tapestry/core/text/shown.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/read_metrics.h>

#include <algorithm>
#include <utility>

namespace tapestry {

RunHistory::RunHistory(std::filesystem::path directory) : directory_(std::move(directory)) {
    latest_ = read_saved(directory_, [this](const SavedFiles& files) {
        const std::vector<StoredCheckpoint> stored = stored_checkpoints(files);
        require<IoError>(!stored.empty(),
                         "{}: no checkpoint of a run is in it; `tapestry train` writes them unless "
                         "--checkpoint-every 0 says otherwise",
                         shown(directory_));
        files.check({stored.back().name()});
        return checkpoint_info(files.path(stored.back().name()));
    });
    state_ = run_state_from_json(latest_.run, shown(directory_));
    require<IoError>(!state_.segments.empty(), "{}: its checkpoint knows no configuration",
                     shown(directory_));
    const TrainingConfig config = config_of(state_.segments.size() - 1);
    steps_ = read_saved(directory_, [&config](const SavedFiles& files) {
        return read_steps(files.path(kMetricsName), config.tokens_per_step());
    });
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        require<IoError>(steps_[i].step == static_cast<std::int64_t>(i) + 1,
                         "{}: step {} stands where step {} should",
                         shown(directory_ / kMetricsName), steps_[i].step, i + 1);
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

// That of the latest checkpoint is what the last segment began with, but for the place of its data,
// which may have been moved since.
TrainingConfig RunHistory::config_of(std::size_t segment) const {
    const bool last = segment + 1 == state_.segments.size();
    return training_config_from_json(last ? latest_.config : state_.segments[segment].config,
                                     shown(directory_));
}

}  // namespace tapestry
