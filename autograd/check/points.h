// One check at several points: a rule that is wrong somewhere may be right at x, where numbers are
// equal, or 0, or on one side of a branch. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>

namespace tapestry::checker {

/// What check() says where the leaves stand, and at options.points - 1 places around: every number
/// is moved at random by up to half of its own size (0 by a typical one), within bounds. Where f is
/// not defined there, it is tried nearer by. Of the reports that with the worst verdict, the first
/// of them, with what was found at each point. The leaves are put back.
GradcheckReport check_points(const NamedTensors& leaves, const GradcheckOptions& options,
                             const std::function<GradcheckReport()>& check);

}  // namespace tapestry::checker
