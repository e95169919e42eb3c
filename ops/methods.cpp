// Ops as members of Tensor, one line each: the functions of the same names. begin() is unbind.
#include <tapestry/core/tensor.h>

#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/scan.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

namespace tapestry {

using AxisList = std::vector<int>;

Tensor Tensor::sum(const AxisList& axes, bool keep) const {
    return tapestry::sum(*this, axes, keep);
}
Tensor Tensor::mean(const AxisList& axes, bool keep) const {
    return tapestry::mean(*this, axes, keep);
}
Tensor Tensor::max(const AxisList& axes, bool keep) const {
    return tapestry::max(*this, axes, keep);
}
Tensor Tensor::min(const AxisList& axes, bool keep) const {
    return tapestry::min(*this, axes, keep);
}
Tensor Tensor::any(const AxisList& axes, bool keep) const {
    return tapestry::any(*this, axes, keep);
}
Tensor Tensor::all(const AxisList& axes, bool keep) const {
    return tapestry::all(*this, axes, keep);
}
Tensor Tensor::var(const AxisList& axes, int correction, bool keep) const {
    return tapestry::var(*this, axes, correction, keep);
}
Tensor Tensor::stddev(const AxisList& axes, int correction, bool keep) const {
    return tapestry::stddev(*this, axes, correction, keep);
}
Tensor Tensor::norm(double p, const AxisList& axes, bool keep) const {
    return tapestry::norm(*this, p, axes, keep);
}
Tensor Tensor::argmax(int axis, bool keep) const { return tapestry::argmax(*this, axis, keep); }
Tensor Tensor::argmin(int axis, bool keep) const { return tapestry::argmin(*this, axis, keep); }

Tensor Tensor::reshape(const Shape& shape) const { return tapestry::reshape(*this, shape); }
Tensor Tensor::transpose(int axis0, int axis1) const {
    return tapestry::transpose(*this, axis0, axis1);
}
Tensor Tensor::permute(const AxisList& order) const { return tapestry::permute(*this, order); }
Tensor Tensor::flatten(int first, int last) const { return tapestry::flatten(*this, first, last); }
Tensor Tensor::squeeze(int axis) const { return tapestry::squeeze(*this, axis); }
Tensor Tensor::unsqueeze(int axis) const { return tapestry::unsqueeze(*this, axis); }
Tensor Tensor::expand(const Shape& shape) const { return tapestry::expand(*this, shape); }
Tensor Tensor::contiguous() const { return tapestry::contiguous(*this); }
Tensor Tensor::to(DType dtype) const { return tapestry::to(*this, dtype); }
Tensor Tensor::T() const {
    check_defined("T", *this);
    require<ShapeError>(rank() == 2, "T: needs a matrix, got {}; transpose names two axes", shape_);
    return tapestry::transpose(*this, 0, 1);
}

Tensor Tensor::abs() const { return tapestry::abs(*this); }
Tensor Tensor::square() const { return tapestry::square(*this); }
Tensor Tensor::sqrt() const { return tapestry::sqrt(*this); }
Tensor Tensor::exp() const { return tapestry::exp(*this); }
Tensor Tensor::log() const { return tapestry::log(*this); }
Tensor Tensor::pow(double exponent) const { return tapestry::pow(*this, exponent); }
Tensor Tensor::clamp(double low, double high) const { return tapestry::clamp(*this, low, high); }
Tensor Tensor::tanh() const { return tapestry::tanh(*this); }
Tensor Tensor::sigmoid() const { return tapestry::sigmoid(*this); }
Tensor Tensor::relu() const { return tapestry::relu(*this); }

Tensor Tensor::softmax(int axis) const { return tapestry::softmax(*this, axis); }
Tensor Tensor::log_softmax(int axis) const { return tapestry::log_softmax(*this, axis); }
Tensor Tensor::cumsum(int axis) const { return tapestry::cumsum(*this, axis); }
Tensor Tensor::matmul(const Tensor& b) const { return tapestry::matmul(*this, b); }

RowIterator Tensor::begin() const {
    check_defined("range-for", *this);
    require<ShapeError>(rank() > 0, "range-for: a scalar has no first axis");
    return RowIterator(unbind(*this));
}

}  // namespace tapestry
