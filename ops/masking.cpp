// masked_fill is a where. The gradient of a triangle is the same triangle of g: one recorded
// function serves every order. masked_select is index_select at the indices where the mask is true.
#include <tapestry/ops/masking.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/integer.h>
#include <tapestry/ops/view.h>

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

// The columns kept in row i of each matrix: up to i + diagonal for the lower triangle, from
// i + diagonal for the upper one.
struct Triangle {
    bool lower;
    std::int64_t diagonal;

    std::int64_t edge(std::int64_t row, std::int64_t columns) const {
        // Clamps before adding, because i + diagonal may overflow.
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

// ---- nonzero, masked_select ---------------------------------------------------------------------

namespace {

// Row-major indices of the nonzero elements. Every index is written, and overwritten by the next if
// it did not count: no branch to mispredict.
Tensor places(const Tensor& x) {
    const Tensor row_major = dense(x);
    return visit_dtype(x.dtype(), [&](auto zero) {
        const auto* value = row_major.data<decltype(zero)>();
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < x.numel(); ++i) count += value[i] != zero ? 1 : 0;
        Tensor found({count + 1}, DType::i64);
        std::int64_t* to = found.mutable_data<std::int64_t>();
        for (std::int64_t i = 0; i < x.numel(); ++i) {
            *to = i;
            to += value[i] != zero ? 1 : 0;
        }
        return views::slice(found, 0, 0, count);
    });
}

// Advances `index` to the next position of `shape` in row-major order.
void advance(Shape& index, const Shape& shape) {
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        if (++index[axis] < shape[axis]) return;
        index[axis] = 0;
    }
}

}  // namespace

Tensor nonzero(const Tensor& x) {
    check_defined("nonzero", x);
    const Tensor found = places(x);
    Tensor table({found.numel(), x.rank()}, DType::i64);
    if (table.numel() == 0) return table;
    const Shape leading = x.shape().sub(0, x.rank() - 1);
    const std::int64_t width = x.shape().back();
    const std::int64_t* place = found.data<std::int64_t>();
    std::int64_t* to = table.mutable_data<std::int64_t>();
    std::int64_t begin = 0;  // start of the row that contains the element
    Shape row = Shape::filled(leading.rank(), 0);
    for (std::int64_t i = 0; i < found.numel(); ++i) {
        for (; place[i] - begin >= width; begin += width) advance(row, leading);
        to = std::copy(row.begin(), row.end(), to);
        *to++ = place[i] - begin;
    }
    return table;
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
    check_defined("masked_select", x);
    check_dtype("masked_select", mask, DType::boolean);
    const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
    const Tensor ids = places(views::expand(mask, shape));
    const Tensor whole = shape == x.shape() ? x : expand(x, shape);
    return index_select(reshape(whole, {whole.numel()}), 0, ids);
}

}  // namespace tapestry
