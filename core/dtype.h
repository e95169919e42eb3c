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
#include <iterator>
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

// ---- the table of types -------------------------------------------------------------------------
// A type is added here: an enumerator, its C++ type and its row. core, ops, nn/io and the checker
// take all that they know of a type from these.

/// A list of types.
template <class... T>
struct TypeList {};

/// The C++ types of elements, in the order of DType.
using ElementTypes = TypeList<float, double, std::int64_t, bool, Bf16, F16>;
/// Those that are computed in a wider type.
using NarrowTypes = TypeList<Bf16, F16>;

/// Properties of a type.
struct DTypeRow {
    std::string_view name;         ///< in messages, options and files
    std::size_t size;              ///< bytes of one element
    bool floating;                 ///< can have a gradient
    DType compute;                 ///< the type that its numbers are computed in
    double largest;                ///< largest finite number
    double smallest;               ///< smallest positive number of full precision
    double epsilon;                ///< distance from 1 to the next larger number
    std::string_view safetensors;  ///< name in safetensors
    std::string_view torch;        ///< name in PyTorch, and in Hugging Face's config.json
};

/// In the order of DType.
inline constexpr DTypeRow kDTypes[] = {
    {"f32", 4, true, DType::f32, 0x1.fffffep127, 0x1p-126, 0x1p-23, "F32", "float32"},
    {"f64", 8, true, DType::f64, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-52, "F64", "float64"},
    {"i64", 8, false, DType::i64, 0x1p63, 1, 1, "I64", "int64"},
    {"bool", 1, false, DType::boolean, 1, 1, 1, "BOOL", "bool"},
    {"bf16", 2, true, DType::f32, 0x1.fep127, 0x1p-126, 0x1p-7, "BF16", "bfloat16"},
    {"f16", 2, true, DType::f32, 65504, 0x1p-14, 0x1p-10, "F16", "float16"},
};

/// The row of `dtype`.
constexpr const DTypeRow& row_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

/// Bytes of one element: 4, 8, 8, 1, 2, 2.
constexpr std::size_t size_of(DType dtype) { return row_of(dtype).size; }

/// "f32", "f64", "i64", "bool", "bf16", "f16": the name in messages and files.
constexpr std::string_view name_of(DType dtype) { return row_of(dtype).name; }

/// Whether the type is f32, f64, bf16 or f16: can have a gradient.
constexpr bool is_floating(DType dtype) { return row_of(dtype).floating; }

/// The type in which numbers of this type are computed: f32 for bf16 and f16, else the type itself.
constexpr DType compute_dtype(DType dtype) { return row_of(dtype).compute; }

/// Whether the type is a storage format, computed in a wider type: bf16 and f16.
constexpr bool is_narrow(DType dtype) { return compute_dtype(dtype) != dtype; }

/// Whether the type has 16 bits.
constexpr bool is_half(DType dtype) { return is_narrow(dtype) && size_of(dtype) == 2; }

// ---- from C++ types to rows and back ------------------------------------------------------------

namespace detail {

/// Position of T among All, or their number.
template <class T, class... All>
constexpr std::size_t position_in(TypeList<All...> /*all*/) {
    std::size_t position = 0;
    static_cast<void>(((std::is_same_v<T, All> || (++position, false)) || ...));
    return position;
}

template <class T, class... All>
constexpr bool is_among(TypeList<All...> all) {
    return position_in<T>(all) < sizeof...(All);
}

template <class... All>
constexpr bool have_these_sizes(TypeList<All...> /*all*/) {
    std::size_t i = 0;
    return sizeof...(All) == std::size(kDTypes) && ((sizeof(All) == kDTypes[i++].size) && ...);
}
static_assert(have_these_sizes(ElementTypes{}), "a type and its row are at different positions");

}  // namespace detail

/// Whether T is the type of some tensor's elements.
template <class T>
inline constexpr bool kIsElement = detail::is_among<T>(ElementTypes{});

/// The DType whose elements are T. Any other T does not compile.
template <class T>
constexpr DType dtype_of() {
    // Not int: a list like {1, 2, 3} may be meant as floating-point numbers or as indices.
    static_assert(kIsElement<T>,
                  "elements are float, double, std::int64_t, bool, Bf16 or F16: say which: "
                  "tensor<float>({1, 2, 3})");
    return static_cast<DType>(detail::position_in<T>(ElementTypes{}));
}

/// is_narrow() of a C++ type.
template <class T>
inline constexpr bool kIsNarrow = detail::is_among<T>(NarrowTypes{});

/// is_half() of a C++ type.
template <class T>
inline constexpr bool kIsHalf = kIsNarrow<T> && sizeof(T) == 2;

/// The C++ type in which elements of type T are computed; compute_dtype() as a type.
template <class T>
using Compute = std::conditional_t<kIsNarrow<T>, float, T>;

/// `x` as an element of another type: as C++ converts, except where that is undefined because no
/// i64 holds a floating-point number: there the nearest i64, or 0 for NaN.
template <class To, class From>
constexpr To convert_element(From x) {
    if constexpr (std::is_same_v<From, To>) {
        return x;
    } else if constexpr (kIsNarrow<From>) {
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

namespace detail {

/// Calls f(T{}) for the T of `dtype`, the last one for any that is not before.
template <class F, class First, class... Rest>
constexpr decltype(auto) visit_among(DType dtype, F& f, TypeList<First, Rest...> /*types*/) {
    if constexpr (sizeof...(Rest) > 0) {
        if (dtype != dtype_of<First>()) return visit_among(dtype, f, TypeList<Rest...>{});
    }
    return f(First{});
}

}  // namespace detail

/// Calls f(T{}) with the C++ type of `dtype`. Here a run-time type becomes a compile-time one.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
    return detail::visit_among(dtype, f, ElementTypes{});
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
    if (is_narrow(dtype)) return detail::visit_among(dtype, f, NarrowTypes{});
    return visit_floating(op, dtype, f);
}

/// Calls f(T{}) for every floating type, in the order of DType.
template <class F>
void for_each_floating(F&& f) {
    const auto one = [&f](auto zero) {
        if constexpr (is_floating(dtype_of<decltype(zero)>())) f(zero);
    };
    [&one]<class... T>(TypeList<T...>) { (one(T{}), ...); }(ElementTypes{});
}

}  // namespace tapestry

/// "f32"
template <>
struct fmt::formatter<tapestry::DType> : tapestry::PlainFormatter {
    fmt::appender format(tapestry::DType dtype, fmt::format_context& context) const;
};
