// The measuring: everything is repeated, and the best counts, for whatever disturbs (another
// program, a clock that has yet to rise) only ever makes it slower.
#include <tapestry/ops/machine_peak.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/storage.h>
#include <tapestry/ops/kernels/table.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace tapestry {
namespace {

using Clock = std::chrono::steady_clock;

// How long f(i) takes for i = 0 .. num_threads() - 1, on a thread each, from the start of the first
// to the end of the last: without the time it takes to wake the threads and to put them to sleep.
template <class F>
double span_of(F&& f) {
    const std::int64_t threads = num_threads();
    std::vector<Clock::time_point> starts(static_cast<std::size_t>(threads));
    std::vector<Clock::time_point> ends(starts.size());
    parallel_for_chunks(threads, [&](std::int64_t i) {
        starts[static_cast<std::size_t>(i)] = Clock::now();
        f(i);
        ends[static_cast<std::size_t>(i)] = Clock::now();
    });
    const std::chrono::duration<double> span = *std::max_element(ends.begin(), ends.end()) -
                                               *std::min_element(starts.begin(), starts.end());
    return std::max(span.count(), 1e-9);
}

// The least of several spans, taken for about `budget` seconds.
template <class F>
double best_span(double budget, F&& f) {
    constexpr int kLeast = 3;
    const auto start = Clock::now();
    double best = std::numeric_limits<double>::infinity();
    // The first rounds also wake the threads: one that comes late leaves its part to another.
    for (int i = 0;
         i < kLeast || std::chrono::duration<double>(Clock::now() - start).count() < budget; ++i) {
        best = std::min(best, span_of(f));
    }
    return best;
}

template <class T>
double flops_of(double budget) {
    const auto& kernels = kernels::table<T>().peak;
    std::vector<T> results(static_cast<std::size_t>(num_threads()));
    // A fixed point of x <- x (1 - 2^-10) + 2^-10 is 1: no number ever becomes tiny or huge, which
    // some processors are slow at.
    const auto run = [&](std::int64_t i, std::int64_t rounds) {
        results[static_cast<std::size_t>(i)] =
            kernels.multiply_add(rounds, T(1) - T(1) / 1024, T(1) / 1024);
    };
    double trial = 1;
    constexpr std::int64_t kTrial = 5000;
    for (int repeat = 0; repeat < 3; ++repeat) {
        const auto start = Clock::now();
        run(0, kTrial);
        trial = std::min(trial, std::chrono::duration<double>(Clock::now() - start).count());
    }
    // Long enough that the threads run side by side most of the time, short enough for ten of them.
    const double times = std::clamp(budget / 10 / std::max(trial, 1e-7), 1.0, 1e4);
    const auto rounds = static_cast<std::int64_t>(static_cast<double>(kTrial) * times);
    const double best = best_span(budget, [&](std::int64_t i) { run(i, rounds); });
    return 2 * static_cast<double>(num_threads() * kernels.multiply_adds * rounds) / best;
}

// Numbers cut among the threads, each going over its piece again and again until 64 MB have passed,
// so that small pieces give a time that can be measured.
template <class T>
class Traffic {
public:
    Traffic(T* numbers, std::size_t bytes)
        : numbers_(numbers),
          piece_(static_cast<std::int64_t>(bytes / sizeof(T)) / num_threads()),
          passes_(std::max<std::int64_t>(
              1, (std::int64_t{64} << 20) / static_cast<std::int64_t>(bytes))) {}

    // Bytes per second, each number read.
    double reading(double budget) const {
        std::vector<T> results(static_cast<std::size_t>(num_threads()));
        const double seconds = best_span(budget, [&](std::int64_t i) {
            for (std::int64_t pass = 0; pass < passes_; ++pass) {
                results[static_cast<std::size_t>(i)] +=
                    kernels::table<T>().peak.read(numbers_ + i * piece_, piece_);
            }
        });
        return bytes() / seconds;
    }

    // The same, each number read and written.
    double updating(double budget) const {
        const double seconds = best_span(budget, [&](std::int64_t i) {
            for (std::int64_t pass = 0; pass < passes_; ++pass) {
                kernels::table<T>().peak.update(numbers_ + i * piece_, piece_, T(1) - T(1) / 1024,
                                                T(0.5));
            }
        });
        return 2 * bytes() / seconds;
    }

private:
    double bytes() const {
        return static_cast<double>(num_threads() * piece_ * passes_) *
               static_cast<double>(sizeof(T));
    }

    T* numbers_;
    std::int64_t piece_;   // of a thread
    std::int64_t passes_;  // over it
};

// Memory that is really there: a page comes into being when it is first written.
template <class T>
T* filled(const Storage& storage) {
    T* const numbers = reinterpret_cast<T*>(storage.data());
    std::fill(numbers, numbers + storage.bytes() / sizeof(T), T(1));
    return numbers;
}

// Where memory is scarce, as much as there is.
Storage memory_to_measure() {
    for (std::size_t bytes = std::size_t{128} << 20;; bytes /= 4) {
        try {
            return Storage(bytes);
        } catch (const MemoryError&) {
            if (bytes <= std::size_t{2} << 20) throw;
        }
    }
}

template <class T>
MachinePeak peak_of() {
    const auto threads = static_cast<std::size_t>(num_threads());
    const Storage storage = memory_to_measure();
    const std::size_t all = storage.bytes();
    T* const numbers = filled<T>(storage);

    MachinePeak peak{.flops_per_second = flops_of<T>(0.04)};
    for (const std::size_t bytes :
         {std::min(threads << 18, all / 64), all / 64, all / 16, all / 4, all}) {
        const Traffic<T> traffic(numbers, bytes);
        peak.levels.push_back({bytes, std::max(traffic.reading(0.004), traffic.updating(0.004))});
    }
    // What passes at a rate in large pieces does so in small ones, too.
    for (std::size_t i = peak.levels.size() - 1; i-- > 0;) {
        peak.levels[i].bytes_per_second =
            std::max(peak.levels[i].bytes_per_second, peak.levels[i + 1].bytes_per_second);
    }
    return peak;
}

}  // namespace

double measure_flops(DType dtype, double seconds) {
    return visit_floating("measure_flops", dtype,
                          [&](auto zero) { return flops_of<decltype(zero)>(seconds); });
}

double measure_reading(std::size_t bytes) {
    bytes = std::max(bytes, std::size_t{4096} * static_cast<std::size_t>(num_threads()));
    const double rate = [bytes] {
        const Storage storage(bytes);
        return Traffic<float>(filled<float>(storage), bytes).reading(0.02);
    }();
    release_cached_memory();  // nobody will ask for a block of this size again
    return rate;
}

MachinePeak measure_peak(DType dtype) {
    MachinePeak peak =
        visit_floating("measure_peak", dtype, [](auto zero) { return peak_of<decltype(zero)>(); });
    release_cached_memory();
    return peak;
}

}  // namespace tapestry
