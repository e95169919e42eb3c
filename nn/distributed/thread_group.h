// Processes that are threads of this one: the same programs, where no MPI is. Each has its own
// tapes, modules and optimisers, and they share nothing but messages.
#pragma once

#include <tapestry/nn/distributed/communicator.h>

#include <functional>

namespace tapestry {

/// What lies between the processes. A message sets out when those before it from the same process
/// have left, and takes its bytes' time to leave; nobody computes less for it.
struct Network {
    double latency = 0;           ///< seconds: Communicator::set_latency()
    double bytes_per_second = 0;  ///< out of each process; 0: without limit
};

/// Runs `program` once for each of `size` processes, each in a thread of its own, and returns when
/// all have ended. If one throws, whoever waits for it gets a LostProcessError, and what it threw
/// is thrown here. Throws ValueError unless size >= 1 and the network's numbers are not negative.
void run_in_threads(int size, const std::function<void(Communicator&)>& program,
                    const Network& network = {});

}  // namespace tapestry
