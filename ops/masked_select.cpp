// A mask is as good as the numbers at which it is true: the rest is index_select.
#include <tapestry/ops/masked_select.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {
namespace {

// Row-major numbers of the elements that are not 0. Every number is written, and the next one over
// it if it did not count: there is no branch to be mistaken in.
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

// The next index of `shape` in row-major order.
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
    std::int64_t begin = 0;  // of the row in which the place is
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
