#include <tapestry/ops/half_product.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/tensor.h>
#include <tapestry/ops/staging.h>

#include <algorithm>

namespace tapestry {
namespace {

/// Numbers worth a thread.
constexpr std::int64_t kGrainOfLines = 16'384;

template <class F>
void for_lines(std::int64_t lines, std::int64_t length, bool serial, const F& f) {
    const auto some = [&f](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
    };
    if (serial) return some(0, lines);
    parallel_for(lines, kGrainOfLines / std::max<std::int64_t>(1, length), some);
}

/// Numbers widened, in the order in which they lie: element [i, j] of `rows` x `cols` lies at
/// from + i * row + j * col, and one of the two strides is 1.
class WideMatrix {
public:
    WideMatrix(const F16* from, std::int64_t rows, std::int64_t cols, std::int64_t from_row,
               std::int64_t from_col, bool serial)
        : room_({rows, cols}, DType::f32),
          row_(from_col == 1 ? cols : 1),
          col_(from_col == 1 ? 1 : rows) {
        float* const to = room_.mutable_data<float>();
        const bool by_rows = from_col == 1;
        const std::int64_t lines = by_rows ? rows : cols, length = by_rows ? cols : rows;
        const std::int64_t stride = by_rows ? from_row : from_col;
        for_lines(lines, length, serial,
                  [=](std::int64_t i) { widen(to + i * length, from + i * stride, length); });
    }
    const float* data() const { return room_.data<float>(); }
    std::int64_t row() const { return row_; }
    std::int64_t col() const { return col_; }

private:
    Tensor room_;  // from the caching allocator
    std::int64_t row_, col_;
};

}  // namespace

void multiply_halves(const kernels::GemmArguments<Bf16>& g, bool serial) {
    const kernels::HalfGemm& kernel = kernels::table<float>().half_gemm;
    // To put B in order takes longer than to multiply it with a few rows.
    constexpr std::int64_t kFewRows = 8;
    const bool instruction = kernel.by_instruction != nullptr && g.m > kFewRows;
    (instruction ? kernel.by_instruction : kernel.in_f32)(g, serial);
}

void multiply_halves(const kernels::GemmArguments<F16>& g, bool serial) {
    if (g.m == 0 || g.n == 0) return;
    const WideMatrix a(g.a, g.m, g.k, g.a_row, g.a_col, serial);
    const WideMatrix b(g.b, g.k, g.n, g.b_row, g.b_col, serial);
    Tensor c({g.m, g.n}, DType::f32), bias({g.bias != nullptr ? g.n : 0}, DType::f32);
    kernels::GemmArguments<float> wide;
    wide.m = g.m;
    wide.n = g.n;
    wide.k = g.k;
    wide.a = a.data();
    wide.a_row = a.row();
    wide.a_col = a.col();
    wide.b = b.data();
    wide.b_row = b.row();
    wide.b_col = b.col();
    wide.c = c.mutable_data<float>();
    wide.c_row = g.n;
    if (g.bias != nullptr) {
        widen(bias.mutable_data<float>(), g.bias, g.n);
        wide.bias = bias.data<float>();
    }
    const kernels::Gemm<float>& kernel = kernels::table<float>().gemm;
    (serial ? kernel.gemm_serial : kernel.gemm)(wide);
    for_lines(g.m, g.n, serial,
              [&](std::int64_t i) { narrow(g.c + i * g.c_row, wide.c + i * g.n, g.n); });
}

}  // namespace tapestry
