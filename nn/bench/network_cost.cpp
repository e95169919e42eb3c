#include <tapestry/nn/bench/network_cost.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <limits>

namespace tapestry::bench {

NetworkCost network_cost(const SharedStep& step, const Line& line) {
    require(!step.to_go.empty(), "network cost: a step without buckets");
    require(line.bytes_per_second > 0, "network cost: {} bytes per second", line.bytes_per_second);
    const double others = step.processes - 1;
    const double slice = step.bytes / step.processes;
    const double messages = others * line.seconds_per_message;
    const auto buckets = static_cast<double>(step.to_go.size());
    const double bucket =
        step.subtrees * (others * slice / buckets / line.bytes_per_second + messages);
    NetworkCost cost;
    if (step.processes > 1) {
        double end = -std::numeric_limits<double>::infinity();  // 0: that of the backward pass
        for (const double to_go : step.to_go) end = std::max(end, -to_go) + bucket;
        cost.gradients = bucket * buckets;
        cost.exposed = std::max(0.0, end + line.latency);
        cost.rest = others * slice / line.bytes_per_second + 3 * messages + 3 * line.latency;
    }
    cost.total = step.compute + cost.exposed + cost.rest;
    return cost;
}

SharedStep shared_by(const SharedStep& step, int processes, double work) {
    SharedStep other = step;
    other.processes = processes;
    other.compute *= work;
    for (double& to_go : other.to_go) to_go *= work;
    return other;
}

}  // namespace tapestry::bench
