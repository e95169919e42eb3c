// Processes that are threads of this one: the same programs, where no MPI is. Each has its own
// tapes, modules and optimisers, and they share nothing but messages.
#pragma once

#include <tapestry/nn/distributed/communicator.h>

#include <functional>

namespace tapestry {

/// Runs `program` once for each of `size` processes, each in a thread of its own, and returns when
/// all have ended. If one throws, whoever waits for it gets a LostProcessError, and what it threw
/// is thrown here. Throws ValueError unless size >= 1.
void run_in_threads(int size, const std::function<void(Communicator&)>& program);

}  // namespace tapestry
