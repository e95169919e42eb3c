// The roofline: how fast a piece of work can be at most.
//
// Work that takes `flops` operations on `bytes` of numbers keeps the machine busy for at least
//
//     max(flops / FLOP per second,  bytes / bytes per second)
//
// seconds, the least. Which of the two is larger says what to look at: a product of large matrices
// waits for the arithmetic, a + b for memory. Source: Williams, Waterman and Patterson 2009,
// "Roofline: An Insightful Visual Performance Model for Multicore Architectures".
// Read next: ops/machine_peak.h, which measures the two; profiler.h; docs/profiling.md.
#pragma once

#include <tapestry/core/dtype.h>

#include <cstddef>
#include <vector>

namespace tapestry {

/// What a machine reaches with loops that do nothing else (ops/machine_peak.h).
struct MachinePeak {
    /// Numbers that take so many bytes together pass at this rate, when they do so again and again.
    struct Level {
        std::size_t bytes;
        double bytes_per_second;
    };

    double flops_per_second = 0;
    /// From what a core's own cache holds to what only memory does, each no faster than the last.
    std::vector<Level> levels = {};
    DType dtype = DType::f32;  ///< of the numbers that are multiplied and added

    /// The rate at which `bytes` can be moved, reading and writing counted apart: that of the
    /// largest level whose numbers, read and written, are no more. So what might lie in a cache,
    /// put there by the work before, is taken to lie there: the least must not be too much. 0
    /// without levels.
    double bytes_per_second(double bytes) const {
        double rate = levels.empty() ? 0 : levels.front().bytes_per_second;
        for (const Level& level : levels) {
            if (2 * static_cast<double>(level.bytes) <= bytes) rate = level.bytes_per_second;
        }
        return rate;
    }

    /// The least time. What is not known, a rate of 0, costs nothing.
    double least_seconds(double flops, double bytes) const {
        const double rate = bytes_per_second(bytes);
        const double computing = flops_per_second > 0 ? flops / flops_per_second : 0;
        const double moving = rate > 0 ? bytes / rate : 0;
        return computing > moving ? computing : moving;
    }
};

using Ceiling [[deprecated("use MachinePeak")]] = MachinePeak;

}  // namespace tapestry
