// masked_fill is a where. A triangle of the gradient is the gradient of a triangle: one function,
// which records itself, serves every order.
#include <tapestry/ops/masking.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/whole.h>

#include <algorithm>

namespace tapestry {

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
    check_defined("masked_fill", x);
    check_dtype("masked_fill", mask, DType::boolean);
    require<ShapeError>(broadcast_shapes("masked_fill", mask.shape(), x.shape()) == x.shape(),
                        "masked_fill: the mask {} does not broadcast to {}", mask.shape(),
                        x.shape());
    return where(mask, element_like("masked_fill", x, value), x);
}

// ---- tril and triu ------------------------------------------------------------------------------

namespace {

// Keeps columns [first, last) of row i of each matrix; of the lower triangle it is the first ones,
// up to i + diagonal, of the upper one the last ones, from i + diagonal.
struct Triangle {
    bool lower;
    std::int64_t diagonal;

    std::int64_t edge(std::int64_t row, std::int64_t columns) const {
        // In this order because i + diagonal may not fit: any diagonal beyond +-columns is alike.
        const std::int64_t d = std::clamp(diagonal, -row - 1, columns);
        return std::clamp<std::int64_t>(row + d + (lower ? 1 : 0), 0, columns);
    }
};

Tensor triangle(const Tensor& x, const Triangle& kept);

struct TriangleOp final : Op {
    explicit TriangleOp(const Triangle& kept) : Op(kept.lower ? "tril" : "triu"), kept_(kept) {}
    std::string attributes() const override { return fmt::format("diagonal={}", kept_.diagonal); }
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override { return {triangle(x[0], kept_)}; }
    Tensors backward(const Tensors& grads) override { return {triangle(grads[0], kept_)}; }

private:
    Triangle kept_;
};

template <class T>
void copy_triangle(const Tensor& from, Tensor& to, const Triangle& kept) {
    const std::int64_t rows = from.size(-2);
    const std::int64_t columns = from.size(-1);
    const T* source = from.data<T>();
    T* target = to.mutable_data<T>();
    const std::int64_t grain = kGrain / std::max<std::int64_t>(1, columns);
    const std::int64_t all_rows = columns > 0 ? from.numel() / columns : 0;
    parallel_for(all_rows, grain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
            const T* x = source + r * columns;
            T* y = target + r * columns;
            const std::int64_t edge = kept.edge(r % rows, columns);
            const std::int64_t first = kept.lower ? 0 : edge;
            const std::int64_t last = kept.lower ? edge : columns;
            std::fill(y, y + first, T(0));
            std::copy(x + first, x + last, y + first);
            std::fill(y + last, y + columns, T(0));
        }
    });
}

Tensor triangle(const Tensor& x, const Triangle& kept) {
    const Tensor in = dense(x);
    Tensor y(x.shape(), x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) { copy_triangle<decltype(zero)>(in, y, kept); });
    return record<TriangleOp>({x}, y, kept);
}

void check_matrix(std::string_view op, const Tensor& x) {
    check_defined(op, x);
    require<ShapeError>(x.rank() >= 2, "{}: needs a matrix [..., M, N], got {}", op, x.shape());
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) {
    check_matrix("tril", x);
    return triangle(x, {true, diagonal});
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
    check_matrix("triu", x);
    return triangle(x, {false, diagonal});
}

}  // namespace tapestry
