// Windows that move over an image: how many there are, and what is wrong with those that users ask
// for. Convolution and pooling share this. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

#include <string_view>

namespace tapestry {

/// Windows along one axis of an image.
struct WindowAxis {
    std::int64_t size = 1;  ///< of the image, without its padding
    std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;

    /// Places for a window: floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1.
    std::int64_t count() const;
};

/// Windows over images [..., H, W]; those over rows [..., L] have `rows` of one place.
struct Windows {
    WindowAxis rows = {}, columns = {};
    int axes = 2;  ///< how many of the two a user gave, for errors
};

/// Throws ShapeError where an image `shape` has room for no window, ValueError for a kernel, stride
/// or dilation that is not positive, a padding that is negative, or any beyond 2^31.
void check_windows(std::string_view op, const Shape& shape, const Windows& windows);

}  // namespace tapestry
