// Compiled once per ISA.
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

void widen(float* y, const Bf16* x, std::int64_t n) {
    widen_run(y, reinterpret_cast<const std::uint16_t*>(x), n);
}

void narrow(Bf16* y, const float* x, std::int64_t n) {
    narrow_run(reinterpret_cast<std::uint16_t*>(y), x, n);
}

}  // namespace

template <>
void install(Half& kernels) {
    kernels = {widen, narrow};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
