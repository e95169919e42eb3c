// Compiled once per ISA.
#include <tapestry/ops/kernels/optimizer_step.h>
#include <tapestry/ops/kernels/vectors.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

template <class T>
void adam(T* p, T* m, T* v, const T* g, std::int64_t n, const AdamStep<T>& step) {
    // Copies, as far as the compiler can tell: the stores below might otherwise change `step`.
    const Batch<T> grad_scale(step.grad_scale);
    const Batch<T> l2(step.l2);
    const Batch<T> shrink(step.shrink);
    const Batch<T> beta1_rest(step.beta1_rest);
    const Batch<T> beta2(step.beta2);
    const Batch<T> beta2_rest(step.beta2_rest);
    const Batch<T> step_size(step.step_size);
    const Batch<T> root_scale(step.root_scale);
    const Batch<T> eps(step.eps);
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> old = part.get(p + i);
        const Batch<T> grad = fma(l2, old, grad_scale * part.get(g + i));
        const Batch<T> first = part.get(m + i);
        const Batch<T> m_new = fma(beta1_rest, grad - first, first);
        const Batch<T> v_new = fma(beta2_rest * grad, grad, beta2 * part.get(v + i));
        const Batch<T> change = step_size * m_new / fma(root_scale, sqrt(v_new), eps);
        part.put(m + i, m_new);
        part.put(v + i, v_new);
        part.put(p + i, shrink * old - change);
    });
}

template <bool kMomentum, bool kNesterov, class T>
void sgd_row(T* p, T* b, const T* g, std::int64_t n, const SgdStep<T>& step) {
    const Batch<T> grad_scale(step.grad_scale);
    const Batch<T> l2(step.l2);
    const Batch<T> momentum(step.momentum);
    const Batch<T> intake(step.intake);
    const Batch<T> lr(step.lr);
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> old = part.get(p + i);
        const Batch<T> grad = fma(l2, old, grad_scale * part.get(g + i));
        Batch<T> direction = grad;
        if constexpr (kMomentum) {
            const Batch<T> velocity = fma(momentum, part.get(b + i), intake * grad);
            part.put(b + i, velocity);
            direction = kNesterov ? fma(momentum, velocity, grad) : velocity;
        }
        part.put(p + i, old - lr * direction);
    });
}

template <class T>
void sgd(T* p, T* b, const T* g, std::int64_t n, const SgdStep<T>& step) {
    if (b == nullptr) {
        sgd_row<false, false>(p, b, g, n, step);
    } else if (step.nesterov) {
        sgd_row<true, true>(p, b, g, n, step);
    } else {
        sgd_row<true, false>(p, b, g, n, step);
    }
}

template <class T>
void fill(OptimizerStep<T>& kernels) {
    kernels.adam = adam<T>;
    kernels.sgd = sgd<T>;
}

}  // namespace

template <>
void install(OptimizerStep<float>& kernels) {
    fill(kernels);
}

template <>
void install(OptimizerStep<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
