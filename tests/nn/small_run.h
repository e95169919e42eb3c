// Runs that take a moment: a text, a small model of it, and the ways to train it: on to a step, and
// by several processes.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <filesystem>
#include <string>

namespace tapestry::test {

// Lines of metrics.jsonl without what a clock says.
inline std::string without_times(std::string lines) {
    for (const char* name : {"tokens_per_s", "seconds", "of_peak", "report_seconds"}) {
        const std::string member = fmt::format(",\"{}\":", name);
        for (auto at = lines.find(member); at != lines.npos; at = lines.find(member, at)) {
            lines.erase(at, lines.find_first_of(",}", at + 1) - at);
        }
    }
    return lines;
}

struct RunPlace {
    RunPlace() {
        std::string written;
        for (int i = 0; i < 60; ++i) written += "abc def " + std::to_string(i * i % 13) + "\n";
        spill(text, written);
    }
    TrainingConfig config() const {
        return {.text = text.string(),
                .model = {.context = 8, .layers = 1, .heads = 2, .dim = 16},
                .batch = 4,
                .eval_batches = 1};
    }

    Scratch scratch;
    std::filesystem::path text = scratch / "t.txt";
    std::filesystem::path out = scratch / "m";
};

/// Thrown from a callback to end a run as a kill would: no code in the run catches it.
struct Killed {};

/// Resumes the run in the directory, or starts one, and takes it to its end or kills it after step
/// `last`.
inline void train_on(const std::filesystem::path& directory, const TrainingConfig& config,
                     TrainingRunOptions options, std::int64_t last, const ResumeOptions& resume) {
    RunDirectory place(directory);
    auto session = place.resume(resume);
    if (!session) session = std::make_unique<Session>(config);
    TrainingRun* running = nullptr;
    options.stepped = [&](const StepMetrics& m, const Speed&) {
        if (m.step > last) throw Killed();
        running->wait_for_checkpoint();  // or which are skipped would be a matter of luck
        return true;
    };
    TrainingRun run(*session, place, options);
    running = &run;
    try {
        run.to_the_end();
    } catch (const Killed&) {
    }
}

struct SharedTraining {
    int processes = 1;
    int threads = num_threads();  ///< of each
    bool resume = false;
    std::int64_t last = 1000;  ///< step, if the end is later
    std::int64_t hash_every = 2;
};

/// Trains in place.out, by processes that are threads.
inline void train_shared(const RunPlace& place, const TrainingConfig& config,
                         const SharedTraining& how) {
    const RunRequest request{.config = config, .out = place.out.string(), .resume = how.resume};
    run_in_threads(how.processes, [&](Communicator& c) {
        const ThreadsGuard guard(how.threads);
        const BegunRun begun = begin_shared_run(c, request);
        if (c.rank() != 0) return begun.shared->follow();
        TrainingRunOptions options{.report = true, .hash_every = how.hash_every};
        options.checkpoints.every_steps = 2;
        options.stepped = [&](const StepMetrics& m, const Speed&) { return m.step < how.last; };
        TrainingRun(*begun.session, *begun.directory, options).to_the_end();
        begun.shared->dismiss();
    });
}

}  // namespace tapestry::test
