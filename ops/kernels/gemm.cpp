// Compiled once per ISA: puts the templates of gemm.h into the kernel table.
#include <tapestry/ops/kernels/gemm.h>
#include <tapestry/ops/kernels/matmul.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

template <>
void install(Gemm<float>& kernels) {
    kernels = {gemm<float>, gemm_serial<float>};
}

template <>
void install(Gemm<double>& kernels) {
    kernels = {gemm<double>, gemm_serial<double>};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
