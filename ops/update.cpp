#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/update.h>

#include <cmath>

namespace tapestry {
namespace {

void check_beside(std::string_view op, std::string_view name, const Tensor& p, const Tensor& x) {
    check_same_dtype(op, p, x);
    require<ShapeError>(x.shape() == p.shape(), "{}: {} is {} for a parameter {}", op, name,
                        x.shape(), p.shape());
}

void check_contiguous(std::string_view op, std::string_view name, const Tensor& x) {
    require<ShapeError>(x.is_contiguous(), "{}: {} {} is not contiguous", op, name, x.shape());
}

// What a step writes beside the parameter `p`.
void check_state(std::string_view op, std::string_view name, const Tensor& p, const Tensor& x) {
    check_beside(op, name, p, x);
    check_contiguous(op, name, x);
    require(x.storage() != p.storage() || x.offset() != p.offset(),
            "{}: {} is the parameter itself", op, name);
}

void check_adam(const AdamUpdate& u) {
    require(u.step >= 1, "adamw_update_: step {} is not counted from 1", u.step);
    require(u.beta1 >= 0 && u.beta1 < 1, "adamw_update_: beta1 {} is not in [0, 1)", u.beta1);
    require(u.beta2 >= 0 && u.beta2 < 1, "adamw_update_: beta2 {} is not in [0, 1)", u.beta2);
    require(u.eps >= 0, "adamw_update_: eps {} is negative", u.eps);
}

template <class T>
kernels::AdamStep<T> adam_step(const AdamUpdate& u) {
    const auto t = static_cast<double>(u.step);
    const double shrink = u.decoupled ? 1 - u.lr * u.weight_decay : 1;
    kernels::AdamStep<T> step{};
    step.grad_scale = static_cast<T>(u.grad_scale);
    step.l2 = static_cast<T>(u.decoupled ? 0 : u.weight_decay);
    step.shrink = static_cast<T>(shrink);
    step.beta1_rest = static_cast<T>(1 - u.beta1);
    step.beta2 = static_cast<T>(u.beta2);
    step.beta2_rest = static_cast<T>(1 - u.beta2);
    step.step_size = static_cast<T>(u.lr / (1 - std::pow(u.beta1, t)));
    step.root_scale = static_cast<T>(1 / std::sqrt(1 - std::pow(u.beta2, t)));
    step.eps = static_cast<T>(u.eps);
    return step;
}

template <class T>
kernels::SgdStep<T> sgd_step(const SgdUpdate& u) {
    kernels::SgdStep<T> step{};
    step.grad_scale = static_cast<T>(u.grad_scale);
    step.l2 = static_cast<T>(u.weight_decay);
    step.momentum = static_cast<T>(u.momentum);
    step.intake = static_cast<T>(u.first ? 1 : 1 - u.dampening);
    step.lr = static_cast<T>(u.lr);
    step.nesterov = u.nesterov;
    return step;
}

}  // namespace

void adamw_update_(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, const AdamUpdate& update) {
    constexpr std::string_view kOp = "adamw_update_";
    check_floating(kOp, p);
    check_adam(update);
    check_contiguous(kOp, "the parameter", p);
    check_state(kOp, "m", p, m);
    check_state(kOp, "v", p, v);
    check_beside(kOp, "the gradient", p, grad);
    const Tensor from = dense(grad);
    visit_floating(kOp, p.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().update.adam;
        const kernels::AdamStep<T> step = adam_step<T>(update);
        T* const values = p.mutable_data<T>();
        T* const first = m.mutable_data<T>();
        T* const second = v.mutable_data<T>();
        const T* const g = from.data<T>();
        parallel_for(p.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
            kernel(values + begin, first + begin, second + begin, g + begin, end - begin, step);
        });
    });
}

void sgd_update_(Tensor& p, const Tensor& grad, Tensor& buffer, const SgdUpdate& update) {
    constexpr std::string_view kOp = "sgd_update_";
    check_floating(kOp, p);
    check_contiguous(kOp, "the parameter", p);
    check_beside(kOp, "the gradient", p, grad);
    const bool momentum = update.momentum != 0;
    require(momentum || !update.nesterov, "sgd_update_: nesterov needs a momentum");
    if (momentum) check_state(kOp, "the buffer", p, buffer);
    const Tensor from = dense(grad);
    visit_floating(kOp, p.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().update.sgd;
        const kernels::SgdStep<T> step = sgd_step<T>(update);
        T* const values = p.mutable_data<T>();
        T* const velocity = momentum ? buffer.mutable_data<T>() : nullptr;
        const T* const g = from.data<T>();
        parallel_for(p.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
            kernel(values + begin, momentum ? velocity + begin : nullptr, g + begin, end - begin,
                   step);
        });
    });
}

double sum_of_squares(const Tensors& tensors) {
    double total = 0;
    std::vector<double> parts;
    for (const Tensor& tensor : tensors) {
        if (!tensor.defined()) continue;
        check_floating("sum_of_squares", tensor);
        const Tensor x = dense(tensor);
        parts.assign(static_cast<std::size_t>((x.numel() + kGrain - 1) / kGrain), 0.0);
        visit_floating("sum_of_squares", x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const auto kernel = kernels::table<T>().reduce.sum_of_squares;
            const T* const from = x.data<T>();
            parallel_for(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
                parts[static_cast<std::size_t>(begin / kGrain)] = kernel(from + begin, end - begin);
            });
        });
        for (const double part : parts) total += part;
    }
    return total;
}

void scale_(Tensor& x, double factor) {
    check_floating("scale_", x);
    const Loop<1> loop(x.shape(), {x.strides()});
    const std::int64_t stride = loop.inner_stride(0);
    visit_floating("scale_", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto multiply =
            kernels::table<T>()
                .elementwise.binary[kernels::kIndexOf<kernels::Mul, kernels::BinaryFunctions>];
        const T by = static_cast<T>(factor);
        T* const to = x.mutable_data<T>();
        loop.for_each_row([&](const auto& offsets, std::int64_t n) {
            T* const row = to + offsets[0];
            if (stride == 1) {
                multiply(row, row, 1, &by, 0, n);
            } else {
                for (std::int64_t i = 0; i < n; ++i) row[i * stride] *= by;
            }
        });
    });
}

}  // namespace tapestry
