// What is chosen is found without the tape and taken by gather(), which records.
#include <tapestry/ops/selection.h>

#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/order_rows.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

Selection taken(const Tensor& x, int axis, const Tensor& indices) {
    return {gather(x, axis, indices), indices};
}

// One of each line; indices have the axis with size 1.
Selection taken_one(const Tensor& x, int axis, const Tensor& indices, bool keepdim) {
    Selection one = taken(x, axis, indices);
    return keepdim ? one : Selection{squeeze(one.values, axis), squeeze(one.indices, axis)};
}

// The k-th smallest of a row, k counted from 1.
template <class T>
std::int64_t place_of_kth(std::vector<Ranked<T>>& ranked, const T* x, std::int64_t n,
                          std::int64_t k) {
    order_row(ranked, x, n, false);  // by counting: quicker than std::nth_element
    return ranked[static_cast<std::size_t>(k - 1)].index;
}

}  // namespace

Selection topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
    check_defined("topk", x);
    const AxisLines lines = axis_lines("topk", x, axis);
    require(k >= 0, "topk: k = {} is negative", k);
    require<ShapeError>(k <= lines.count, "topk: k = {} is more than axis {} of {} holds", k, axis,
                        x.shape());
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
                        "kthvalue: k = {} is not a place from 1 to {} along axis {} of {}", k,
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

}  // namespace tapestry
