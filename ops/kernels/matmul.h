// Matrix products: the family of kernels that gemm.h implements.
#pragma once

#include <tapestry/ops/kernels/gemm_arguments.h>

namespace tapestry::kernels {

template <class T>
struct Gemm {
    using Function = void (*)(const GemmArguments<T>&);
    Function gemm;         ///< on all threads
    Function gemm_serial;  ///< on the calling thread, for those who share out many products
};

}  // namespace tapestry::kernels
