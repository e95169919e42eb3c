// Locks for the gradients of leaves: several threads may train on one parameter, each with its own
// tape. Their gradients add up, in the order in which they arrive. Internal to autograd. Read next:
// Tape::deliver.
#pragma once

#include <tapestry/core/tensor.h>

#include <mutex>

namespace tapestry {

/// Held while a gradient is added to the leaf's. Throws std::bad_alloc.
std::unique_lock<std::mutex> lock_of(const Leaf& leaf);

}  // namespace tapestry
