#include <tapestry/examples/cli/train_run.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/distributed/mpi.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/metrics_file.h>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace tapestry::cli {
namespace {

// ---- one process

// Waits for space on the disk; false once the user has given up, or after `left` seconds, from
// which it takes its own.
bool wait_to_retry(const SaveProblem& problem, double& left) {
    if (!problem.disk_is_full || interrupted() || left <= 0) return false;
    const double seconds = std::min(5.0, left);
    left -= seconds;
    warn(fmt::format("{}; retrying in {:.3g} s (Ctrl-C gives up and keeps the last checkpoint)",
                     problem.message, seconds));
    for (int i = 0; i < 10 * seconds && !interrupted(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return !interrupted();
}

void call_back(TrainingRunOptions& options, TrainingProgress& progress, double wait_for_disk) {
    options.stepped = [&progress](const StepMetrics& metrics, const Speed& speed) {
        progress.show(metrics, speed);
        return !interrupted();
    };
    options.warn = [&progress](const std::string& message) {
        progress.finish();
        warn(message);
    };
    options.retry = [&progress, left = wait_for_disk](const SaveProblem& problem) mutable {
        progress.finish();
        return wait_to_retry(problem, left);
    };
}

void announce(Session& session, bool show_samples) {
    say(description_of(session));
    const std::string example = session.task().example_text();
    if (!example.empty() && session.steps() == 0) {
        say(example);
        if (!show_samples) {
            say("before training: validation loss " + fixed_text(session.evaluate()) + "\n");
        }
    }
    if (!show_samples) return;
    say("\nbefore training: validation loss " + fixed_text(session.evaluate()) + "; it writes\n");
    say_sample(session.sample(300) + "\n\n");
}

int run_begun(TrainSettings& s, BegunRun& begun) {
    Session& session = *begun.session;
    if (!begun.directory->is_locked()) {
        warn(s.run.out +
             ": the file system has no locks, so a second run in the same directory is not "
             "prevented");
    }
    if (session.is_finished()) {
        begun.directory->put_in_order();
        say(fmt::format("nothing to do: all {} steps are done\n", session.steps()));
        return kSuccess;
    }
    TrainingProgress progress(session.config().steps, progress_output(), session.task().unit());
    progress.limit(60 * session.config().minutes);
    call_back(s.options, progress, s.wait_for_disk);
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
    if (!result.interrupted) {
        session.module().eval();
        say(session.task().closing_text());
    }
    say(to_text(result, s.run.out));
    return result.interrupted ? kInterrupted : kSuccess;
}

// ---- several processes: process 0 trains as a single process does, the others follow

// The others wait for process 0 between steps, so these errors reach them there.
int lead_others(TrainSettings& s, BegunRun& begun) {
    try {
        const int code = run_begun(s, begun);
        say(processes_text(begun.session->accounts(), begun.session->task().unit()));
        begun.shared->dismiss();
        return code;
    } catch (const DivergedError&) {
        begun.shared->dismiss();
        throw;
    } catch (const IoError& error) {
        begun.shared->dismiss();
        throw AgreedError(error.what());
    }
}

int run_process(TrainSettings& s, Communicator& processes, const TextCache* cache) {
    require<AgreedError>(!s.options.trap_nan,
                         "--trap-nan records the steps of one process; train without mpirun");
    BegunRun begun =
        begin_shared_run(processes, s.run, cache, [](const std::string& text) { say(text); });
    if (processes.rank() == 0) return lead_others(s, begun);
    catch_interrupts();  // process 0 handles them
    begun.shared->follow();
    return kSuccess;
}

// Process 0 reports an error that all processes share, with its exit code: if another process
// failed first, mpirun would kill process 0 before it could print. An error in only one process
// aborts the others, which would wait for it forever.
int run_together(TrainSettings& s, Communicator& processes, const TextCache* cache) {
    const bool leads = processes.rank() == 0;
    try {
        return run_process(s, processes, cache);
    } catch (const AgreedError&) {
        if (leads) throw;
        return kSuccess;
    } catch (const DivergedError&) {
        if (leads) throw;
        return kSuccess;
    } catch (const std::exception& error) {
        warn(fmt::format("process {} on {}: {}", processes.rank(), processes.host(), error.what()));
        abort_processes(kFailure);
        return kFailure;
    }
}

}  // namespace

int run_training(TrainSettings s) {
    if (!has_mpi() && launched_rank() > 0) return kSuccess;  // process 0 prints the reason
    const std::unique_ptr<Communicator> processes = join_processes();
    processes->set_timeout(s.timeout);
    set_num_threads(s.threads);
    set_planning(s.plan || planning_enabled());
    const auto cache = text_cache(s.no_cache);
    if (processes->size() > 1) return run_together(s, *processes, cache.get());
    BegunRun begun = begin_run(s.run, cache.get(), [](const std::string& text) { say(text); });
    return run_begun(s, begun);
}

}  // namespace tapestry::cli
