// Where the tree is that the tests were built from. In a source of its own, for the path on the
// command line of every test would keep two checkouts from sharing what ccache has compiled.
#pragma once

#include <filesystem>

namespace tapestry::test {

std::filesystem::path source_dir();

}  // namespace tapestry::test
