// Indices are computed without the tape; values are read by gather(), which records.
#include <tapestry/ops/order.h>

#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/order_rows.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry {

// ---- a few of each line -------------------------------------------------------------------------

namespace {

Selection taken(const Tensor& x, int axis, const Tensor& indices) {
    return {gather(x, axis, indices), indices};
}

// One element of each line; indices have size 1 along the axis.
Selection taken_one(const Tensor& x, int axis, const Tensor& indices, bool keepdim) {
    Selection one = taken(x, axis, indices);
    return keepdim ? one : Selection{squeeze(one.values, axis), squeeze(one.indices, axis)};
}

// Index of the k-th smallest of a row, counted from 1.
template <class T>
std::int64_t place_of_kth(std::vector<Ranked<T>>& ranked, const T* x, std::int64_t n,
                          std::int64_t k) {
    order_row(ranked, x, n, false);  // radix sort: faster than std::nth_element
    return ranked[static_cast<std::size_t>(k - 1)].index;
}

}  // namespace

Selection topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
    check_defined("topk", x);
    const AxisLines lines = axis_lines("topk", x, axis);
    require(k >= 0, "topk: k must be >= 0, got {}", k);
    require<ShapeError>(k <= lines.count, "topk: k = {} is more than the size of axis {} of {}", k,
                        axis, x.shape());
    return taken(x, lines.axis,
                 indices_of_lines(lines, k, [=](auto* row, auto n, auto* top, auto& best) {
                     first_of_row(best, row, n, k, largest);
                     for (const auto& element : best) *top++ = element.index;
                 }));
}

Selection kthvalue(const Tensor& x, std::int64_t k, int axis, bool keepdim) {
    check_defined("kthvalue", x);
    const AxisLines lines = axis_lines("kthvalue", x, axis);
    require<ShapeError>(k >= 1 && k <= lines.count,
                        "kthvalue: k = {} is not a position from 1 to {} along axis {} of {}", k,
                        lines.count, axis, x.shape());
    const Tensor chosen =
        indices_of_lines(lines, 1, [=](auto* row, auto n, auto* place, auto& ranked) {
            *place = place_of_kth(ranked, row, n, k);
        });
    return taken_one(x, lines.axis, chosen, keepdim);
}

Selection median(const Tensor& x, int axis, bool keepdim) {
    check_defined("median", x);
    const AxisLines lines = axis_lines("median", x, axis);
    require<ShapeError>(lines.count > 0, "median: axis {} of {} is empty", axis, x.shape());
    const Tensor chosen =
        indices_of_lines(lines, 1, [](auto* row, auto n, auto* place, auto& ranked) {
            const std::int64_t nan = first_nan(row, n);
            *place = nan < n ? nan : place_of_kth(ranked, row, n, (n + 1) / 2);
        });
    return taken_one(x, lines.axis, chosen, keepdim);
}

Tensor median(const Tensor& x) {
    check_defined("median", x);
    return median(reshape(x, {x.numel()}), 0).values;
}

Selection max_with_indices(const Tensor& x, int axis, bool keepdim) {
    check_defined("max_with_indices", x);
    const int a = normalize_axis("max_with_indices", axis, x.rank());
    require<ShapeError>(x.size(a) > 0, "max_with_indices: axis {} of {} is empty", axis, x.shape());
    return taken_one(x, a, argmax(x, a, true), keepdim);
}

Selection min_with_indices(const Tensor& x, int axis, bool keepdim) {
    check_defined("min_with_indices", x);
    const int a = normalize_axis("min_with_indices", axis, x.rank());
    require<ShapeError>(x.size(a) > 0, "min_with_indices: axis {} of {} is empty", axis, x.shape());
    return taken_one(x, a, argmin(x, a, true), keepdim);
}

// ---- sort ---------------------------------------------------------------------------------------

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
    return taken(x, axis, order_along("sort", x, axis, descending));
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
    return order_along("argsort", x, axis, descending);
}

// ---- quantile -----------------------------------------------------------------------------------

namespace {

// Indices of the two sorted elements around each q; of the first NaN if there is one.
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

// (1 - share) low + share high. Exact for equal finite operands; the second form avoids a NaN from
// an infinite distance where the result is defined.
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
        require(share >= 0 && share <= 1, "quantile: q must be in [0, 1], got {}", share);
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
        // Skips beyond = 0, because 0 times an infinite neighbour would be NaN.
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

// ---- unique, bincount ---------------------------------------------------------------------------
// Both run on one thread: unique counts in sorted order, bincount adds in place.

Unique unique(const Tensor& x) {
    check_defined("unique", x);
    require<ShapeError>(x.numel() < std::int64_t{1} << 32, "unique: {} has too many elements",
                        x.shape());
    const Tensor from = dense(x);
    Tensor inverse(x.shape(), DType::i64);
    std::int64_t* place = inverse.mutable_data<std::int64_t>();
    std::vector<std::int64_t> counts;
    const Tensor values = visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* element = from.data<T>();
        std::vector<Ranked<T>> ranked;
        order_row(ranked, element, x.numel(), false);
        Tensor found({x.numel()}, x.dtype());
        T* to = found.mutable_data<T>();
        for (std::size_t i = 0; i < ranked.size(); ++i) {
            if (i == 0 || ranked[i].key != ranked[i - 1].key) {
                *to++ = element[ranked[i].index];
                counts.push_back(0);
            }
            ++counts.back();
            place[ranked[i].index] = static_cast<std::int64_t>(counts.size()) - 1;
        }
        return views::slice(found, 0, 0, static_cast<std::int64_t>(counts.size())).clone();
    });
    return {values, inverse, tensor(counts, {static_cast<std::int64_t>(counts.size())})};
}

Tensor bincount(const Tensor& x, std::int64_t minlength) {
    check_dtype("bincount", x, DType::i64);
    require(minlength >= 0, "bincount: minlength must be >= 0, got {}", minlength);
    const Tensor from = dense(x);
    const std::int64_t* element = from.data<std::int64_t>();
    constexpr std::int64_t kTooLarge = std::int64_t{1} << 48;  // for memory and for a shape
    std::int64_t n = minlength;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        require(element[i] >= 0 && element[i] < kTooLarge,
                "bincount: element {} of {} is {}, not a number from 0 to 2^48 - 1", i, x.shape(),
                element[i]);
        n = std::max(n, element[i] + 1);
    }
    Tensor counts = zeros({n}, DType::i64);
    std::int64_t* count = counts.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < x.numel(); ++i) ++count[element[i]];
    return counts;
}

// ---- searchsorted, histc ------------------------------------------------------------------------

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
    check_same_dtype("searchsorted", sorted, values);
    require<ShapeError>(sorted.rank() >= 1, "searchsorted: the sorted tensor is a scalar");
    const bool one_line = sorted.rank() == 1;
    const auto before = [](const Tensor& x) { return x.shape().sub(0, x.rank() - 1); };
    require<ShapeError>(
        one_line || (values.rank() == sorted.rank() && before(values) == before(sorted)),
        "searchsorted: {} has other axes before the last than {}", values.shape(), sorted.shape());
    const Tensor lines = dense(sorted), sought = dense(values);
    Tensor y(values.shape(), DType::i64);
    auto* const to = y.mutable_data<std::int64_t>();
    const std::int64_t n = sorted.size(-1);
    const std::int64_t per_line = one_line ? std::max<std::int64_t>(1, values.numel())
                                           : std::max<std::int64_t>(1, values.size(-1));
    visit_dtype(sorted.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* const all = lines.data<T>();
        const T* const value = sought.data<T>();
        // NaN is larger than every number.
        const auto less = [](T a, T b) {
            const auto p = static_cast<Compute<T>>(a), q = static_cast<Compute<T>>(b);
            return p < q || (q != q && p == p);
        };
        parallel_for(values.numel(), kGrain / 8, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T* const line = all + i / per_line * n;
                to[i] = (right ? std::upper_bound(line, line + n, value[i], less)
                               : std::lower_bound(line, line + n, value[i], less)) -
                        line;
            }
        });
    });
    return y;
}

Tensor histc(const Tensor& x, std::int64_t bins, double low, double high) {
    const FloatingPointGuard standard;
    check_floating("histc", x);
    require(bins >= 1, "histc: the number of bins must be positive, got {}", bins);
    require(low < high && std::isfinite(low) && std::isfinite(high),
            "histc: the range must be finite and not empty, got [{}, {}]", low, high);
    const Tensor from = dense(x);
    Tensor counts = zeros({bins}, DType::i64);
    auto* const count = counts.mutable_data<std::int64_t>();
    // In halves where high - low overflows; halves of the smallest numbers may be equal.
    const double unit = std::isfinite(high - low) ? 1 : 0.5;
    visit_dtype(x.dtype(), [&](auto zero) {
        const auto* const element = from.data<decltype(zero)>();
        for (std::int64_t i = 0; i < x.numel(); ++i) {
            const auto value =
                static_cast<double>(static_cast<Compute<decltype(zero)>>(element[i]));
            if (!(value >= low && value <= high)) continue;
            const double share = (value * unit - low * unit) / (high * unit - low * unit);
            const auto bin = static_cast<std::int64_t>(share * static_cast<double>(bins));
            ++count[std::min(bin, bins - 1)];
        }
    });
    return counts;
}

}  // namespace tapestry
