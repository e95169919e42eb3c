// What this machine can do at most, measured here and now: with the instruction set in use, on the
// threads in use. Machines share their cores and change their clock, so a number from a data sheet,
// or from yesterday, would not do.
#pragma once

#include <tapestry/autograd/profile/roofline.h>
#include <tapestry/core/dtype.h>

#include <cstddef>

namespace tapestry {

/// FLOP/s of independent multiply-adds (two operations each) that never leave the registers, on all
/// num_threads(), or as many of them as there are cores: the sum of each thread's best 0.3 ms
/// within `seconds` or so. Other programs disturb it only where they leave a thread not even these.
/// Of bf16, products and sums in f32: by the instruction that the instruction set has for them, or
/// else those of f32. Throws DTypeError unless f32, f64 or bf16.
double measure_flops(DType dtype = DType::f32, double seconds = 0.012);

/// The same, and the bytes per second of numbers that take from 256 KB per thread, which lie in the
/// cores' own caches, to 128 MB, which lie in memory: the better of reading them and of changing
/// them in place. Takes less than a tenth of a second on a quiet machine and, for that long, these
/// 128 MB, or less where the system has no more.
MachinePeak measure_peak(DType dtype = DType::f32);

/// The former name of measure_peak().
[[deprecated("use measure_peak")]] inline MachinePeak measure_ceiling(DType dtype = DType::f32) {
    return measure_peak(dtype);
}

/// Bytes per second at which f32 numbers that take `bytes` are read again and again: what bounds a
/// model that writes token by token and reads all its weights for each. Takes that memory for as
/// long.
double measure_reading(std::size_t bytes);

}  // namespace tapestry
