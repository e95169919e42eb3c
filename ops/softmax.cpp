#include <tapestry/ops/softmax.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rows.h>

#include <limits>

namespace tapestry {
namespace {

// An exponential costs about as much as eight additions.
constexpr std::int64_t kGrainOfRows = kGrain / 8;

int softmax_axis(std::string_view op, const Tensor& x, int axis) {
    check_floating(op, x);
    return normalize_axis(op, axis, std::max(x.rank(), 1));  // a scalar is a row of one
}

// x with `axis` last, dense. Exchanging axes is its own inverse.
Tensor as_rows(const Tensor& x, int axis) {
    return dense(x.rank() == 0 ? x : views::transpose(x, axis, -1));
}

Tensor from_rows(const Tensor& y, int axis) {
    return y.rank() == 0 || axis == y.rank() - 1 ? y : views::transpose(y, axis, -1).clone();
}

// `choose` takes a kernel from kernels::Softmax<T>.
template <class Choose>
Tensor forward_of(const Tensor& x, int axis, const Choose& choose) {
    const Tensor from = as_rows(x, axis);
    Tensor y(from.shape(), x.dtype());
    for_rows(
        "softmax", x.dtype(), last_axis_rows(from, kGrainOfRows),
        [&](const auto& k) { return choose(k.softmax); }, written(y), read(from));
    return from_rows(y, axis);
}

template <class Choose>
Tensor backward_of(const Tensor& y, const Tensor& grad, int axis, const Choose& choose) {
    const Tensor ys = as_rows(y, axis);
    const Tensor gs = as_rows(grad, axis);
    Tensor dx(ys.shape(), y.dtype());
    for_rows(
        "softmax", y.dtype(), last_axis_rows(ys, kGrainOfRows),
        [&](const auto& k) { return choose(k.softmax); }, written(dx), read(ys), read(gs));
    return from_rows(dx, axis);
}

// For the plain forms. {} means all axes, which for a scalar is the same.
std::vector<int> axes_of(const Tensor& x, int axis) {
    return x.rank() == 0 ? std::vector<int>{} : std::vector<int>{axis};
}

// x minus its largest value, so exp does not overflow; rows of -inf stay -inf.
Tensor below_largest(const Tensor& x, int axis) {
    const Tensor largest = max(x.detach(), axes_of(x, axis), true);
    const Tensor none = eq(largest, -std::numeric_limits<double>::infinity());
    return sub(x, where(none, scalar(0, x.dtype()), largest));
}

Tensor plain_softmax(const Tensor& x, int axis) {
    const Tensor e = exp(below_largest(x, axis));
    const Tensor total = sum(e, axes_of(x, axis), true);  // at least 1, or 0 if all were -inf
    return div(e, where(eq(total, 0), scalar(1, x.dtype()), total));
}

Tensor plain_log_softmax(const Tensor& x, int axis) {
    const Tensor less = below_largest(x, axis);
    const Tensor total = sum(exp(less), axes_of(x, axis), true);
    return sub(less, log(where(eq(total, 0), scalar(1, x.dtype()), total)));
}

bool is_plain(const Tensor& x) { return !fusion_enabled() && x.numel() > 0; }

struct RowOp : Op {
    RowOp(const char* name, const Tensor& y, int along) : Op(name, {y}), axis(along) {}
    std::string attributes() const override { return fmt::format("axis={}", axis); }
    double flops() const override { return 5.0 * static_cast<double>(numel(outputs()[0].shape)); }
    std::vector<int> axes() const { return axes_of(saved(0), axis); }
    int axis;
};

}  // namespace

// ---- softmax ------------------------------------------------------------------------------------

namespace {
struct SoftmaxOp final : RowOp {
    SoftmaxOp(const Tensor& y, int along) : RowOp("softmax", y, along) {}
    Tensors forward(const Tensors& x) const override { return {softmax(x[0], axis)}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& y = saved(0);
        const Tensor& g = grads[0];
        if (!is_recording()) {
            return {backward_of(y, g, axis, [](const auto& k) { return k.softmax_backward; })};
        }
        return {mul(y, sub(g, sum(mul(g, y), axes(), true)))};
    }
};
}  // namespace

Tensor softmax(const Tensor& x, int axis) {
    const int along = softmax_axis("softmax", x, axis);
    if (is_plain(x)) return plain_softmax(x, along);
    Tensor y = forward_of(x, along, [](const auto& k) { return k.softmax; });
    return record<SoftmaxOp>({x}, y, y, along);
}

// ---- log_softmax --------------------------------------------------------------------------------

namespace {
struct LogSoftmaxOp final : RowOp {
    LogSoftmaxOp(const Tensor& y, int along) : RowOp("log_softmax", y, along) {}
    Tensors forward(const Tensors& x) const override { return {log_softmax(x[0], axis)}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& y = saved(0);
        const Tensor& g = grads[0];
        if (!is_recording()) {
            return {backward_of(y, g, axis, [](const auto& k) { return k.log_softmax_backward; })};
        }
        return {sub(g, mul(exp(y), sum(g, axes(), true)))};
    }
};
}  // namespace

Tensor log_softmax(const Tensor& x, int axis) {
    const int along = softmax_axis("log_softmax", x, axis);
    if (is_plain(x)) return plain_log_softmax(x, along);
    Tensor y = forward_of(x, along, [](const auto& k) { return k.log_softmax; });
    return record<LogSoftmaxOp>({x}, y, y, along);
}

}  // namespace tapestry
