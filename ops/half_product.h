// Matrix products of numbers of 16 bits: by an instruction for them where the instruction set has
// one (kernels/half_gemm.h), else by the kernels of f32. Internal to ops.
//
// There, a block of C at a time: what it needs of A and B is widened, so much at once as the
// second-level caches hold, multiplied and added up in f32, and C is rounded once. The sum over k
// is cut where gemm.h cuts it, so that the bits are those of a product in f32, rounded; neither the
// number of threads nor the blocks show in them.
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
