// Orders are found without the tape and applied by gather(), which records.
#include <tapestry/ops/order.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/finite.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/order_rows.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry {
namespace {

Tensor order_along(std::string_view op, const Tensor& x, int axis, bool descending) {
    check_defined(op, x);
    const AxisLines lines = axis_lines(op, x, axis);
    return indices_of_lines(lines, lines.count, [=](auto* row, auto n, auto* order, auto& ranked) {
        order_row(ranked, row, n, descending);
        for (const auto& element : ranked) *order++ = element.index;
    });
}

}  // namespace

Selection sort(const Tensor& x, int axis, bool descending) {
    const Tensor order = order_along("sort", x, axis, descending);
    return {gather(x, axis, order), order};
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
    return order_along("argsort", x, axis, descending);
}

// ---- quantile -----------------------------------------------------------------------------------

namespace {

// The places of which each q takes its share, two for every q, in the order of the elements: NaN
// where there is one.
Tensor neighbours(const AxisLines& lines, const std::vector<double>& q) {
    std::vector<std::int64_t> places;
    for (const double share : q) {
        const double place = share * static_cast<double>(lines.count - 1);
        places.push_back(static_cast<std::int64_t>(std::floor(place)));
        places.push_back(static_cast<std::int64_t>(std::ceil(place)));
    }
    const auto count = static_cast<std::int64_t>(places.size());
    return indices_of_lines(lines, count, [&](auto* row, auto n, auto* found, auto& ranked) {
        const std::int64_t nan = first_nan(row, n);
        if (nan < n) {
            std::fill_n(found, count, nan);
            return;
        }
        order_row(ranked, row, n, false);
        for (const std::int64_t place : places) {
            *found++ = ranked[static_cast<std::size_t>(place)].index;
        }
    });
}

// (1 - share) low + share high. Of equals exactly what they are, where their distance is a number;
// of -inf and anything not the NaN of an infinite distance.
Tensor between(const Tensor& low, const Tensor& high, double share) {
    const Tensor distance = sub(high, low);
    const Tensor y = add(low, mul(distance, share));
    const Tensor finite = isfinite(distance.detach());
    if (all(finite).item<bool>()) return y;
    return where(finite, y, add(mul(low, 1 - share), mul(high, share)));
}

}  // namespace

Tensor quantile(const Tensor& x, const std::vector<double>& q, int axis, bool keepdim) {
    check_floating("quantile", x);
    require(!q.empty(), "quantile: got no q");
    for (const double share : q) {
        require(share >= 0 && share <= 1, "quantile: q = {} is not in [0, 1]", share);
    }
    const AxisLines lines = axis_lines("quantile", x, axis);
    require<ShapeError>(lines.count > 0, "quantile: axis {} of {} is empty", axis, x.shape());
    const Tensor near = gather(x, lines.axis, neighbours(lines, q));  // [.., 2 len(q), ..]
    Tensors results;
    for (std::size_t i = 0; i < q.size(); ++i) {
        const double place = q[i] * static_cast<double>(lines.count - 1);
        const double beyond = place - std::floor(place);
        const auto at = static_cast<std::int64_t>(2 * i);
        Tensor y = slice(near, lines.axis, at, at + 1);
        // Not for nothing: what is infinite beyond would make NaN of 0 times it.
        if (beyond > 0) y = between(y, slice(near, lines.axis, at + 1, at + 2), beyond);
        results.push_back(keepdim ? y : squeeze(y, lines.axis));
    }
    return stack(results, 0);
}

Tensor quantile(const Tensor& x, double q, int axis, bool keepdim) {
    return squeeze(quantile(x, std::vector<double>{q}, axis, keepdim), 0);
}

Tensor quantile(const Tensor& x, double q) {
    check_floating("quantile", x);
    return quantile(reshape(x, {x.numel()}), q, 0);
}

}  // namespace tapestry
