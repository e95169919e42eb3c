// How much of a test runs.
//
// A test that cannot run here is skipped visibly: `./check` lists the skipped tests, and .ci/run
// fails unless .ci/may_skip gives a reason. Scripts use tests/skip.sh for this.
//
//     if (!disk.mounted()) return skip("no file system can be mounted here");
#pragma once

#include <string_view>

namespace tapestry::test {

/// Prints "skipped: NAME OF THE TEST CASE: reason"; the caller returns.
void skip(std::string_view reason);

/// Is TAPESTRY_TESTS "long"? .ci/long runs in full what ctest runs in part.
bool is_long();

/// Is TAPESTRY_TESTS "short"? ctest sets it under sanitizers, which look at each access to memory:
/// one of several seeds, sizes and numbers of steps is enough there, without what only the result
/// of all of them shows.
/// `.ci/long asan` runs all.
bool is_short();

}  // namespace tapestry::test
