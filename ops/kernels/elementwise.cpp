// Compiled once per ISA. A tail shorter than a vector runs through the same instructions as the
// body (load_partial), so an element's bits do not depend on its position in the row.
#include <tapestry/ops/kernels/elementwise.h>
#include <tapestry/ops/kernels/power.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

template <class T, class F>
void unary(T* y, const T* x, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) store(y + i, F::apply(load(x + i)));
    if (i < n) store_partial(y + i, F::apply(load_partial(x + i, n - i, T(1))), n - i);
}

// An operand: a row, or one value for all. The choice is made at compile time, so the loop below
// has neither a branch nor an index to multiply.
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

// Calls f with the operand that x and its step describe. The result may overwrite x, so a single
// value is copied.
template <class T, class F>
void with_operand(const T* x, std::int64_t step, const F& f) {
    if (step != 0) {
        f(Operand<T, true>{x});
    } else {
        const T value = *x;
        f(Operand<T, false>{&value});
    }
}

template <class F, class T, class... Operands>
void rows(T* y, std::int64_t n, const Operands&... x) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) store(y + i, F::apply(x.full(i)...));
    if (i < n) store_partial(y + i, F::apply(x.partial(i, n - i)...), n - i);
}

template <class T, class F>
void binary(T* y, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step,
            std::int64_t n) {
    if (n <= 0) return;
    with_operand(a, a_step, [&](const auto& left) {
        with_operand(b, b_step, [&](const auto& right) { rows<F>(y, n, left, right); });
    });
}

template <class T, class F>
void ternary(T* y, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, const T* c,
             std::int64_t c_step, std::int64_t n) {
    if (n <= 0) return;
    with_operand(a, a_step, [&](const auto& first) {
        with_operand(b, b_step, [&](const auto& second) {
            with_operand(c, c_step,
                         [&](const auto& third) { rows<F>(y, n, first, second, third); });
        });
    });
}

template <class T, class... F>
void install_unary(Elementwise<T>& kernels, List<F...>) {
    ((kernels.unary[kIndexOf<F, UnaryFunctions>] = unary<T, F>), ...);
}

template <class T, class... F>
void install_binary(Elementwise<T>& kernels, List<F...>) {
    ((kernels.binary[kIndexOf<F, BinaryFunctions>] = binary<T, F>), ...);
}

template <class T, class... F>
void install_ternary(Elementwise<T>& kernels, List<F...>) {
    ((kernels.ternary[kIndexOf<F, TernaryFunctions>] = ternary<T, F>), ...);
}

template <class T>
void fill(Elementwise<T>& kernels) {
    install_unary(kernels, UnaryFunctions{});
    install_binary(kernels, BinaryFunctions{});
    install_ternary(kernels, TernaryFunctions{});
}

}  // namespace

template <>
void install(Elementwise<float>& kernels) {
    fill(kernels);
}

template <>
void install(Elementwise<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
