// A check as the call that makes it again. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>

namespace tapestry::checker {

/// "gradcheck(f, inputs{})" with what differs from the default options in place of "{}":
/// "gradcheck(f, inputs, {.seed = 7})".
std::string call_text(const std::string& call, const GradcheckOptions& options);

}  // namespace tapestry::checker
