// Compiled once per ISA. A tail shorter than a vector runs through the same instructions as the
// body (load_partial), so an element's bits do not depend on where in a row it stands.
#include <tapestry/ops/kernels/elementwise.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

template <class T, class F>
void unary(T* y, const T* x, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) store(y + i, F::apply(load(x + i)));
    if (i < n) store_partial(y + i, F::apply(load_partial(x + i, n - i, T(1))), n - i);
}

// One operand of a binary function: a row, or one value for all. The choice is made at compile
// time, so that the loop below has neither a branch nor an index to multiply.
template <class T, bool kRow>
struct Operand {
    const T* x;
    Batch<T> full(std::int64_t i) const {
        if constexpr (kRow) return load(x + i);
        return Batch<T>(*x);
    }
    Batch<T> partial(std::int64_t i, std::int64_t n) const {
        if constexpr (kRow) return load_partial(x + i, n, T(1));
        return Batch<T>(*x);
    }
};

template <class F, class T, class A, class B>
void binary_rows(T* y, const A& a, const B& b, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) store(y + i, F::apply(a.full(i), b.full(i)));
    if (i < n) store_partial(y + i, F::apply(a.partial(i, n - i), b.partial(i, n - i)), n - i);
}

template <class T, class F>
void binary(T* y, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step,
            std::int64_t n) {
    if (n <= 0) return;
    if (a_step != 0 && b_step != 0) {
        binary_rows<F>(y, Operand<T, true>{a}, Operand<T, true>{b}, n);
    } else if (a_step != 0) {
        const T value = *b;  // y may be b
        binary_rows<F>(y, Operand<T, true>{a}, Operand<T, false>{&value}, n);
    } else if (b_step != 0) {
        const T value = *a;
        binary_rows<F>(y, Operand<T, false>{&value}, Operand<T, true>{b}, n);
    } else {
        const T value_a = *a;
        const T value_b = *b;
        binary_rows<F>(y, Operand<T, false>{&value_a}, Operand<T, false>{&value_b}, n);
    }
}

template <class T, class... F>
void install_unary(Elementwise<T>& kernels, List<F...>) {
    ((kernels.unary[kIndexOf<F, UnaryFunctions>] = unary<T, F>), ...);
}

template <class T, class... F>
void install_binary(Elementwise<T>& kernels, List<F...>) {
    ((kernels.binary[kIndexOf<F, BinaryFunctions>] = binary<T, F>), ...);
}

}  // namespace

template <>
void install(Elementwise<float>& kernels) {
    install_unary(kernels, UnaryFunctions{});
    install_binary(kernels, BinaryFunctions{});
}

template <>
void install(Elementwise<double>& kernels) {
    install_unary(kernels, UnaryFunctions{});
    install_binary(kernels, BinaryFunctions{});
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
