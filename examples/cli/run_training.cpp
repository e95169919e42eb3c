#include <tapestry/examples/cli/run_training.h>

#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/announce.h>
#include <tapestry/examples/cli/begin_run.h>
#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/progress.h>
#include <tapestry/examples/cli/text_cache.h>
#include <tapestry/examples/options/options.h>

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace tapestry::cli {
namespace {

void conclude(const TrainingResult& result, const std::string& out) {
    const std::string val = result.val_loss ? fmt::format("{:.4f}", *result.val_loss) : "not taken";
    const std::string speed = fmt::format("{:.0f} tokens/s, {:.0f}% of the peak",
                                          result.tokens_per_second, 100 * result.share);
    say(fmt::format("{} steps in {} ({}): loss {:.4f}, validation loss {}\n", result.last.step,
                    clock_text(result.last.seconds), speed, result.last.loss, val));
    say(fmt::format("saved in {}{}{}\n{}", out, result.concern.empty() ? "" : ", but ",
                    result.concern, result.report));
}

// Waits for room on the disk; false once the user has had enough.
bool wait_to_retry(const SaveProblem& problem) {
    if (!problem.disk_is_full || interrupted()) return false;
    say(fmt::format("tapestry: {}; trying again in 5 s (Ctrl-C gives up, the last checkpoint "
                    "stays)\n",
                    problem.message),
        stderr);
    for (int i = 0; i < 50 && !interrupted(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return !interrupted();
}

TrainingRunOptions run_options(const TrainSettings& s, const TrainingRecipe& recipe,
                               Progress& progress) {
    TrainingRunOptions options{.report = !s.no_report,
                               .trap_nan = s.trap_nan,
                               .hash_every = s.hash_every,
                               .checkpoints = s.checkpoints,
                               .recipe = recipe};
    options.stepped = [&progress](const StepMetrics& metrics, const Speed& speed) {
        progress.show(metrics, speed);
        return !interrupted();
    };
    options.warn = [&progress](const std::string& message) {
        progress.finish();
        say(fmt::format("tapestry: {}\n", message), stderr);
    };
    options.retry = [&progress](const SaveProblem& problem) {
        progress.finish();
        return wait_to_retry(problem);
    };
    return options;
}

}  // namespace

int run_training(const TrainSettings& s, const TrainingRecipe& recipe) {
    set_num_threads(s.threads);
    const auto cache = s.no_cache ? nullptr : user_text_cache();
    auto [directory, session, earlier] = begin_run(s, cache.get());
    if (!directory->is_locked()) {
        say(fmt::format("tapestry: {}: the file system knows no locks; nothing keeps a second "
                        "training out\n",
                        s.out),
            stderr);
    }
    if (session->is_finished()) {
        say(fmt::format("nothing to do: all {} steps were taken\n", session->steps()));
        return kSuccess;
    }
    Progress progress(session->config().steps);
    TrainingRunOptions options = run_options(s, recipe, progress);
    options.earlier = std::move(earlier);
    TrainingRun run(*session, *directory, std::move(options));
    announce(*session, s.show_samples);
    catch_interrupts();
    catch_lost_reader();
    const TrainingResult result = run.to_the_end();
    progress.finish();
    if (s.show_samples && !result.interrupted) {
        say(fmt::format("\nafter training: it writes\n{}\n\n", session->sample(300)));
    }
    conclude(result, s.out);
    return result.interrupted ? kInterrupted : kSuccess;
}

}  // namespace tapestry::cli
