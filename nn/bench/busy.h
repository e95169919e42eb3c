// Training steps on a machine that others use, too: the same steps, quiet and with a core that is
// kept busy, in turn. A step whose threads wait for one another takes as long as the slowest of
// them, and one that the system has set aside comes back after milliseconds: the 95th percentile
// tells.
#pragma once

#include <tapestry/nn/bench/step.h>

#include <atomic>
#include <thread>

namespace tapestry::bench {

/// Keeps a core busy while it lives, as another program's endless loop would: a thread that does
/// nothing but count, bound to the last core this process may use where the system can do that.
class Spinner {
public:
    Spinner();
    ~Spinner();
    Spinner(const Spinner&) = delete;
    Spinner& operator=(const Spinner&) = delete;

private:
    std::atomic<bool> spins_{false};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

struct BusyOptions {
    StepOptions step;         ///< in each round and of each kind
    std::int64_t rounds = 3;  ///< of quiet steps, then busy ones
};

struct BusyRow {
    Times quiet;
    Times busy;
    std::int64_t parameters = 0;
};

/// Throws ValueError for a model that cannot be made.
BusyRow measure_busy(const BusyOptions& options);

}  // namespace tapestry::bench
