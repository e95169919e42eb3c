// The machine's peak performance, measured now, with the instruction set and threads in use. Cores
// are shared and clocks change, so a figure from a data sheet, or from yesterday, would not do.
#pragma once

#include <tapestry/autograd/profile/roofline.h>
#include <tapestry/core/dtype.h>

#include <cstddef>

namespace tapestry {

/// FLOP/s of independent multiply-adds (two operations each) in registers, on num_threads() threads
/// but no more than there are cores: the sum of each thread's best 0.3 ms within about `seconds`.
/// Other programs disturb it only if they leave a thread not even that. For bf16, products of bf16
/// summed in f32, by the instruction set's own instruction if it has one, else as f32. Throws
/// DTypeError unless f32, f64 or bf16.
double measure_flops(DType dtype = DType::f32, double seconds = 0.012);

/// measure_flops(), and bandwidth in bytes per second for sizes from 256 KB per thread, which fit
/// the cores' own caches, to 128 MB, which do not: the better of reading and updating in place.
/// Takes less than a tenth of a second on a quiet machine, and allocates 128 MB meanwhile, or less
/// if the system has less.
MachinePeak measure_peak(DType dtype = DType::f32);

/// The former name of measure_peak().
[[deprecated("use measure_peak")]] inline MachinePeak measure_ceiling(DType dtype = DType::f32) {
    return measure_peak(dtype);
}

/// Bytes per second of repeatedly reading `bytes` of f32 numbers: the limit for generating token by
/// token, which reads all weights for each token. Allocates that much memory meanwhile.
double measure_reading(std::size_t bytes);

}  // namespace tapestry
