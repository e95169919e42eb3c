// The source tree that the tests were built from. In a separate source, because a path on every
// test's command line would keep two checkouts from sharing ccache's results.
#pragma once

#include <filesystem>

namespace tapestry::test {

std::filesystem::path source_dir();

}  // namespace tapestry::test
