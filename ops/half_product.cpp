#include <tapestry/ops/half_product.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/tensor.h>
#include <tapestry/ops/staging.h>

#include <algorithm>

namespace tapestry {
namespace {

// A block of C takes 1.5 MiB as f32, the parts of A and B for it at most 0.75 and 2 MiB.
constexpr std::int64_t kRows = 384, kColumns = 1024;
/// Steps of k at most, in pieces whose lengths differ by one at most: gemm.h's kBlockK.
constexpr std::int64_t kDepth = 512;
/// Numbers worth a thread.
constexpr std::int64_t kGrainOfLines = 16'384;

/// Element [i, j] lies at data + i * row + j * col; one of the two is 1.
template <class T>
struct Matrix {
    const T* data;
    std::int64_t row, col;
};

template <class F>
void for_lines(std::int64_t lines, std::int64_t length, bool serial, const F& f) {
    const auto some = [&f](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
    };
    if (serial) return some(0, lines);
    parallel_for(lines, kGrainOfLines / std::max<std::int64_t>(1, length), some);
}

/// Rows first_row .. + rows and columns first_col .. + cols of x as f32, in `room`, in the order in
/// which they lie.
template <class T>
Matrix<float> widened(const Matrix<T>& x, std::int64_t first_row, std::int64_t rows,
                      std::int64_t first_col, std::int64_t cols, float* room, bool serial) {
    const T* const from = x.data + first_row * x.row + first_col * x.col;
    if (x.col == 1) {
        for_lines(rows, cols, serial,
                  [=](std::int64_t i) { widen(room + i * cols, from + i * x.row, cols); });
        return {room, cols, 1};
    }
    for_lines(cols, rows, serial,
              [=](std::int64_t j) { widen(room + j * rows, from + j * x.col, rows); });
    return {room, 1, rows};
}

struct Block {
    std::int64_t begin, size;
};

/// Part `part` of `total` in `parts` whose lengths differ by one at most.
Block part_of(std::int64_t total, std::int64_t parts, std::int64_t part) {
    const std::int64_t begin = total * part / parts;
    return {begin, total * (part + 1) / parts - begin};
}

/// Room for a product's blocks: from the caching allocator, for they are large and come often.
class Room {
public:
    Room(std::int64_t m, std::int64_t n, std::int64_t depth)
        : a_({std::min(m, kRows) * depth}, DType::f32),
          b_({std::min(n, kColumns) * depth}, DType::f32),
          c_({std::min(m, kRows) * std::min(n, kColumns)}, DType::f32),
          bias_({std::min(n, kColumns)}, DType::f32) {}
    float* a() { return a_.mutable_data<float>(); }
    float* b() { return b_.mutable_data<float>(); }
    float* c() { return c_.mutable_data<float>(); }
    float* bias() { return bias_.mutable_data<float>(); }

private:
    Tensor a_, b_, c_, bias_;
};

template <class T>
void multiply_block(const kernels::GemmArguments<T>& g, const Block& rows, const Block& columns,
                    Room& room, bool serial) {
    const kernels::Gemm<float>& kernel = kernels::table<float>().gemm;
    const std::int64_t depths = (g.k + kDepth - 1) / kDepth;
    kernels::GemmArguments<float> wide;
    wide.m = rows.size;
    wide.n = columns.size;
    wide.c = room.c();
    wide.c_row = columns.size;
    if (g.bias != nullptr) {
        widen(room.bias(), g.bias + columns.begin, columns.size);
        wide.bias = room.bias();
    }
    for (std::int64_t i = 0; i < std::max<std::int64_t>(1, depths); ++i) {
        const Block depth = depths == 0 ? Block{0, 0} : part_of(g.k, depths, i);
        const Matrix<float> a = widened(Matrix<T>{g.a, g.a_row, g.a_col}, rows.begin, rows.size,
                                        depth.begin, depth.size, room.a(), serial);
        const Matrix<float> b = widened(Matrix<T>{g.b, g.b_row, g.b_col}, depth.begin, depth.size,
                                        columns.begin, columns.size, room.b(), serial);
        wide.k = depth.size;
        wide.a = a.data;
        wide.a_row = a.row;
        wide.a_col = a.col;
        wide.b = b.data;
        wide.b_row = b.row;
        wide.b_col = b.col;
        (serial ? kernel.gemm_serial : kernel.gemm)(wide);
        wide.bias = nullptr;
        wide.accumulate = true;
    }
    for_lines(rows.size, columns.size, serial, [&](std::int64_t i) {
        narrow(g.c + (rows.begin + i) * g.c_row + columns.begin, wide.c + i * wide.c_row,
               columns.size);
    });
}

template <class T>
void multiply(const kernels::GemmArguments<T>& g, bool serial) {
    if (g.m == 0 || g.n == 0) return;
    const std::int64_t down = (g.m + kRows - 1) / kRows, across = (g.n + kColumns - 1) / kColumns;
    Room room(g.m, g.n, std::min(g.k, kDepth));
    for (std::int64_t j = 0; j < across; ++j) {
        for (std::int64_t i = 0; i < down; ++i) {
            multiply_block(g, part_of(g.m, down, i), part_of(g.n, across, j), room, serial);
        }
    }
}

}  // namespace

void multiply_halves(const kernels::GemmArguments<Bf16>& g, bool serial) {
    const auto by_instruction = kernels::table<float>().half_gemm.multiply;
    // To put B in order takes longer than to multiply it with a few rows.
    constexpr std::int64_t kFewRows = 8;
    if (by_instruction != nullptr && g.m > kFewRows) return by_instruction(g, serial);
    multiply(g, serial);
}
void multiply_halves(const kernels::GemmArguments<F16>& g, bool serial) { multiply(g, serial); }

}  // namespace tapestry
