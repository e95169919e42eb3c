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

void widen_rows(float* to, const Bf16* from, std::int64_t row, std::int64_t count,
                std::int64_t width) {
    kernels::table<float>().half.widen_rows(to, from, row, count, width);
}

void narrow_rows(Bf16* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width) {
    kernels::table<float>().half.narrow_rows(to, row, from, count, width);
}

void widen_rows(float* to, const F16* from, std::int64_t row, std::int64_t count,
                std::int64_t width) {
    for (std::int64_t i = 0; i < count; ++i) widen(to + i * width, from + i * row, width);
}

void narrow_rows(F16* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width) {
    for (std::int64_t i = 0; i < count; ++i) narrow(to + i * row, from + i * width, width);
}

}  // namespace tapestry
