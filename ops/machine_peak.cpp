// Every measurement is repeated and the best counts, because disturbances (another program, a clock
// still ramping up) only make it slower. Each repetition is short compared with the scheduler's
// time slices of milliseconds; otherwise none would be undisturbed.
#include <tapestry/ops/machine_peak.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/storage.h>
#include <tapestry/ops/kernels/table.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace tapestry {
namespace {

// Seconds from the start of the first f(i) to the end of the last, for i = 0 .. num_threads() - 1
// on one thread each: excludes waking the threads and putting them to sleep.
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
    const double span = seconds_between(*std::min_element(starts.begin(), starts.end()),
                                        *std::max_element(ends.begin(), ends.end()));
    return std::max(span, 1e-9);
}

// A barrier with a timeout. Threads wait for one another, so none is measured while it has the
// machine to itself, perhaps with a higher clock and an idle hyperthread next to it. It times out
// because a thread may not come at all, if its core is busy or if this runs inside another parallel
// loop.
class Meeting {
public:
    explicit Meeting(std::int64_t threads) : missing_(threads) {}

    void wait() {
        --missing_;
        while (missing_ > 0 && Clock::now() < latest_) continue;
    }

private:
    std::atomic<std::int64_t> missing_;
    Clock::time_point latest_ = Clock::now() + std::chrono::milliseconds(2);
};

// The number of rounds that take one span: long compared with reading the clock.
template <class F>
std::int64_t rounds_of_a_span(F&& run) {
    constexpr double kSpan = 0.0003;
    constexpr std::int64_t kTrial = 2000;
    double trial = kSpan;
    for (int repeat = 0; repeat < 3; ++repeat) {
        const auto start = Clock::now();
        run(kTrial);
        trial = std::min(trial, seconds_since(start));
    }
    return static_cast<std::int64_t>(kTrial * std::min(kSpan / std::max(trial, 1e-7), 1e4));
}

// A loop of independent multiply-adds: run(rounds) does `multiply_adds` per round.
struct Multiplying {
    std::int64_t multiply_adds;
    std::function<double(std::int64_t)> run;
};

// x <- x (1 - 2^-10) + 2^-10 has the fixed point 1, so no number becomes subnormal or huge, which
// is slow on some processors.
template <class T>
Multiplying multiplying() {
    const kernels::Peak<T>& peak = kernels::table<T>().peak;
    return {
        peak.multiply_adds, [&peak](std::int64_t rounds) {
            return static_cast<double>(peak.multiply_add(rounds, T(1) - T(1) / 1024, T(1) / 1024));
        }};
}

Multiplying multiplying(DType dtype) {
    const kernels::HalfGemm& half = kernels::table<float>().half_gemm;
    if (dtype == DType::bf16 && half.by_instruction != nullptr) {
        return {half.panel_multiply_adds, half.repeat_panel};
    }
    const bool has_kernel = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16;
    require<DTypeError>(has_kernel, "measure_flops: needs f32, f64 or bf16, got {}",
                        name_of(dtype));
    return dtype == DType::f64 ? multiplying<double>() : multiplying<float>();
}

// Counts each thread's best span, because all threads are rarely undisturbed at once when other
// programs run. With more threads than cores, counts the best ones, one per core.
double flops_of(const Multiplying& multiplying, double budget) {
    const std::int64_t threads = num_threads();
    std::vector<double> results(static_cast<std::size_t>(threads));
    std::vector<double> least(results.size());
    const auto& run = multiplying.run;
    const std::int64_t rounds = rounds_of_a_span([&](std::int64_t n) { results[0] = run(n); });
    Meeting meeting(threads);
    parallel_for_chunks(threads, [&](std::int64_t chunk) {
        constexpr int kLeast = 3;
        const auto i = static_cast<std::size_t>(chunk);
        meeting.wait();
        double seconds = std::numeric_limits<double>::infinity();
        const auto start = Clock::now();
        for (int n = 0; n < kLeast || seconds_since(start) < budget; ++n) {
            const auto before = Clock::now();
            results[i] = run(rounds);
            seconds = std::min(seconds, seconds_since(before));
        }
        least[i] = std::max(seconds, 1e-9);
    });
    std::sort(least.begin(), least.end());
    least.resize(
        std::min<std::size_t>(least.size(), std::max(1U, std::thread::hardware_concurrency())));
    double rate = 0;
    for (const double seconds : least) {
        rate += 2 * static_cast<double>(multiplying.multiply_adds * rounds) / seconds;
    }
    return rate;
}

// Data split among the threads, each going over its piece repeatedly, 16 MB in total per span: a
// small piece many times, a large one in a different part each time. A span covers all threads
// together, because a thread with memory to itself would get more than its share.
template <class T>
class Traffic {
public:
    Traffic(T* numbers, std::size_t bytes)
        : numbers_(numbers),
          piece_(static_cast<std::int64_t>(bytes / sizeof(T)) / num_threads()),
          part_(std::min(piece_, kSpan / static_cast<std::int64_t>(sizeof(T)) / num_threads())),
          passes_(std::max<std::int64_t>(1, kSpan / static_cast<std::int64_t>(bytes))) {}

    // Bytes per second when each number is read.
    double reading(double budget) {
        std::vector<T> results(static_cast<std::size_t>(num_threads()));
        const double seconds = best_span(budget, [&](std::int64_t i, T* part) {
            results[static_cast<std::size_t>(i)] += kernels::table<T>().peak.read(part, part_);
        });
        return bytes() / seconds;
    }

    // The same when each number is read and written.
    double updating(double budget) {
        const double seconds = best_span(budget, [&](std::int64_t, T* part) {
            kernels::table<T>().peak.update(part, part_, T(1) - T(1) / 1024, T(0.5));
        });
        return 2 * bytes() / seconds;
    }

private:
    static constexpr std::int64_t kSpan = std::int64_t{16} << 20;

    double bytes() const {
        return static_cast<double>(num_threads() * part_ * passes_) *
               static_cast<double>(sizeof(T));
    }

    // The shortest of the spans measured in about `budget` seconds. The first ones also wake the
    // threads: a late thread leaves its part to another.
    template <class F>
    double best_span(double budget, F&& f) {
        constexpr int kLeast = 3;
        const auto start = Clock::now();
        double best = std::numeric_limits<double>::infinity();
        for (int n = 0; n < kLeast || seconds_since(start) < budget; ++n) {
            best = std::min(best, span_of([&](std::int64_t i) {
                                for (std::int64_t pass = 0; pass < passes_; ++pass) {
                                    f(i, numbers_ + i * piece_ + at_);
                                }
                            }));
            at_ = at_ + 2 * part_ <= piece_ ? at_ + part_ : 0;
        }
        return best;
    }

    T* numbers_;
    std::int64_t piece_;   // elements per thread
    std::int64_t part_;    // elements of it per span
    std::int64_t passes_;  // passes over the part per span
    std::int64_t at_ = 0;  // start of the next span's part
};

// Touches the memory: pages are allocated when first written, which takes most of the time here, so
// all threads do it.
template <class T>
T* filled(const Storage& storage) {
    T* const numbers = reinterpret_cast<T*>(storage.data());
    parallel_for(static_cast<std::int64_t>(storage.bytes() / sizeof(T)), 1 << 18,
                 [numbers](std::int64_t begin, std::int64_t end) {
                     std::fill(numbers + begin, numbers + end, T(1));
                 });
    return numbers;
}

// Up to 128 MB; less if memory is scarce.
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
std::vector<MachinePeak::Level> levels_of() {
    const auto threads = static_cast<std::size_t>(num_threads());
    const Storage storage = memory_to_measure();
    const std::size_t all = storage.bytes();
    T* const numbers = filled<T>(storage);

    std::vector<MachinePeak::Level> levels;
    // Largest first: data touched by smaller sizes would still be in cache.
    for (const std::size_t bytes :
         {all, all / 4, all / 16, all / 64, std::min(threads << 18, all / 64)}) {
        if (!levels.empty() && levels.back().bytes == bytes) continue;  // of eight threads or more
        Traffic<T> traffic(numbers, bytes);
        levels.push_back({bytes, std::max(traffic.reading(0.002), traffic.updating(0.002))});
    }
    std::reverse(levels.begin(), levels.end());
    // Smaller sizes are at least as fast as larger ones.
    for (std::size_t i = levels.size() - 1; i-- > 0;) {
        levels[i].bytes_per_second =
            std::max(levels[i].bytes_per_second, levels[i + 1].bytes_per_second);
    }
    return levels;
}

}  // namespace

double measure_flops(DType dtype, double seconds) { return flops_of(multiplying(dtype), seconds); }

double measure_reading(std::size_t bytes) {
    bytes = std::max(bytes, std::size_t{4096} * static_cast<std::size_t>(num_threads()));
    const double rate = [bytes] {
        const Storage storage(bytes);
        return Traffic<float>(filled<float>(storage), bytes).reading(0.01);
    }();
    release_cached_memory();  // no further block of this size is expected
    return rate;
}

MachinePeak measure_peak(DType dtype) {
    MachinePeak peak{.flops_per_second = measure_flops(dtype), .dtype = dtype};
    peak.levels = dtype == DType::f64 ? levels_of<double>() : levels_of<float>();
    release_cached_memory();
    return peak;
}

}  // namespace tapestry
