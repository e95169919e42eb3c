#include <tapestry/nn/bench/busy.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include <utility>
#include <vector>

namespace tapestry::bench {
namespace {

// Where the system says no, the thread spins wherever it is put.
void bind_to_last_core() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int core = CPU_SETSIZE; core-- > 0;) {
        if (!CPU_ISSET(core, &allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        static_cast<void>(::sched_setaffinity(0, sizeof one, &one));  // 0: the calling thread
        return;
    }
#endif
}

void append(std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Spinner::Spinner()
    : thread_([this] {
          bind_to_last_core();
          spins_ = true;
          while (!over_) continue;
      }) {
    while (!spins_) std::this_thread::yield();
}

Spinner::~Spinner() {
    over_ = true;
    thread_.join();
}

BusyRow measure_busy(const BusyOptions& options) {
    std::vector<double> quiet, busy;
    BusyRow row;
    for (std::int64_t round = 0; round < options.rounds; ++round) {
        const TakenSteps alone = take_steps(options.step);
        append(quiet, alone.seconds);
        row.parameters = alone.parameters;
        const Spinner spinner;
        append(busy, take_steps(options.step).seconds);
    }
    row.quiet = times_of(std::move(quiet));
    row.busy = times_of(std::move(busy));
    return row;
}

}  // namespace tapestry::bench
