#include <tapestry/examples/cli/run_options.h>

#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/nn/train/rewind.h>

namespace tapestry::cli {

void add_no_cache(Options& options, bool& no_cache) {
    options.flag("--no-cache", no_cache,
                 "Do not keep the text's tokens in ${XDG_CACHE_HOME:-~/.cache}/tapestry");
}

std::unique_ptr<TextCache> text_cache(bool no_cache) {
    const auto directory = user_cache_directory();
    if (no_cache || !directory) return nullptr;
    auto cache = std::make_unique<TextCache>();
    cache->directory = *directory;
    cache->warn = [](const std::string& reason) {
        warn("the text's tokens are not kept: " + reason);
    };
    return cache;
}

void add_run_options(Options& o, RunOptions& run) {
    o.text("directory", run.directory, "What `tapestry train` was given as --out").required();
    add_fields(o, run.place, {"text", "data"});
    o.option("--text").excludes(o.option("--data"));
    o.threads(run.threads);
    add_no_cache(o, run.no_cache);
}

RunReader::RunReader(const RunOptions& run)
    : cache_(text_cache(run.no_cache)),
      history_(run.directory),
      rewinder_(history_, {.text = run.place.text,
                           .data = run.place.data,
                           .cache = cache_.get(),
                           .told = [](const RewindStart& start) { say(wait_text(start)); }}) {
    set_num_threads(run.threads);
}

}  // namespace tapestry::cli
