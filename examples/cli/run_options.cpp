#include <tapestry/examples/cli/run_options.h>

#include <tapestry/examples/cli/config_options.h>
#include <tapestry/examples/cli/progress.h>
#include <tapestry/examples/cli/text_cache.h>

#include <fmt/core.h>

namespace tapestry::cli {

void add_run_options(Options& o, RunOptions& run) {
    o.text("directory", run.directory, "What `tapestry train` was given as --out").required();
    add_fields(o, run.place, {"text", "data"});
    o.option("--text").excludes(o.option("--data"));
    o.threads(run.threads);
    add_no_cache(o, run.no_cache);
}

RunReader::RunReader(const RunOptions& run)
    : cache_(run.no_cache ? nullptr : user_text_cache()),
      history_(run.directory),
      rewinder_(history_, {.text = run.place.text,
                           .data = run.place.data,
                           .cache = cache_.get(),
                           .told = tell_wait}) {
    set_num_threads(run.threads);
}

void tell_wait(const RewindStart& start) {
    constexpr double kAWhile = 3;
    if (start.seconds < kAWhile) return;
    say(fmt::format("taking {} steps from step {} on; in the run they took {:.0f} s\n", start.steps,
                    start.state, start.seconds));
}

}  // namespace tapestry::cli
