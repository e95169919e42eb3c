// Leaving a test that cannot be run here, in a way that is seen: `./check` lists what was skipped,
// and .ci/run fails unless .ci/may_skip gives a reason. Scripts do the same by tests/skip.sh.
//
//     if (!disk.mounted()) return skip("no file system can be mounted here");
#pragma once

#include <string_view>

namespace tapestry::test {

/// Prints "skipped: NAME OF THE TEST CASE: reason"; the caller returns.
void skip(std::string_view reason);

}  // namespace tapestry::test
