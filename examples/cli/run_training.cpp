#include <tapestry/examples/cli/run_training.h>

#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/examples/cli/run_together.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/distributed/mpi.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/metrics_file.h>

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace tapestry::cli {
namespace {

// Waits for room on the disk; false once the user has had enough.
bool wait_to_retry(const SaveProblem& problem) {
    if (!problem.disk_is_full || interrupted()) return false;
    warn(problem.message + "; trying again in 5 s (Ctrl-C gives up, the last checkpoint stays)");
    for (int i = 0; i < 50 && !interrupted(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return !interrupted();
}

void call_back(TrainingRunOptions& options, TrainingProgress& progress) {
    options.stepped = [&progress](const StepMetrics& metrics, const Speed& speed) {
        progress.show(metrics, speed);
        return !interrupted();
    };
    options.warn = [&progress](const std::string& message) {
        progress.finish();
        warn(message);
    };
    options.retry = [&progress](const SaveProblem& problem) {
        progress.finish();
        return wait_to_retry(problem);
    };
}

void announce(Session& session, bool show_samples) {
    say(description_of(session));
    if (!show_samples) return;
    say(fmt::format("\nbefore training: validation loss {:.4f}; it writes\n", session.evaluate()));
    say_sample(session.sample(300) + "\n\n");
}

int run_begun(TrainSettings& s, BegunRun& begun) {
    Session& session = *begun.session;
    if (!begun.directory->is_locked()) {
        warn(s.run.out + ": the file system knows no locks; nothing keeps a second training out");
    }
    if (session.is_finished()) {
        begun.directory->put_in_order();
        say(fmt::format("nothing to do: all {} steps were taken\n", session.steps()));
        return kSuccess;
    }
    TrainingProgress progress(session.config().steps, progress_output());
    call_back(s.options, progress);
    s.options.earlier = std::move(begun.earlier);
    TrainingRun run(session, *begun.directory, std::move(s.options));
    announce(session, s.show_samples);
    catch_interrupts();
    catch_lost_reader();
    const TrainingResult result = run.to_the_end();
    progress.finish();
    if (s.show_samples && !result.interrupted) {
        say("\nafter training: it writes\n");
        say_sample(session.sample(300) + "\n\n");
    }
    say(to_text(result, s.run.out));
    return result.interrupted ? kInterrupted : kSuccess;
}

}  // namespace

int run_training(TrainSettings s) {
    if (!has_mpi() && launched_rank() > 0) return kSuccess;  // process 0 says why not
    const std::unique_ptr<Communicator> processes = join_processes();
    processes->set_timeout(s.timeout);
    set_num_threads(s.threads);
    set_planning(s.plan || planning_enabled());
    const auto cache = text_cache(s.no_cache);
    if (processes->size() > 1) return run_together(s, *processes, cache.get(), run_begun);
    BegunRun begun = begin_run(s.run, cache.get(), [](const std::string& text) { say(text); });
    return run_begun(s, begun);
}

}  // namespace tapestry::cli
