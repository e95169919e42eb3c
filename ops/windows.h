// Sliding windows over an image: their number, and checks of user settings. Shared by convolution
// and pooling. Internal to ops.
#pragma once

#include <tapestry/core/size_2d.h>
#include <tapestry/core/tensor.h>
#include <tapestry/ops/check.h>

#include <string_view>

namespace tapestry {

/// Windows along one axis of an image.
struct WindowAxis {
    std::int64_t size = 1;  ///< of the image, without its padding
    std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
    bool ceil = false;  ///< the quotient below is rounded up

    /// Number of windows: floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. If it
    /// is rounded up, a window that would begin beyond the image is left out, as in PyTorch.
    std::int64_t count() const {
        const std::int64_t more = ceil ? stride - 1 : 0;
        const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1 + more;
        const std::int64_t below = room < 0 && room % stride != 0 ? 1 : 0;  // rounds down
        const std::int64_t windows = room / stride - below + 1;
        return ceil && (windows - 1) * stride >= size + padding ? windows - 1 : windows;
    }
};

/// Windows over images [..., H, W]; for sequences [..., L], `rows` has a single position.
struct Windows {
    WindowAxis rows = {}, columns = {};
    int axes = 2;  ///< 1 for sequences, 2 for images; used in error messages
};

namespace detail {

using WindowMember = std::int64_t WindowAxis::*;

// "3 x 5", or "5" for sequences.
inline std::string both(const Windows& windows, std::int64_t rows, std::int64_t columns) {
    return windows.axes == 1 ? fmt::format("{}", columns) : fmt::format("{} x {}", rows, columns);
}

// The same, but one number if the two are equal.
inline std::string either(const Windows& windows, WindowMember member) {
    const std::int64_t rows = windows.rows.*member, columns = windows.columns.*member;
    return fmt::format("{}", windows.axes == 1 ? Size2d(columns) : Size2d(rows, columns));
}

inline void check_member(std::string_view op, std::string_view what, const Windows& windows,
                         WindowMember member, std::int64_t least) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;  // sums of products then fit 64 bits
    for (const WindowAxis* axis : {&windows.rows, &windows.columns}) {
        const std::int64_t value = axis->*member;
        require(value >= least && value <= kMost, "{}: {} must be {}, got {}", op, what,
                value > kMost ? "at most 2147483648" : (least > 0 ? "positive" : "0 or more"),
                either(windows, member));
    }
}

}  // namespace detail

/// Throws ValueError for a kernel, stride or dilation that is not positive, a negative padding, or
/// any setting above 2^31.
inline void check_window_settings(std::string_view op, const Windows& windows) {
    using namespace detail;
    check_member(op, "kernel", windows, &WindowAxis::kernel, 1);
    check_member(op, "stride", windows, &WindowAxis::stride, 1);
    check_member(op, "padding", windows, &WindowAxis::padding, 0);
    check_member(op, "dilation", windows, &WindowAxis::dilation, 1);
}

/// The same, and ShapeError if no window fits an image of this shape.
inline void check_windows(std::string_view op, const Shape& shape, const Windows& windows) {
    using namespace detail;
    check_window_settings(op, windows);
    const std::int64_t rows = windows.rows.count(), columns = windows.columns.count();
    require<ShapeError>(rows > 0 && columns > 0,
                        "{}: input {} with kernel {}, padding {}, dilation {} gives an output of "
                        "{}",
                        op, shape, both(windows, windows.rows.kernel, windows.columns.kernel),
                        either(windows, &WindowAxis::padding),
                        either(windows, &WindowAxis::dilation), both(windows, rows, columns));
}

/// Throws unless x holds images [N, C, H, W] with pixels and `size` is positive.
inline void check_resize(std::string_view op, const Tensor& x, const Size2d& size) {
    check_floating(op, x);
    require<ShapeError>(x.rank() == 4, "{}: needs an input [N, C, H, W], got {}", op, x.shape());
    require<ShapeError>(x.size(2) > 0 && x.size(3) > 0, "{}: images {} have no pixels", op,
                        x.shape());
    require<ShapeError>(size.rows > 0 && size.columns > 0,
                        "{}: the size must be positive, got {} x {}", op, size.rows, size.columns);
}

}  // namespace tapestry
