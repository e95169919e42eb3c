// What a network costs a step that several processes share: a model of three numbers for the
// network, and of what a step without it is like. Only what is exposed counts, and that is
//
//     gradients     bucket k of K sets out when backward has r_k seconds to go, on a line that
//     sends
//                   one after the other:  end_k = max(end_k-1, -r_k) + bytes / K / rate + messages;
//                   exposed is end_K + latency, if that is later than backward's end, 0
//     norms         messages and a latency: they say when all may go on
//     parameters    bytes / rate + messages + latency, of which nothing is hidden
//     the end       messages and a latency: all have them
//
// `tapestry profile` under mpirun has it from the step that it measures; docs/distributed.md holds
// it against measurements. Read next: nn/data_parallel/gradients_underway.h, whose times these are.
#pragma once

#include <cstdint>
#include <vector>

namespace tapestry::bench {

struct Line {
    double bytes_per_second = 125e6;  ///< out of a machine, and into it: 1 Gbit/s
    double latency = 0.2e-3;          ///< seconds until a message is there
    double seconds_per_message = 0;   ///< that a process is busy with one, whatever its size
};

/// A step of one of several processes.
struct SharedStep {
    double compute = 0;              ///< seconds of it, nothing being waited for
    std::vector<double> to_go = {};  ///< by bucket: seconds of backward after it has set out
    double bytes = 0;                ///< of all parameters
    int processes = 2;
    double subtrees = 1;  ///< of gradients that each sends: 1 for powers of two
};

struct NetworkCost {
    double gradients = 0;  ///< seconds on the line
    double exposed = 0;    ///< of these, and of latency: after backward's end
    double rest = 0;       ///< norms and parameters
    double total = 0;      ///< of the step
    /// Of the gradients' seconds.
    double hidden_share() const { return gradients > 0 ? 1 - exposed / gradients : 0; }
};

/// Throws ValueError for a step without buckets, and a rate that is not positive.
NetworkCost network_cost(const SharedStep& step, const Line& line);

/// The same step of other processes, which have `work` times as much to do each: 1 for a batch that
/// grows with them, this one's processes / processes for one that is shared. The update and what
/// lies outside of batches count as work.
SharedStep shared_by(const SharedStep& step, int processes, double work);

}  // namespace tapestry::bench
