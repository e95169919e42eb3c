#include <tapestry/examples/cli/begin_run.h>

#include <tapestry/examples/cli/progress.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/nn/train/fork.h>

#include <fmt/core.h>

#include <filesystem>
#include <utility>

namespace tapestry::cli {
namespace {

namespace fs = std::filesystem;

void tell_overridden(const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : names) {
        say(fmt::format("{} differs from what it was so far ({})\n", name, option));
    }
}

// Where the last run stopped; null if there is none.
std::unique_ptr<Session> resume(const TrainSettings& s, RunDirectory& directory,
                                const TextCache* cache) {
    auto session =
        directory.resume({.wanted = s.config, .given = s.given, .overrides = s.overrides}, cache);
    if (!session) return nullptr;
    say(fmt::format("going on in {} after step {} of {}\n", s.out, session->steps(),
                    session->config().steps));
    tell_overridden(session->overridden(), "--override");
    return session;
}

std::unique_ptr<Session> begin(const TrainSettings& s, const TextCache* cache) {
    require(!s.resume || !data_name(s.config).empty(),
            "--resume: there is no checkpoint in {}, and without --text nothing to begin with",
            s.out);
    if (s.resume) say(fmt::format("no checkpoint in {}: beginning at step 0\n", s.out));
    return std::make_unique<Session>(s.config, cache);
}

// A run that takes its own place would lose what it goes on from.
void check_elsewhere(const TrainSettings& s) {
    std::error_code absent;
    require(!fs::equivalent(s.fork, s.out, absent),
            "--fork: {} is --out as well; the new run needs a directory of its own", s.fork);
}

BegunRun fork(const TrainSettings& s, const TextCache* cache) {
    check_elsewhere(s);
    const RunHistory history(s.fork);
    const Rewinder rewinder(history, {.cache = cache, .told = tell_wait});
    Fork fork =
        fork_after(history, rewinder, s.step, {.wanted = s.config, .given = s.given}, cache);
    say(fmt::format("going on in {} after step {} of {}\n", s.out, s.step, s.fork));
    tell_overridden(fork.changed, "--fork");
    return {std::make_unique<RunDirectory>(s.out), std::move(fork.session),
            std::move(fork.earlier)};
}

}  // namespace

BegunRun begin_run(const TrainSettings& s, const TextCache* cache) {
    if (!s.fork.empty()) return fork(s, cache);
    BegunRun run;
    if (s.resume && fs::is_directory(s.out)) {
        run.directory = std::make_unique<RunDirectory>(s.out);
        run.session = resume(s, *run.directory, cache);
    }
    if (!run.session) run.session = begin(s, cache);
    if (!run.directory) run.directory = std::make_unique<RunDirectory>(s.out);
    return run;
}

}  // namespace tapestry::cli
