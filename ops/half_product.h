// Matrix products of numbers of 16 bits: those of bf16 by a kernel (kernels/half_gemm.h); those of
// f16, which is for files, by that of f32, for which they are widened whole. Internal to ops.
//
// The sum over k is f32, and rounded once. Without an instruction for products of bf16 the bits are
// those of a product in f32; neither the number of threads nor how a product is cut shows in them.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/ops/kernels/table.h>

namespace tapestry {

/// C = A B (+ bias); g.accumulate is not looked at. On all threads, or on the calling one alone.
void multiply_halves(const kernels::GemmArguments<Bf16>& g, bool serial);
void multiply_halves(const kernels::GemmArguments<F16>& g, bool serial);

/// The same for all types.
template <class T>
void multiply_stored(const kernels::GemmArguments<T>& g, bool serial) {
    if constexpr (kIsHalf<T>) {
        multiply_halves(g, serial);
    } else {
        const kernels::Gemm<T>& kernel = kernels::table<T>().gemm;
        (serial ? kernel.gemm_serial : kernel.gemm)(g);
    }
}

}  // namespace tapestry
