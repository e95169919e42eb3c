#include <tapestry/core/copy.h>

#include <tapestry/core/floating_point.h>
#include <tapestry/core/loop.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tapestry {
namespace {

template <class From, class To>
void copy_row(const From* from, std::int64_t from_step, To* to, std::int64_t to_step,
              std::int64_t n) {
    if constexpr (std::is_same_v<From, To>) {
        if (from_step == 1 && to_step == 1) {
            std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(To));
            return;
        }
    }
    if (from_step == 0 && to_step == 1) {  // one number for all, as in a sum's gradient
        std::fill_n(to, n, convert_element<To>(*from));
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = convert_element<To>(from[i * from_step]);
}

// Several threads would write to the same place, and the last one would win.
void check_target(std::string_view op, const Tensor& to) {
    for (int axis = 0; axis < to.rank(); ++axis) {
        require<ShapeError>(to.strides()[axis] != 0 || to.size(axis) <= 1 || to.numel() == 0,
                            "{}: the target {} is expanded along axis {}, its elements share one "
                            "place in memory: clone() it first",
                            op, to.shape(), axis);
    }
}

bool same_layout(const Tensor& a, const Tensor& b) {
    return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
           a.strides() == b.strides() && a.dtype() == b.dtype();
}

}  // namespace

void copy_elements(const Tensor& source, Tensor& to) {
    const FloatingPointGuard standard;  // conversions round
    check_target("copy", to);
    if (same_layout(source, to)) return;
    // Reading elements that have already been overwritten would make the result depend on the
    // order.
    const Tensor from = source.storage() == to.storage() ? source.clone() : source;
    if (!(from.shape() == to.shape())) {
        const Shape together = broadcast_shapes("copy", from.shape(), to.shape());
        require<ShapeError>(together == to.shape(), "copy: {} does not broadcast to {}",
                            from.shape(), to.shape());
    }
    const Loop<2> loop(to.shape(), {broadcast_strides(from, to.shape()), to.strides()});
    visit_dtype(from.dtype(), [&](auto from_zero) {
        visit_dtype(to.dtype(), [&](auto to_zero) {
            const auto* read = from.data<decltype(from_zero)>();
            auto* written = to.mutable_data<decltype(to_zero)>();
            loop.for_each_row([&](const auto& offsets, std::int64_t n) {
                copy_row(read + offsets[0], loop.inner_stride(0), written + offsets[1],
                         loop.inner_stride(1), n);
            });
        });
    });
}

void fill_elements(Tensor& to, double value) {
    const FloatingPointGuard standard;
    check_target("fill", to);
    const Loop<1> loop(to.shape(), {to.strides()});
    visit_dtype(to.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* target = to.mutable_data<T>();
        const T element = convert_element<T>(value);
        loop.for_each_row([&](const auto& offsets, std::int64_t n) {
            copy_row(&element, 0, target + offsets[0], loop.inner_stride(0), n);
        });
    });
}

Tensor dense(const Tensor& x) { return x.is_contiguous() ? x.detach() : x.clone(); }

Tensor cast(const Tensor& x, DType dtype) {
    if (x.dtype() == dtype) return x.detach();
    Tensor result(x.shape(), dtype);
    copy_elements(x, result);
    return result;
}

namespace {

std::span<std::byte> memory_of(const Tensor& x) {
    require<ShapeError>(x.defined() && x.is_contiguous(),
                        "bytes_of: needs a contiguous tensor, got {} with strides {}", x.shape(),
                        x.strides());
    const std::size_t first = static_cast<std::size_t>(x.offset()) * size_of(x.dtype());
    return {x.storage()->data() + first, x.bytes()};
}

}  // namespace

std::span<const std::byte> bytes_of(const Tensor& x) { return memory_of(x); }

std::span<std::byte> mutable_bytes_of(Tensor& x) {
    const std::span<std::byte> bytes = memory_of(x);
    x.storage()->bump_version();
    return bytes;
}

}  // namespace tapestry
