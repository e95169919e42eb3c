// Compiled once per ISA: installs the templates of gemm.h and widened_gemm.h in the kernel table.
#include <tapestry/ops/kernels/gemm.h>
#include <tapestry/ops/kernels/matmul.h>
#include <tapestry/ops/kernels/widened_gemm.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

void int8_few_rows(const GemmArguments<float, std::int8_t>& g) {
    gemm_of_few_rows(g, threads_if(g.n * g.k >= kParallelReading));
}

}  // namespace

template <>
void install(Gemm<float>& kernels) {
    kernels = {gemm<float>};
}

template <>
void install(Gemm<double>& kernels) {
    kernels = {gemm<double>};
}

template <>
void install(HalfGemm& kernels) {
    kernels.in_f32 = widened_gemm;
}

template <>
void install(Int8Gemm& kernels) {
    kernels = {int8_few_rows};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
