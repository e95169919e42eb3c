// Passes rows of tensors to elementwise kernels. Half-precision rows go block by block, each
// widened, computed and rounded in L1.
#include <tapestry/ops/map.h>

#include <tapestry/ops/staging.h>

#include <algorithm>
#include <array>

namespace tapestry::detail {
namespace {

/// A kernel operand: adjacent elements (step 1) or one repeated value (step 0).
template <class T>
struct Operand {
    const T* x;
    std::int64_t step;
};

/// Calls run(y, x, n) for pieces of a row, with operands in their compute dtype. y may be an
/// operand.
template <class T, std::size_t N, class Run>
void run_row(T* y, const std::array<Operand<T>, N>& x, std::int64_t n, const Run& run) {
    if constexpr (!kIsNarrow<T>) {
        run(y, x, n);
    } else {
        alignas(64) float room[N][kStagedBlock];
        std::array<Operand<float>, N> wide{};
        for (std::size_t k = 0; k < N; ++k) {
            wide[k] = {room[k], x[k].step};
            if (x[k].step == 0) widen(room[k], x[k].x, 1);
        }
        alignas(64) float result[kStagedBlock];
        for (std::int64_t i = 0; i < n; i += kStagedBlock) {
            const std::int64_t length = std::min(kStagedBlock, n - i);
            for (std::size_t k = 0; k < N; ++k) {
                if (x[k].step != 0) widen(room[k], x[k].x + i, length);
            }
            run(result, wide, length);
            narrow(y + i, result, length);
        }
    }
}

// A kernel's operand may repeat one value or be contiguous; tensors with other inner strides are
// copied.
template <std::size_t N>
bool has_row(const Loop<N>& loop, std::size_t operand) {
    const std::int64_t step = loop.inner_stride(operand);
    return step == 0 || step == 1;
}

/// run_row() for every row of y and of x, broadcast to its shape.
template <class T, std::size_t N, class Run>
void run_rows(Tensor& y, std::array<Tensor, N> x, const Run& run) {
    const auto planned = [&] {
        std::array<Strides, N + 1> strides{y.strides()};
        for (std::size_t k = 0; k < N; ++k) strides[k + 1] = broadcast_strides(x[k], y.shape());
        return Loop<N + 1>(y.shape(), strides);
    };
    const Loop<N + 1> as_given = planned();
    for (std::size_t k = 0; k < N; ++k) {
        if (!has_row(as_given, k + 1)) x[k] = dense(x[k]);
    }
    const Loop<N + 1> loop = planned();
    std::array<const T*, N> from{};
    for (std::size_t k = 0; k < N; ++k) from[k] = x[k].template data<T>();
    T* const to = y.mutable_data<T>();
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        std::array<Operand<T>, N> row{};
        for (std::size_t k = 0; k < N; ++k) {
            row[k] = {from[k] + offsets[k + 1], loop.inner_stride(k + 1)};
        }
        run_row(to + offsets[0], row, n, run);
    });
}

}  // namespace

Tensor map_unary(std::string_view op, int function, const Tensor& x) {
    check_floating(op, x);
    const Tensor in = dense(x);
    Tensor y(x.shape(), x.dtype());
    visit_stored(op, x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto f = kernels::table<Compute<T>>().elementwise.unary[function];
        const T* from = in.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(y.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
            const std::array<Operand<T>, 1> row{{{from + begin, 1}}};
            run_row(to + begin, row, end - begin,
                    [f](auto* out, const auto& x_row, std::int64_t n) { f(out, x_row[0].x, n); });
        });
    });
    return y;
}

void map_binary_into(std::string_view op, int function, Tensor& y, const Tensor& a,
                     const Tensor& b) {
    visit_stored(op, y.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto f = kernels::table<Compute<T>>().elementwise.binary[function];
        run_rows<T, 2>(y, {a, b}, [f](auto* out, const auto& x, std::int64_t n) {
            f(out, x[0].x, x[0].step, x[1].x, x[1].step, n);
        });
    });
}

Tensor map_binary(std::string_view op, int function, const Tensor& a, const Tensor& b) {
    check_floating(op, a);
    check_same_dtype(op, a, b);
    Tensor y(broadcast_shapes(op, a.shape(), b.shape()), a.dtype());
    map_binary_into(op, function, y, a, b);
    return y;
}

Tensor map_ternary(std::string_view op, int function, const Tensor& a, const Tensor& b,
                   const Tensor& c) {
    check_floating(op, a);
    check_same_dtype(op, a, b);
    check_same_dtype(op, a, c);
    const Shape shape = broadcast_shapes(op, broadcast_shapes(op, a.shape(), b.shape()), c.shape());
    Tensor y(shape, a.dtype());
    visit_stored(op, a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto f = kernels::table<Compute<T>>().elementwise.ternary[function];
        run_rows<T, 3>(y, {a, b, c}, [f](auto* out, const auto& x, std::int64_t n) {
            f(out, x[0].x, x[0].step, x[1].x, x[1].step, x[2].x, x[2].step, n);
        });
    });
    return y;
}

}  // namespace tapestry::detail
