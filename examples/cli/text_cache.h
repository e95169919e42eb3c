// The user's cache of tokenized texts, as a command uses it.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/nn/io/text_cache.h>

#include <memory>

namespace tapestry::cli {

/// --no-cache.
void add_no_cache(Options& options, bool& no_cache);

/// It says on stderr when nothing can be kept. Null where the environment names no place for it.
std::unique_ptr<TextCache> user_text_cache();

}  // namespace tapestry::cli
