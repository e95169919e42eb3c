#include <tapestry/core/create.h>

namespace tapestry {

Tensor empty(const Shape& shape, DType dtype) { return Tensor(shape, dtype); }

Tensor full(const Shape& shape, double value, DType dtype) {
    Tensor result(shape, dtype);
    result.fill_(value);
    return result;
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }
Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor arange(std::int64_t n, DType dtype) {
    require(n >= 0, "arange: {} is negative", n);
    Tensor result({n}, dtype);
    visit_dtype(dtype, [&](auto zero) {
        using T = decltype(zero);
        T* to = result.mutable_data<T>();
        for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
    });
    return result;
}

Tensor eye(std::int64_t n, DType dtype) {
    Tensor result = zeros({n, n}, dtype);
    visit_dtype(dtype, [&](auto zero) {
        using T = decltype(zero);
        T* to = result.mutable_data<T>();
        for (std::int64_t i = 0; i < n; ++i) to[i * n + i] = T(1);
    });
    return result;
}

}  // namespace tapestry
