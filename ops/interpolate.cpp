// Rows first, then columns, each chosen by number or mixed of two: what is composed here has the
// gradients of index_select and mul.
#include <tapestry/ops/interpolate.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {
namespace {

Tensor nearest(const Tensor& x, int axis, std::int64_t size) {
    std::vector<std::int64_t> chosen;
    for (std::int64_t p = 0; p < size; ++p) chosen.push_back(p * x.size(axis) / size);
    return index_select(x, axis, tensor(chosen, {size}));
}

// x[low] + (x[high] - x[low]) share, the share being that of the farther pixel.
Tensor linear_between(const Tensor& x, int axis, std::int64_t size) {
    const std::int64_t last = x.size(axis) - 1;
    const double step = static_cast<double>(x.size(axis)) / static_cast<double>(size);
    std::vector<std::int64_t> low, high;
    std::vector<double> shares;
    for (std::int64_t p = 0; p < size; ++p) {
        const double at = std::max(0.0, (static_cast<double>(p) + 0.5) * step - 0.5);
        low.push_back(std::min(static_cast<std::int64_t>(at), last));
        high.push_back(std::min(low.back() + 1, last));
        shares.push_back(at - static_cast<double>(low.back()));
    }
    Shape along = Shape::filled(x.rank() - axis, 1);
    along[0] = size;
    Tensor share(along, x.dtype());
    share.copy_(tensor(shares, along));
    const Tensor from = index_select(x, axis, tensor(low, {size}));
    const Tensor to = index_select(x, axis, tensor(high, {size}));
    return add(from, mul(sub(to, from), share));
}

}  // namespace

Tensor interpolate(const Tensor& x, const Size2d& size, Interpolation method) {
    check_floating("interpolate", x);
    require<ShapeError>(x.rank() == 4, "interpolate: needs an input [N, C, H, W], got {}",
                        x.shape());
    require<ShapeError>(x.size(2) > 0 && x.size(3) > 0, "interpolate: images {} have no pixels",
                        x.shape());
    require<ShapeError>(size.rows > 0 && size.columns > 0,
                        "interpolate: a size of {} x {} is not positive", size.rows, size.columns);
    const auto along = method == Interpolation::nearest ? nearest : linear_between;
    return along(along(x, 2, size.rows), 3, size.columns);
}

}  // namespace tapestry
