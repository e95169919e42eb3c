#include <tapestry/nn/train/fork.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/read_metrics.h>

#include <utility>

namespace tapestry {
namespace {

// The run until the step, and a segment of its own for what follows.
EarlierRun earlier_run(const RunHistory& history, std::int64_t step, const ResumedConfig& next) {
    EarlierRun earlier{.step = step};
    if (step > 0) {
        earlier.lines = read_saved(history.directory(), [step](const SavedFiles& files) {
            return lines_of_steps(files.path(kMetricsName), step);
        });
        earlier.steps.assign(history.steps().begin(), history.steps().begin() + step);
        earlier.state.segments = history.state().segments;
        std::erase_if(earlier.state.segments,
                      [step](const RunSegment& segment) { return segment.first_step > step; });
        earlier.state.seconds = earlier.steps.back().seconds;
    }
    earlier.state.segments.push_back({step + 1, to_json(next.config), next.overridden});
    return earlier;
}

}  // namespace

Fork fork_after(const RunHistory& history, const Rewinder& rewinder, std::int64_t step,
                ResumeOptions changes, const TextCache* cache) {
    if (step != 0) history.step(step, "fork: step");
    changes.overrides = changes.given;
    CheckpointInfo now;
    now.config = to_json(history.config_of(history.segment_of(step + 1)));
    now.version = version();
    now.isa = name_of(current_isa());
    const ResumedConfig next = resumed_config(now, history.directory().native(), changes);
    require(next.config.steps > step,
            "fork: of {} steps none is left after step {}; --steps asks for more",
            next.config.steps, step);
    Fork fork{.session = rewinder.session_before(step + 1),
              .earlier = earlier_run(history, step, next),
              .changed = next.overridden};
    fork.session = fork.session->continued(next.config, load_tokenizer(history.directory()), cache);
    fork.session->set_seconds_before(fork.earlier.state.seconds);
    return fork;
}

}  // namespace tapestry
