// A running sum is its own mirror image: the rule for one direction is the other, and so to any
// order.
#include <tapestry/ops/scan.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/scan_lines.h>

#include <algorithm>

namespace tapestry {
namespace {

Tensor scan(const Tensor& x, int axis, bool reverse);

struct CumsumOp final : ScanOp {
    CumsumOp(int along, bool from_end) : ScanOp("cumsum", along, from_end) {}
    Tensors forward(const Tensors& x) const override { return {scan(x[0], axis, reverse)}; }
    Tensors backward(const Tensors& grads) override { return {scan(grads[0], axis, !reverse)}; }
};

Tensor scan(const Tensor& x, int axis, bool reverse) {
    Tensor y = running_total(x, axis, reverse, 0, [](auto sum, auto term) { return sum + term; });
    return record<CumsumOp>({x}, y, axis, reverse);
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
    check_defined("cumsum", x);
    const int along = normalize_axis("cumsum", axis, std::max(x.rank(), 1));
    return scan(x.dtype() == DType::boolean ? cast(x, DType::i64) : x, along, false);
}

}  // namespace tapestry
