// How much of a test runs.
//
// A test that cannot run here is skipped visibly: `./check` lists what was skipped, and .ci/run
// fails unless .ci/may_skip gives a reason. Scripts do the same by tests/skip.sh.
//
//     if (!disk.mounted()) return skip("no file system can be mounted here");
#pragma once

#include <string_view>

namespace tapestry::test {

/// Prints "skipped: NAME OF THE TEST CASE: reason"; the caller returns.
void skip(std::string_view reason);

/// Whether TAPESTRY_TESTS is "long": .ci/long runs the whole of what ctest runs a part of.
bool is_long();

}  // namespace tapestry::test
