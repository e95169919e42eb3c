// Runs processes as threads of this one: the same programs, without MPI. Each has its own tapes,
// modules and optimisers; they share only messages.
#pragma once

#include <tapestry/nn/distributed/communicator.h>

#include <functional>

namespace tapestry {

/// A simulated network between the processes. A message leaves after the earlier ones of its
/// process, and takes time in proportion to its bytes; computation is not slowed down.
struct Network {
    double latency = 0;           ///< seconds: Communicator::set_latency()
    double bytes_per_second = 0;  ///< per sending process; 0: unlimited
};

/// Runs `program` once per process, each in its own thread, and returns when all have ended. If one
/// throws, the processes that wait for it get a LostProcessError, and its exception is rethrown
/// here. Throws ValueError unless size >= 1 and the network's numbers are not negative.
void run_in_threads(int size, const std::function<void(Communicator&)>& program,
                    const Network& network = {});

}  // namespace tapestry
