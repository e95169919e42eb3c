// Rows first, then columns, each selected by index or interpolated between two; gradients come from
// index_select and mul.
#include <tapestry/ops/pooling.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/windows.h>

#include <algorithm>
#include <vector>

namespace tapestry {
namespace {

Tensor nearest(const Tensor& x, int axis, std::int64_t size) {
    std::vector<std::int64_t> chosen;
    for (std::int64_t p = 0; p < size; ++p) chosen.push_back(p * x.size(axis) / size);
    return index_select(x, axis, tensor(chosen, {size}));
}

// Where element p of `size` lies between the elements of an axis of `from`.
double source_of(std::int64_t p, std::int64_t size, std::int64_t from, bool align_corners) {
    const auto at = static_cast<double>(p), all = static_cast<double>(size);
    const auto last = static_cast<double>(from - 1);
    if (align_corners) return size == 1 ? 0 : at * last / (all - 1);
    return std::max(0.0, (at + 0.5) * (last + 1) / all - 0.5);
}

// x[low] + (x[high] - x[low]) share, where share is the weight of x[high].
Tensor linear_between(const Tensor& x, int axis, std::int64_t size, bool align_corners) {
    const std::int64_t last = x.size(axis) - 1;
    std::vector<std::int64_t> low, high;
    std::vector<double> shares;
    for (std::int64_t p = 0; p < size; ++p) {
        const double at = source_of(p, size, x.size(axis), align_corners);
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

Tensor interpolate(const Tensor& x, const Size2d& size, Interpolation method, bool align_corners) {
    const FloatingPointGuard standard;
    check_resize("interpolate", x, size);
    require(method == Interpolation::bilinear || !align_corners,
            "interpolate: align_corners is for bilinear; nearest has no corners to align");
    if (method == Interpolation::nearest) return nearest(nearest(x, 2, size.rows), 3, size.columns);
    return linear_between(linear_between(x, 2, size.rows, align_corners), 3, size.columns,
                          align_corners);
}

}  // namespace tapestry
