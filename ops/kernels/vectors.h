// Walking rows a vector at a time, tail included, with the body of the loop written once:
//
//     for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
//         part.put(y + i, part.get(a + i) * part.get(b + i));
//     });
//
// `part` loads and stores whole vectors but for the last, shorter one, whose unused lanes read as
// zero (or `fill`) and are not written. For kernel files alone. Read next: reduce_row.h.
#pragma once

#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

template <class T>
struct WholeVector {
    Batch<T> get(const T* p, T /*fill*/ = T(0)) const { return load(p); }
    void put(T* p, const Batch<T>& x) const { store(p, x); }
};

template <class T>
struct PartVector {
    std::int64_t n;
    Batch<T> get(const T* p, T fill = T(0)) const { return load_partial(p, n, fill); }
    void put(T* p, const Batch<T>& x) const { store_partial(p, x, n); }
};

template <class T, class F>
inline void for_each_vector(std::int64_t n, const F& f) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) f(i, WholeVector<T>{});
    if (i < n) f(i, PartVector<T>{n - i});
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
