// A running sum is its own mirror image: the rule for one direction is the other, and so to any
// order.
#include <tapestry/ops/scan.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace tapestry {
namespace {

// Columns that run side by side, so that memory is read in order.
constexpr std::int64_t kColumns = 64;

// Whole numbers wrap round where a signed sum would be undefined.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, double>;

// x, y [n, inner]: columns [first, first + width) of it; step is inner, or -inner from the end.
template <class T>
void scan_columns(T* y, const T* x, std::int64_t n, std::int64_t step, std::int64_t width) {
    std::array<Total<T>, kColumns> total{};
    for (std::int64_t i = 0; i < n; ++i, x += step, y += step) {
        for (std::int64_t j = 0; j < width; ++j) {
            auto& sum = total[static_cast<std::size_t>(j)];
            sum += static_cast<Total<T>>(x[j]);
            y[j] = static_cast<T>(sum);
        }
    }
}

template <class T>
void scan_all(T* y, const T* x, const Shape& shape, int axis, bool reverse) {
    if (numel(shape) == 0) return;
    const std::int64_t n = shape[axis];
    const std::int64_t inner = numel(shape.sub(axis + 1, shape.rank()));
    const std::int64_t outer = numel(shape.sub(0, axis));
    const std::int64_t strips = (inner + kColumns - 1) / kColumns;
    const std::int64_t grain = kGrain / (n * std::min(inner, kColumns));
    parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t column = unit % strips * kColumns;
            const std::int64_t first = reverse ? (n - 1) * inner : 0;
            const std::int64_t at = unit / strips * n * inner + first + column;
            scan_columns(y + at, x + at, n, reverse ? -inner : inner,
                         std::min(kColumns, inner - column));
        }
    });
}

Tensor scan(const Tensor& x, int axis, bool reverse);

struct CumsumOp final : Op {
    CumsumOp(int along, bool from_end) : Op("cumsum"), axis(along), reverse(from_end) {}
    Tensors forward(const Tensors& x) const override { return {scan(x[0], axis, reverse)}; }
    Tensors backward(const Tensors& grads) override { return {scan(grads[0], axis, !reverse)}; }
    std::string attributes() const override {
        return fmt::format("axis={}{}", axis, reverse ? ", reverse" : "");
    }
    int axis;
    bool reverse;
};

Tensor scan(const Tensor& x, int axis, bool reverse) {
    const Tensor from = dense(x);
    Tensor y(x.shape(), x.dtype());
    Shape shape = x.shape();
    if (shape.empty()) shape.push_back(1);  // a scalar is a row of one
    visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool>) {
            scan_all(y.mutable_data<T>(), from.data<T>(), shape, axis, reverse);
        }
    });
    return record<CumsumOp>({x}, y, axis, reverse);
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
    check_defined("cumsum", x);
    const int along = normalize_axis("cumsum", axis, std::max(x.rank(), 1));
    return scan(x.dtype() == DType::boolean ? cast(x, DType::i64) : x, along, false);
}

}  // namespace tapestry
