// Compiled once per ISA.
#include <tapestry/ops/kernels/optimizer_step.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

template <class T>
void adam(T* p, T* m, T* v, const T* g, std::int64_t n, const AdamStep<T>& step) {
    // Local copies, because the compiler must assume that the stores below may change `step`.
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

template <bool kCentered, bool kMomentum, class T>
void rmsprop_row(T* p, T* v, T* a, T* b, const T* g, std::int64_t n, const RmspropStep<T>& step) {
    const Batch<T> grad_scale(step.grad_scale);
    const Batch<T> l2(step.l2);
    const Batch<T> alpha(step.alpha);
    const Batch<T> rest(step.rest);
    const Batch<T> eps(step.eps);
    const Batch<T> momentum(step.momentum);
    const Batch<T> lr(step.lr);
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> old = part.get(p + i);
        const Batch<T> grad = fma(l2, old, grad_scale * part.get(g + i));
        const Batch<T> square = fma(rest * grad, grad, alpha * part.get(v + i));
        part.put(v + i, square);
        Batch<T> variance = square;
        if constexpr (kCentered) {
            const Batch<T> before = part.get(a + i);
            const Batch<T> mean = fma(rest, grad - before, before);
            part.put(a + i, mean);
            // For equal gradients it is 0 up to rounding, and must not be negative under the root.
            variance = max(square - mean * mean, Batch<T>(T(0)));
        }
        Batch<T> direction = grad / (sqrt(variance) + eps);
        if constexpr (kMomentum) {
            direction = fma(momentum, part.get(b + i), direction);
            part.put(b + i, direction);
        }
        part.put(p + i, old - lr * direction);
    });
}

template <class T>
void rmsprop(T* p, T* v, T* a, T* b, const T* g, std::int64_t n, const RmspropStep<T>& step) {
    if (a == nullptr) {
        (b == nullptr ? rmsprop_row<false, false, T> : rmsprop_row<false, true, T>)(p, v, a, b, g,
                                                                                    n, step);
    } else {
        (b == nullptr ? rmsprop_row<true, false, T> : rmsprop_row<true, true, T>)(p, v, a, b, g, n,
                                                                                  step);
    }
}

template <class T>
void lion(T* p, T* m, const T* g, std::int64_t n, const LionStep<T>& step) {
    const Batch<T> grad_scale(step.grad_scale);
    const Batch<T> shrink(step.shrink);
    const Batch<T> beta1_rest(step.beta1_rest);
    const Batch<T> beta2_rest(step.beta2_rest);
    const Batch<T> lr(step.lr);
    for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
        const Batch<T> mean = part.get(m + i);
        const Batch<T> ahead = grad_scale * part.get(g + i) - mean;
        part.put(m + i, fma(beta2_rest, ahead, mean));
        const Batch<T> direction = sign(fma(beta1_rest, ahead, mean));
        part.put(p + i, shrink * part.get(p + i) - lr * direction);
    });
}

template <class T>
void fill(OptimizerStep<T>& kernels) {
    kernels.adam = adam<T>;
    kernels.sgd = sgd<T>;
    kernels.rmsprop = rmsprop<T>;
    kernels.lion = lion<T>;
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
