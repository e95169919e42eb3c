#include <tapestry/autograd/check/layouts.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace tapestry::checker {
namespace {

constexpr std::int64_t kOffset = 3, kGap = 2;

struct Placement {
    Strides strides;
    std::int64_t offset = 0;

    // Of element number `flat` in row-major order
    std::int64_t place(const Shape& shape, std::int64_t flat) const {
        std::int64_t at = offset;
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            at += flat % shape[axis] * strides[axis];
            flat /= shape[axis];
        }
        return at;
    }
};

Placement in_column_major(const Shape& shape) {
    Placement memory{shape};
    std::int64_t stride = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        memory.strides[axis] = std::exchange(stride, stride * shape[axis]);
    }
    return memory;
}

Placement with_repeats(Shape shape) {
    const auto first = static_cast<int>(
        std::find_if(shape.begin(), shape.end(), [](std::int64_t n) { return n > 1; }) -
        shape.begin());
    shape[first] = 1;
    Placement memory{contiguous_strides(shape)};
    memory.strides[first] = 0;
    return memory;
}

Placement placement_of(const Shape& shape, Layout layout) {
    switch (layout) {
        case Layout::transposed: return in_column_major(shape);
        case Layout::offset: return {contiguous_strides(shape), kOffset};
        case Layout::spaced: break;
        case Layout::expanded: return with_repeats(shape);
    }
    Placement memory{contiguous_strides(shape), kOffset};
    for (int axis = 0; axis < shape.rank(); ++axis) memory.strides[axis] *= kGap;
    return memory;
}

}  // namespace

std::string_view to_string(Layout layout) {
    switch (layout) {
        case Layout::transposed: return "a transposed view";
        case Layout::offset: return "a view with a storage offset";
        case Layout::spaced: return "a view with gaps (stride 2)";
        case Layout::expanded: return "an expanded view (stride 0)";
    }
    return {};
}

std::optional<Tensor> laid_out(const Tensor& x, Layout layout) {
    const Shape& shape = x.shape();
    const auto long_axes =
        std::count_if(shape.begin(), shape.end(), [](std::int64_t n) { return n > 1; });
    const bool exists = layout == Layout::offset || long_axes > (layout == Layout::transposed);
    if (x.dtype() != DType::f64 || x.numel() == 0 || !exists) return {};
    const std::vector<double> numbers = x.to_vector<double>();
    const Placement memory = placement_of(shape, layout);
    const std::int64_t last = memory.place(shape, x.numel() - 1);
    // At least as long as x: what ignores strides reads NaN, and nothing outside.
    Tensor whole({std::max(last + 1, x.numel()) + kOffset}, DType::f64);
    double* const to = whole.mutable_data<double>();
    std::fill(to, to + whole.numel(), std::numeric_limits<double>::quiet_NaN());
    for (std::int64_t i = x.numel(); i-- > 0;) {  // so that the first of repeated ones stays
        to[memory.place(shape, i)] = numbers[static_cast<std::size_t>(i)];
    }
    return Tensor(whole.storage(), shape, memory.strides, memory.offset, DType::f64);
}

}  // namespace tapestry::checker
