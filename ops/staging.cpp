#include <tapestry/ops/staging.h>

#include <tapestry/ops/kernels/table.h>

#include <algorithm>

namespace tapestry {

void widen(float* to, const Bf16* from, std::int64_t n, std::int64_t ahead) {
    kernels::table<float>().half.widen(to, from, n, ahead);
}

void narrow(Bf16* to, const float* from, std::int64_t n) {
    kernels::table<float>().half.narrow(to, from, n);
}

void widen(float* to, const F16* from, std::int64_t n, std::int64_t /*ahead*/) {
    std::copy(from, from + n, to);
}

void narrow(F16* to, const float* from, std::int64_t n) {
    std::transform(from, from + n, to, [](float x) { return F16(x); });
}

}  // namespace tapestry
