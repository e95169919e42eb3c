#include <tapestry/examples/school/playground/saved_run.h>

#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/read_metrics.h>
#include <tapestry/nn/train/run_directory.h>

namespace tapestry::examples {

void save_run(Session& session, const RunSoFar& run, const std::filesystem::path& directory) {
    std::filesystem::remove_all(directory);
    const RunDirectory locked(directory);
    MetricsFile metrics(directory);
    const auto tokens = static_cast<double>(session.config().tokens_per_step());
    for (const StepMetrics& m : run.steps) {
        metrics.write(metrics_line(m, tokens / m.step_seconds));
    }
    CheckpointWriter writer(locked, session, metrics);
    writer.start(run.state, {.at_once = true});
    writer.wait();
    require<IoError>(!writer.problem(), "{}", writer.problem().message);
}

OpenedRun open_run(const std::filesystem::path& directory, const std::string& text) {
    RunDirectory locked(directory);
    OpenedRun opened{
        .session = locked.resume(
            {.wanted = {.text = text}, .given = {"text"}, .overrides = {"isa", "version"}})};
    require<IoError>(opened.session != nullptr, "{}: there is no checkpoint in it to go on from",
                     directory.string());
    opened.differs = opened.session->overridden();
    opened.run.state = *locked.resumed();
    if (opened.session->steps() > 0) {
        opened.run.steps =
            read_steps(directory / kMetricsName, opened.session->config().tokens_per_step());
    }
    return opened;
}

}  // namespace tapestry::examples
