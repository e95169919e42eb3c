#include <tapestry/core/create.h>

#include <tapestry/core/floating_point.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tapestry {
namespace {

// [n] with element i = value(i), converted from the type that `value` returns.
template <class F>
Tensor tabulated(std::int64_t n, DType dtype, F value) {
    const FloatingPointGuard standard;
    Tensor result({n}, dtype);
    visit_dtype(dtype, [&](auto zero) {
        using T = decltype(zero);
        T* to = result.mutable_data<T>();
        for (std::int64_t i = 0; i < n; ++i) to[i] = convert_element<T>(value(i));
    });
    return result;
}

}  // namespace

Tensor empty(const Shape& shape, DType dtype) { return Tensor(shape, dtype); }

Tensor full(const Shape& shape, double value, DType dtype) {
    Tensor result(shape, dtype);
    result.fill_(value);
    return result;
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype()); }
Tensor full_like(const Tensor& x, double value) { return full(x.shape(), value, x.dtype()); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }
Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor arange(std::int64_t n, DType dtype) {
    require(n >= 0, "arange: n must be >= 0, got {}", n);
    return tabulated(n, dtype, [](std::int64_t i) { return i; });
}

namespace detail {
namespace {

template <class T>
void check_range(T start, T stop, T step, DType dtype) {
    require<DTypeError>(dtype != DType::boolean,
                        "arange: needs floating-point numbers or i64, got bool");
    require(step != 0, "arange: the step must not be 0");
    require(step > 0 ? start <= stop : start >= stop,
            "arange: steps of {} do not lead from {} to {}", step, start, stop);
}

}  // namespace

Tensor whole_range(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
    check_range(start, stop, step, dtype);
    // Unsigned, because the distance may not fit a signed number, nor may -step.
    const auto bits = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
    const std::uint64_t distance = step > 0 ? bits(stop) - bits(start) : bits(start) - bits(stop);
    const std::uint64_t stride = step > 0 ? bits(step) : 0 - bits(step);
    const std::uint64_t n = distance / stride + (distance % stride != 0 ? 1 : 0);
    require<MemoryError>(n <= bits(std::numeric_limits<std::int64_t>::max()),
                         "arange: too many numbers: {} from {} to {}", n, start, stop);
    return tabulated(static_cast<std::int64_t>(n), dtype, [=](std::int64_t i) {
        return static_cast<std::int64_t>(bits(start) + bits(i) * bits(step));
    });
}

Tensor real_range(double start, double stop, double step, DType dtype) {
    require(std::isfinite(start) && std::isfinite(stop) && std::isfinite(step),
            "arange: start, stop and step must be finite, got {}, {} and {}", start, stop, step);
    check_range(start, stop, step, dtype);
    if (dtype == DType::i64) {
        for (const double number : {start, stop, step}) {
            require(number == std::trunc(number) && std::abs(number) < 0x1p63,
                    "arange: {} is not a 64-bit integer, but the dtype is i64", number);
        }
        return whole_range(static_cast<std::int64_t>(start), static_cast<std::int64_t>(stop),
                           static_cast<std::int64_t>(step), dtype);
    }
    const double n = std::ceil((stop - start) / step);
    require<MemoryError>(n < 0x1p62, "arange: too many numbers: {} from {} to {}", n, start, stop);
    return tabulated(static_cast<std::int64_t>(n), dtype,
                     [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

}  // namespace detail

Tensor linspace(double start, double stop, std::int64_t n, DType dtype) {
    require<DTypeError>(is_floating(dtype), "linspace: needs floating-point numbers, got {}",
                        dtype);
    require(n >= 0, "linspace: n must be >= 0, got {}", n);
    require(std::isfinite(stop - start), "linspace: the distance from {} to {} must be finite",
            start, stop);
    const double step = (stop - start) / static_cast<double>(n > 1 ? n - 1 : 1);
    // Counted from the nearer end, so both ends are exact.
    return tabulated(n, dtype, [=](std::int64_t i) {
        return i <= (n - 1) / 2 ? start + static_cast<double>(i) * step
                                : stop - static_cast<double>(n - 1 - i) * step;
    });
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

// ---- from existing memory -----------------------------------------------------------------------

namespace detail {
namespace {

// Bytes from the first element to the end of the last.
std::size_t bytes_spanned(const Shape& shape, const Strides& strides, DType dtype) {
    if (numel(shape) == 0) return 0;
    std::size_t last = 0;
    std::size_t bytes = 0;
    bool too_far = false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        std::size_t reach = 0;
        too_far |= __builtin_mul_overflow(static_cast<std::size_t>(shape[axis] - 1),
                                          static_cast<std::size_t>(strides[axis]), &reach);
        too_far |= __builtin_add_overflow(last, reach, &last);
    }
    too_far |= __builtin_add_overflow(last, std::size_t{1}, &last);
    too_far |= __builtin_mul_overflow(last, size_of(dtype), &bytes);
    require<ShapeError>(!too_far && bytes <= PTRDIFF_MAX,
                        "from_blob: {} with strides {} exceeds the address space", shape, strides);
    return bytes;
}

void check_layout(const Shape& shape, const Strides& strides) {
    require<ShapeError>(strides.rank() == shape.rank(), "from_blob: {} strides for shape {}",
                        strides.rank(), shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
        require<ShapeError>(strides[axis] >= 0,
                            "from_blob: strides must be >= 0, got {} for axis {}", strides[axis],
                            axis);
    }
}

void check_address(const void* data, const Shape& shape, DType dtype) {
    require(data != nullptr || numel(shape) == 0, "from_blob: null pointer for shape {}", shape);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(data) % size_of(dtype);
    require(beyond == 0,
            "from_blob: the address {} is not a multiple of {}, as {} requires; copy the numbers "
            "instead",
            data, size_of(dtype), dtype);
}

}  // namespace

Tensor from_blob(void* data, const Shape& shape, const Strides& strides, DType dtype,
                 std::function<void()> released) {
    check_layout(shape, strides);
    check_address(data, shape, dtype);
    const std::size_t bytes = bytes_spanned(shape, strides, dtype);
    const auto release = [released = std::move(released)](Storage* last) {
        delete last;
        if (released) released();
    };
    // Nothing bounded an empty tensor's strides, and views multiply them.
    const Strides kept = bytes == 0 ? contiguous_strides(shape) : strides;
    return Tensor(StoragePtr(new Storage(static_cast<std::byte*>(data), bytes), release), shape,
                  kept, 0, dtype);
}

}  // namespace detail

}  // namespace tapestry
