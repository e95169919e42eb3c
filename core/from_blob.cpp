#include <tapestry/core/from_blob.h>

#include <cstdint>

namespace tapestry::detail {
namespace {

// From the first element to the end of the last.
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
                        "from_blob: {} with strides {} reaches beyond all memory", shape, strides);
    return bytes;
}

void check_layout(const Shape& shape, const Strides& strides) {
    require<ShapeError>(strides.rank() == shape.rank(), "from_blob: {} strides for shape {}",
                        strides.rank(), shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
        require<ShapeError>(strides[axis] >= 0, "from_blob: stride {} of axis {} is negative",
                            strides[axis], axis);
    }
}

void check_address(const void* data, const Shape& shape, DType dtype) {
    require(data != nullptr || numel(shape) == 0, "from_blob: null memory for shape {}", shape);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(data) % size_of(dtype);
    require(beyond == 0,
            "from_blob: the address {} is no multiple of {}, as {} needs; copy the numbers instead",
            data, size_of(dtype), dtype);
}

}  // namespace

Tensor from_blob(void* data, const Shape& shape, const Strides& strides, DType dtype,
                 std::function<void()> released) {
    check_layout(shape, strides);
    check_address(data, shape, dtype);
    const std::size_t bytes = bytes_spanned(shape, strides, dtype);
    const auto let_go = [released = std::move(released)](Storage* last) {
        delete last;
        if (released) released();
    };
    return Tensor(StoragePtr(new Storage(static_cast<std::byte*>(data), bytes), let_go), shape,
                  strides, 0, dtype);
}

}  // namespace tapestry::detail
