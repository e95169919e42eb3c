#include <tapestry/examples/cli/text_cache.h>

#include <tapestry/examples/cli/progress.h>

#include <fmt/core.h>

namespace tapestry::cli {

void add_no_cache(Options& options, bool& no_cache) {
    options.flag("--no-cache", no_cache,
                 "Do not keep the text's tokens in ${XDG_CACHE_HOME:-~/.cache}/tapestry");
}

std::unique_ptr<TextCache> user_text_cache() {
    const auto directory = user_cache_directory();
    if (!directory) return nullptr;
    auto cache = std::make_unique<TextCache>();
    cache->directory = *directory;
    cache->warn = [](const std::string& reason) {
        say(fmt::format("tapestry: the text's tokens are not kept: {}\n", reason), stderr);
    };
    return cache;
}

}  // namespace tapestry::cli
