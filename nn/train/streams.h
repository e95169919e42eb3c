// The random numbers of a training, in streams with names. What is drawn from one does not depend
// on what is drawn from another: evaluating more often changes no weight, and the same seed for
// everything ties nothing together.
#pragma once

#include <tapestry/core/stream.h>

#include <cstdint>

namespace tapestry {

/// Those that every training has; others have names of their own (`stream` in core/stream.h).
/// Dropout draws from `weights`, after the weights at the start.
enum class Stream : std::uint64_t { weights, batches, evaluation, samples };

/// The stream's generator at its beginning. Its key is 4 seed + 0 .. 3, modulo 2^64, as it has been
/// since the first trainings: with another, the same seed would give another model.
Generator stream(std::uint64_t seed, Stream name);

}  // namespace tapestry
