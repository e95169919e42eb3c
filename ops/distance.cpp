#include <tapestry/ops/distance.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <limits>

namespace tapestry {

Tensor cosine_similarity(const Tensor& x, const Tensor& y, int axis, double eps) {
    check_floating("cosine_similarity", x);
    check_same_dtype("cosine_similarity", x, y);
    require(eps > 0, "cosine_similarity: eps must be positive, got {}", eps);
    const Shape shape = broadcast_shapes("cosine_similarity", x.shape(), y.shape());
    if (is_narrow(x.dtype())) {
        return in_f32(
            [=](const Tensor& a, const Tensor& b) { return cosine_similarity(a, b, axis, eps); }, x,
            y);
    }
    // From the end, so it means the same for both.
    const int along = normalize_axis("cosine_similarity", axis, shape.rank()) - shape.rank();
    const auto direction = [&](const Tensor& v) {
        const Tensor wide = expand(v, shape);
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        return div(wide, clamp(norm(wide, 2, {along}, true), eps, kInfinity));
    };
    return sum(mul(direction(x), direction(y)), {along});
}

Tensor cdist(const Tensor& x, const Tensor& y, double p) {
    check_floating("cdist", x);
    check_same_dtype("cdist", x, y);
    require<ShapeError>(
        x.rank() >= 2 && y.rank() >= 2 && x.size(-1) == y.size(-1),
        "cdist: needs vectors of one size [..., P, M] and [..., R, M], got {} and {}", x.shape(),
        y.shape());
    return norm(sub(unsqueeze(x, -2), unsqueeze(y, -3)), p, {-1});
}

}  // namespace tapestry
