#include <tapestry/nn/train/begin_run.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/train/fork.h>

#include <fmt/core.h>

#include <filesystem>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

using Told = std::function<void(const std::string&)>;

void tell_overridden(const std::vector<std::string>& names, const char* option, const Told& told) {
    for (const std::string& name : names) {
        told(fmt::format("{} differs from what it was so far ({})\n", name, option));
    }
}

// Where the last run stopped; null if there is none.
std::unique_ptr<Session> resume(const RunRequest& r, RunDirectory& directory,
                                const TextCache* cache, const Told& told) {
    auto session =
        directory.resume({.wanted = r.config, .given = r.given, .overrides = r.overrides}, cache);
    if (!session) return nullptr;
    told(fmt::format("going on in {} after step {} of {}\n", utf8::printable(r.out),
                     session->steps(), session->config().steps));
    tell_overridden(session->overridden(), "--override", told);
    return session;
}

std::unique_ptr<Session> begin(const RunRequest& r, const TextCache* cache, const Told& told) {
    require(!r.resume || !data_name(r.config).empty(),
            "--resume: there is no checkpoint in {}, and without --text nothing to begin with",
            r.out);
    if (r.resume)
        told(fmt::format("no checkpoint in {}: beginning at step 0\n", utf8::printable(r.out)));
    return std::make_unique<Session>(r.config, cache);
}

// A run that takes its own place would lose what it goes on from.
void check_elsewhere(const RunRequest& r) {
    std::error_code absent;
    require(!fs::equivalent(r.fork, r.out, absent),
            "--fork: {} is --out as well; the new run needs a directory of its own", r.fork);
}

BegunRun fork(const RunRequest& r, const TextCache* cache, const Told& told) {
    check_elsewhere(r);
    const RunHistory history(r.fork);
    const auto tell_wait = [&told](const RewindStart& start) { told(wait_text(start)); };
    const Rewinder rewinder(history, {.cache = cache, .told = tell_wait});
    Fork fork =
        fork_after(history, rewinder, r.step, {.wanted = r.config, .given = r.given}, cache);
    told(fmt::format("going on in {} after step {} of {}\n", utf8::printable(r.out), r.step,
                     utf8::printable(r.fork)));
    tell_overridden(fork.changed, "--fork", told);
    return {std::make_unique<RunDirectory>(r.out), std::move(fork.session),
            std::move(fork.earlier)};
}

}  // namespace

BegunRun begin_run(const RunRequest& r, const TextCache* cache, const Told& listener) {
    const auto told = [&listener](const std::string& text) {
        if (listener && !text.empty()) listener(text);
    };
    if (!r.fork.empty()) return fork(r, cache, told);
    BegunRun run;
    if (r.resume && is_there(r.out) && fs::is_directory(r.out)) {
        run.directory = std::make_unique<RunDirectory>(r.out);
        run.session = resume(r, *run.directory, cache, told);
    }
    if (!run.session) run.session = begin(r, cache, told);
    if (!run.directory) run.directory = std::make_unique<RunDirectory>(r.out);
    return run;
}

}  // namespace tapestry
