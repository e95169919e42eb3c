// The roofline: an upper bound on the speed of a piece of work.
//
// Work that takes `flops` operations on `bytes` of numbers keeps the machine busy for at least
//
//     max(flops / FLOP per second,  bytes / bytes per second)
//
// seconds, the least time. The larger of the two is the bottleneck: a product of large matrices is
// limited by arithmetic, a + b by memory. Source: Williams, Waterman and Patterson 2009,
// "Roofline: An Insightful Visual Performance Model for Multicore Architectures".
// Read next: ops/machine_peak.h, which measures both rates; profiler.h; docs/profiling.md.
#pragma once

#include <tapestry/core/dtype.h>

#include <cstddef>
#include <vector>

namespace tapestry {

/// The rates that a machine reaches in loops that do nothing else (ops/machine_peak.h).
struct MachinePeak {
    /// The rate at which data of this total size passes when it is accessed repeatedly.
    struct Level {
        std::size_t bytes;        ///< total size of the data
        double bytes_per_second;  ///< rate at that size
    };

    double flops_per_second = 0;  ///< of independent multiply-adds; 0: unknown
    /// From the size that a core's own cache holds to one that only memory holds, each no faster
    /// than the last.
    std::vector<Level> levels = {};
    DType dtype = DType::f32;  ///< of the numbers that are multiplied and added

    /// The rate at which `bytes` can be moved, counting reads and writes separately: that of the
    /// largest level whose data, read and written, are no more. So data that an earlier operation
    /// may have left in a cache is assumed to be there, because the least time must not be
    /// overestimated. 0 without levels.
    double bytes_per_second(double bytes) const {
        double rate = levels.empty() ? 0 : levels.front().bytes_per_second;
        for (const Level& level : levels) {
            if (2 * static_cast<double>(level.bytes) <= bytes) rate = level.bytes_per_second;
        }
        return rate;
    }

    /// The least time. An unknown rate, 0, costs nothing.
    double least_seconds(double flops, double bytes) const {
        const double rate = bytes_per_second(bytes);
        const double computing = flops_per_second > 0 ? flops / flops_per_second : 0;
        const double moving = rate > 0 ? bytes / rate : 0;
        return computing > moving ? computing : moving;
    }
};

/// The former name of MachinePeak.
using Ceiling [[deprecated("use MachinePeak")]] = MachinePeak;

}  // namespace tapestry
