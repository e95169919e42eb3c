// Which entry of the tape is to blame? Every entry is checked by itself: its own forward pass at
// the inputs it really had, moved a little, against its own rule for the gradient that really came
// and for a random one. A wrong gradient that an entry was handed is not its fault, so that one bug
// does not spoil the name of what lies before it. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/mistakes.h>

namespace tapestry::checker {

/// The first entry, in the order of the tape, whose own rule is wrong; nothing if all are right.
/// weights: one per output of the subject.
std::optional<WrongOp> find_wrong_op(Subject& subject, const std::vector<double>& weights,
                                     const GradcheckLimits& limits, std::uint64_t seed);

/// For a leaf whose gradient is wrong where no entry is: what it looks like, and whether f goes
/// round the tape.
Cause find_cause(Subject& subject, std::size_t which, const std::vector<double>& weights,
                 const std::vector<double>& claimed);

/// What happens to f's outputs when elements of one leaf move, up to 256 of them.
void measure_slopes(Subject& subject, std::size_t which, Symptoms& symptoms);

}  // namespace tapestry::checker
