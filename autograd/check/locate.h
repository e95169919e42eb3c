// Which entry of the tape is to blame? Every entry is checked by itself: its own forward pass at
// the inputs it really had, moved a little, against its own rule for the gradient that really came
// and for a random one. A wrong gradient that an entry was handed is not its fault, so that one bug
// does not spoil the name of what lies before it. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/mistakes.h>

namespace tapestry::checker {

/// The first entry, in the order of the tape, whose own rule is wrong; nothing if all are right.
/// weights: one per output of the subject; known: what was found of its leaves.
std::optional<WrongOp> find_wrong_op(Subject& subject, const std::vector<InputReport>& known,
                                     const std::vector<double>& weights,
                                     const GradcheckLimits& limits, std::uint64_t seed);

/// For a leaf whose gradient is wrong where no entry is: what it looks like, and whether f goes
/// round the tape. `first_wrong`: an element known to be wrong.
Cause find_cause(Subject& subject, std::size_t which, const std::vector<double>& weights,
                 const std::vector<double>& claimed, std::size_t first_wrong);

}  // namespace tapestry::checker
