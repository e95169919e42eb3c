// What every op asks of its arguments first, in the op's own name.
#pragma once

#include <tapestry/core/tensor.h>

#include <string_view>

namespace tapestry {

inline void check_defined(std::string_view op, const Tensor& x) {
    require<Error>(x.defined(), "{}: got an undefined tensor", op);
}

inline void check_dtype(std::string_view op, const Tensor& x, DType wanted) {
    check_defined(op, x);
    require<DTypeError>(x.dtype() == wanted, "{}: needs {}, got {}", op, wanted, x.dtype());
}

inline void check_floating(std::string_view op, const Tensor& x) {
    check_defined(op, x);
    require<DTypeError>(is_floating(x.dtype()), "{}: needs floating numbers, got {}", op,
                        x.dtype());
}

inline void check_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
    check_defined(op, a);
    check_defined(op, b);
    require<DTypeError>(a.dtype() == b.dtype(),
                        "{}: element types differ: {} and {}; convert with to()", op, a.dtype(),
                        b.dtype());
}

}  // namespace tapestry
