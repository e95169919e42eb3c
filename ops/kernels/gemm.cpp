// Compiled once per ISA: installs the templates of gemm.h and wide_gemm.h in the kernel table.
#include <tapestry/ops/kernels/gemm.h>
#include <tapestry/ops/kernels/matmul.h>
#include <tapestry/ops/kernels/wide_gemm.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

void int8_few_rows(const GemmArguments<float, std::int8_t>& g) {
    if (g.n * g.k >= kParallelReading) {
        return gemm_of_few_rows(
            g, [](std::int64_t count, const auto& f) { parallel_for_chunks(count, f); });
    }
    gemm_of_few_rows(g, [](std::int64_t count, const auto& f) {
        for (std::int64_t i = 0; i < count; ++i) f(i);
    });
}

}  // namespace

template <>
void install(Gemm<float>& kernels) {
    kernels = {gemm<float>, gemm_serial<float>};
}

template <>
void install(Gemm<double>& kernels) {
    kernels = {gemm<double>, gemm_serial<double>};
}

template <>
void install(HalfGemm& kernels) {
    kernels.in_f32 = wide_gemm;
}

template <>
void install(Int8Gemm& kernels) {
    kernels = {int8_few_rows};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
