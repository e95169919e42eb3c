// Each optimiser's step: checks, then its kernel over pieces of the parameters; also the sums of
// squares for clipping.
#include <tapestry/ops/optimizer_step.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/portable_math.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/stochastic_step.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

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

// Checks state that a step writes in addition to `p`.
void check_state(std::string_view op, std::string_view name, const Tensor& p, const Tensor& x) {
    check_beside(op, name, p, x);
    check_contiguous(op, name, x);
    require(x.storage() != p.storage() || x.offset() != p.offset(),
            "{}: {} is the parameter itself", op, name);
}

void check_adam(const AdamUpdate& u) {
    require(u.step >= 1, "adamw_update_: step must be at least 1, got {}", u.step);
    require(u.beta1 >= 0 && u.beta1 < 1, "adamw_update_: beta1 must be in [0, 1), got {}", u.beta1);
    require(u.beta2 >= 0 && u.beta2 < 1, "adamw_update_: beta2 must be in [0, 1), got {}", u.beta2);
    require(u.eps >= 0, "adamw_update_: eps must be >= 0, got {}", u.eps);
}

template <class T>
kernels::AdamStep<T> adam_step(const AdamUpdate& u) {
    const double shrink = u.decoupled ? 1 - u.lr * u.weight_decay : 1;
    kernels::AdamStep<T> step{};
    step.grad_scale = static_cast<T>(u.grad_scale);
    step.l2 = static_cast<T>(u.decoupled ? 0 : u.weight_decay);
    step.shrink = static_cast<T>(shrink);
    step.beta1_rest = static_cast<T>(1 - u.beta1);
    step.beta2 = static_cast<T>(u.beta2);
    step.beta2_rest = static_cast<T>(1 - u.beta2);
    step.step_size = static_cast<T>(u.lr / (1 - portable::pow(u.beta1, u.step)));
    step.root_scale = static_cast<T>(1 / std::sqrt(1 - portable::pow(u.beta2, u.step)));
    step.eps = static_cast<T>(u.eps);
    return step;
}

void check_adam_parameter(const AdamParameter& a) {
    constexpr std::string_view kOp = "adamw_update_";
    check_floating(kOp, a.p);
    require<DTypeError>(row_of(a.p.dtype()).smallest <= row_of(DType::f32).smallest,
                        "{}: {} cannot represent numbers as small as v; use bf16", kOp,
                        a.p.dtype());
    check_adam(a.update);
    check_contiguous(kOp, "the parameter", a.p);
    check_state(kOp, "m", a.p, a.m);
    check_state(kOp, "v", a.p, a.v);
    check_beside(kOp, "the gradient", a.p, a.grad);
}

// Arrays treated as concatenated and split into pieces of kGrain elements: many short arrays cost
// little more than one long one.
class Arrays {
public:
    explicit Arrays(std::size_t count) { ends_.reserve(count); }
    void add(std::int64_t size) { ends_.push_back(size + (ends_.empty() ? 0 : ends_.back())); }
    std::int64_t pieces() const { return ends_.empty() ? 0 : (ends_.back() + kGrain - 1) / kGrain; }

    // Calls f(piece, array, begin, end) for each overlap of an array with a piece: pieces in
    // parallel, the arrays of one piece in order.
    template <class F>
    void for_each(const F& f) const {
        if (pieces() == 0) return;
        parallel_for(ends_.back(), kGrain, [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t piece = begin / kGrain;
            auto array = std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin();
            for (; begin < end; ++array) {
                const auto at = static_cast<std::size_t>(array);
                const std::int64_t start = at == 0 ? 0 : ends_[at - 1];
                const std::int64_t stop = std::min(end, ends_[at]);
                f(piece, at, begin - start, stop - start);
                begin = stop;
            }
        });
    }

private:
    RecycledVector<std::int64_t> ends_;
};

// Steps the parameters of dtype T.
template <class T>
void adam_steps(RecycledVector<AdamParameter>& all) {
    struct Row {
        T* p;
        T* m;
        T* v;
        const T* g;
        kernels::AdamStep<Compute<T>> step;
        kernels::Draw draw;
    };
    RecycledVector<Row> rows;
    rows.reserve(all.size());
    Arrays arrays(all.size());
    for (AdamParameter& a : all) {
        if (a.p.dtype() != dtype_of<T>()) continue;
        rows.push_back({a.p.mutable_data<T>(),
                        a.m.mutable_data<T>(),
                        a.v.mutable_data<T>(),
                        a.grad.data<T>(),
                        adam_step<Compute<T>>(a.update),
                        {a.update.rounding_key, static_cast<std::uint64_t>(a.update.first)}});
        arrays.add(a.p.numel());
    }
    arrays.for_each([&](std::int64_t, std::size_t i, std::int64_t begin, std::int64_t end) {
        const Row& row = rows[i];
        T *const p = row.p + begin, *const m = row.m + begin, *const v = row.v + begin;
        if constexpr (kIsNarrow<T>) {
            adam_by_chance(p, m, v, row.g + begin, end - begin, row.step,
                           {row.draw.key, row.draw.first + static_cast<std::uint64_t>(begin)});
        } else {
            kernels::table<T>().optimizer_step.adam(p, m, v, row.g + begin, end - begin, row.step);
        }
    });
}

// One sum per piece, over the tensors of dtype T.
template <class T>
RecycledVector<double> squares_of(const Tensors& tensors) {
    RecycledVector<const T*> rows;
    rows.reserve(tensors.size());
    Arrays arrays(tensors.size());
    for (const Tensor& x : tensors) {
        if (x.dtype() != dtype_of<T>()) continue;
        rows.push_back(x.data<T>());
        arrays.add(x.numel());
    }
    RecycledVector<double> sums(static_cast<std::size_t>(arrays.pieces()), 0.0);
    const auto kernel = kernels::table<Compute<T>>().reduce.sum_of_squares;
    arrays.for_each([&](std::int64_t piece, std::size_t i, std::int64_t begin, std::int64_t end) {
        const Widened<T> numbers(rows[i] + begin, end - begin);
        sums[static_cast<std::size_t>(piece)] += kernel(numbers.data(), end - begin);
    });
    return sums;
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

template <class T>
kernels::RmspropStep<T> rmsprop_step(const RmspropUpdate& u) {
    kernels::RmspropStep<T> step{};
    step.grad_scale = static_cast<T>(u.grad_scale);
    step.l2 = static_cast<T>(u.weight_decay);
    step.alpha = static_cast<T>(u.alpha);
    step.rest = static_cast<T>(1 - u.alpha);
    step.eps = static_cast<T>(u.eps);
    step.momentum = static_cast<T>(u.momentum);
    step.lr = static_cast<T>(u.lr);
    return step;
}

template <class T>
kernels::LionStep<T> lion_step(const LionUpdate& u) {
    kernels::LionStep<T> step{};
    step.grad_scale = static_cast<T>(u.grad_scale);
    step.shrink = static_cast<T>(1 - u.lr * u.weight_decay);
    step.beta1_rest = static_cast<T>(1 - u.beta1);
    step.beta2_rest = static_cast<T>(1 - u.beta2);
    step.lr = static_cast<T>(u.lr);
    return step;
}

}  // namespace

void adamw_update_(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, const AdamUpdate& update) {
    RecycledVector<AdamParameter> one{{p, grad, m, v, update}};
    adamw_update_(one);
}

void adamw_update_(RecycledVector<AdamParameter>& all) {
    for (AdamParameter& a : all) {
        check_adam_parameter(a);
        if (!a.grad.is_contiguous()) a.grad = dense(a.grad);
    }
    adam_steps<float>(all);
    adam_steps<double>(all);
    adam_steps<Bf16>(all);
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
    if (p.dtype() == DType::bf16) {
        const kernels::SgdStep<float> step = sgd_step<float>(update);
        const auto first = static_cast<std::uint64_t>(update.first_element);
        Bf16* const values = p.mutable_data<Bf16>();
        Bf16* const velocity = momentum ? buffer.mutable_data<Bf16>() : nullptr;
        const Bf16* const g = from.data<Bf16>();
        parallel_for(p.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
            sgd_by_chance(values + begin, momentum ? velocity + begin : nullptr, g + begin,
                          end - begin, step,
                          {update.rounding_key, first + static_cast<std::uint64_t>(begin)});
        });
        return;
    }
    visit_floating(kOp, p.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().optimizer_step.sgd;
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

void rmsprop_update_(Tensor& p, const Tensor& grad, Tensor& v, Tensor& mean, Tensor& buffer,
                     const RmspropUpdate& update) {
    constexpr std::string_view kOp = "rmsprop_update_";
    check_floating(kOp, p);
    check_contiguous(kOp, "the parameter", p);
    check_beside(kOp, "the gradient", p, grad);
    require(update.alpha >= 0 && update.alpha < 1, "{}: alpha must be in [0, 1), got {}", kOp,
            update.alpha);
    require(update.eps >= 0, "{}: eps must be >= 0, got {}", kOp, update.eps);
    const bool momentum = update.momentum != 0;
    check_state(kOp, "v", p, v);
    if (update.centered) check_state(kOp, "the mean", p, mean);
    if (momentum) check_state(kOp, "the buffer", p, buffer);
    const Tensor from = dense(grad);
    visit_floating(kOp, p.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().optimizer_step.rmsprop;
        const kernels::RmspropStep<T> step = rmsprop_step<T>(update);
        T* const values = p.mutable_data<T>();
        T* const squares = v.mutable_data<T>();
        T* const means = update.centered ? mean.mutable_data<T>() : nullptr;
        T* const velocity = momentum ? buffer.mutable_data<T>() : nullptr;
        const T* const g = from.data<T>();
        parallel_for(p.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
            kernel(values + begin, squares + begin, means ? means + begin : nullptr,
                   velocity ? velocity + begin : nullptr, g + begin, end - begin, step);
        });
    });
}

void lion_update_(Tensor& p, const Tensor& grad, Tensor& m, const LionUpdate& update) {
    constexpr std::string_view kOp = "lion_update_";
    check_floating(kOp, p);
    check_contiguous(kOp, "the parameter", p);
    check_beside(kOp, "the gradient", p, grad);
    check_state(kOp, "m", p, m);
    const auto fraction = [](double beta) { return beta >= 0 && beta < 1; };
    require(fraction(update.beta1) && fraction(update.beta2),
            "{}: beta1 and beta2 must be in [0, 1), got {} and {}", kOp, update.beta1,
            update.beta2);
    const Tensor from = dense(grad);
    visit_floating(kOp, p.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().optimizer_step.lion;
        const kernels::LionStep<T> step = lion_step<T>(update);
        T* const values = p.mutable_data<T>();
        T* const means = m.mutable_data<T>();
        const T* const g = from.data<T>();
        parallel_for(p.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
            kernel(values + begin, means + begin, g + begin, end - begin, step);
        });
    });
}

RecycledVector<double> sums_of_squares(const Tensors& tensors) {
    Tensors arrays;
    arrays.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        if (!tensor.defined()) continue;
        check_floating("sum_of_squares", tensor);
        arrays.push_back(dense(tensor));
    }
    RecycledVector<double> sums;
    for_each_floating([&](auto zero) {
        RecycledVector<double> more = squares_of<decltype(zero)>(arrays);
        if (sums.empty()) {
            sums = std::move(more);
        } else {
            sums.insert(sums.end(), more.begin(), more.end());
        }
    });
    return sums;
}

double sum_of_squares(const Tensors& tensors) {
    const RecycledVector<double> sums = sums_of_squares(tensors);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

void scale_(Tensor& x, double factor) {
    check_floating("scale_", x);
    const double least = row_of(compute_dtype(x.dtype())).smallest;
    if (factor != 0 && std::abs(factor) < least) {  // as a number of the type it would lose digits
        scale_(x, 0x1p-64);
        factor *= 0x1p64;
    }
    const Loop<1> loop(x.shape(), {x.strides()});
    const std::int64_t stride = loop.inner_stride(0);
    visit_stored("scale_", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto multiply =
            kernels::table<Compute<T>>()
                .elementwise.binary[kernels::kIndexOf<kernels::Mul, kernels::BinaryFunctions>];
        const auto by = static_cast<Compute<T>>(factor);
        T* const to = x.mutable_data<T>();
        loop.for_each_row([&](const auto& offsets, std::int64_t n) {
            T* const row = to + offsets[0];
            if (stride == 1) {
                const Widened<T> in(row, n);
                const Narrowed<T> out(row, n);
                multiply(out.data(), in.data(), 1, &by, 0, n);
            } else {
                for (std::int64_t i = 0; i < n; ++i) row[i * stride] = T(row[i * stride] * by);
            }
        });
    });
}

}  // namespace tapestry
