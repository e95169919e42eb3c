// The element types: f32 and f64 for every differentiable op, i64 for indices and integers, bool
// for masks; bf16 and f16 to halve the memory of floating-point data.
//
// bf16 and f16 are storage formats. An op reads them as f32, computes in f32 (sums and statistics
// as well) and rounds each result once, to nearest even (core/half.h). Types are never promoted:
// where NumPy and PyTorch would promote bf16 and f32, or bf16 and f16, to f32, an op throws
// DTypeError; call to() to convert explicitly. A plain number takes the type of the tensor that it
// is combined with.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/core/half.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tapestry {

/// The element types: floating-point of 32, 64 and 16 bits, whole numbers, truth values.
enum class DType : std::uint8_t {
    f32,      ///< IEEE binary32
    f64,      ///< IEEE binary64
    i64,      ///< 64-bit integers: indices, ids
    boolean,  ///< truth values, one byte each
    bf16,     ///< the upper half of an f32
    f16       ///< IEEE binary16
};

/// Bytes of one element: 4, 8, 8, 1, 2, 2.
constexpr std::size_t size_of(DType dtype) {
    switch (dtype) {
        case DType::f32: return 4;
        case DType::f64:
        case DType::i64: return 8;
        case DType::boolean: return 1;
        case DType::bf16:
        case DType::f16: return 2;
    }
    return 0;
}

/// "f32", "f64", "i64", "bool", "bf16", "f16": the name in messages and files.
constexpr std::string_view name_of(DType dtype) {
    switch (dtype) {
        case DType::f32: return "f32";
        case DType::f64: return "f64";
        case DType::i64: return "i64";
        case DType::boolean: return "bool";
        case DType::bf16: return "bf16";
        case DType::f16: return "f16";
    }
    return "?";
}

/// Whether the type has 16 bits.
constexpr bool is_half(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

/// Whether the type is f32, f64, bf16 or f16: can have a gradient.
constexpr bool is_floating(DType dtype) {
    return dtype == DType::f32 || dtype == DType::f64 || is_half(dtype);
}

/// The type in which numbers of this type are computed: f32 for bf16 and f16, else the type itself.
constexpr DType compute_dtype(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

/// The C++ type in which elements of type T are computed; compute_dtype() as a type.
template <class T>
using Compute = std::conditional_t<kIsHalf<T>, float, T>;

/// Whether T is the type of some tensor's elements.
template <class T>
inline constexpr bool kIsElement =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, bool> || kIsHalf<T>;

/// The DType whose elements are T. Any other T does not compile.
template <class T>
constexpr DType dtype_of() {
    // Not int: a list like {1, 2, 3} may be meant as floating-point numbers or as indices.
    static_assert(kIsElement<T>,
                  "elements are float, double, std::int64_t, bool, Bf16 or F16: say which: "
                  "tensor<float>({1, 2, 3})");
    if constexpr (std::is_same_v<T, float>) {
        return DType::f32;
    } else if constexpr (std::is_same_v<T, double>) {
        return DType::f64;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return DType::i64;
    } else if constexpr (std::is_same_v<T, bool>) {
        return DType::boolean;
    } else {
        return std::is_same_v<T, Bf16> ? DType::bf16 : DType::f16;
    }
}

/// `x` as an element of another type: as C++ converts, except where that is undefined because no
/// i64 holds a floating-point number: there the nearest i64, or 0 for NaN.
template <class To, class From>
constexpr To convert_element(From x) {
    if constexpr (std::is_same_v<From, To>) {
        return x;
    } else if constexpr (kIsHalf<From>) {
        return convert_element<To>(static_cast<float>(x));
    } else {
        if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                      !std::is_same_v<To, bool>) {
            // 2^63 is a floating-point number; the largest i64, 2^63 - 1, is not.
            constexpr From kBound = -static_cast<From>(std::numeric_limits<To>::min());
            if (x != x) return 0;
            if (x >= kBound) return std::numeric_limits<To>::max();
            if (x < -kBound) return std::numeric_limits<To>::min();
        }
        return static_cast<To>(x);
    }
}

/// Calls f(T{}) with the C++ type of `dtype`. This is the only place where a run-time type becomes
/// a compile-time one.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
    switch (dtype) {
        case DType::f32: return f(float{});
        case DType::f64: return f(double{});
        case DType::i64: return f(std::int64_t{});
        case DType::bf16: return f(Bf16{});
        case DType::f16: return f(F16{});
        case DType::boolean: break;
    }
    return f(bool{});
}

/// The same for f32 and f64, the floating types used in computations; throws DTypeError in the name
/// of `op` for any other.
template <class F>
decltype(auto) visit_floating(std::string_view op, DType dtype, F&& f) {
    if (dtype == DType::f32) return f(float{});
    require<DTypeError>(dtype == DType::f64, "{}: needs f32 or f64, got {}", op, name_of(dtype));
    return f(double{});
}

/// The same for all floating types.
template <class F>
decltype(auto) visit_stored(std::string_view op, DType dtype, F&& f) {
    if (dtype == DType::bf16) return f(Bf16{});
    if (dtype == DType::f16) return f(F16{});
    return visit_floating(op, dtype, f);
}

}  // namespace tapestry

/// "f32"
template <>
struct fmt::formatter<tapestry::DType> : tapestry::PlainFormatter {
    fmt::appender format(tapestry::DType dtype, fmt::format_context& context) const;
};
