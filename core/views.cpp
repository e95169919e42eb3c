#include <tapestry/core/views.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace tapestry::views {
namespace {

Tensor view(const Tensor& x, const Shape& shape, const Strides& strides, std::int64_t offset) {
    require<Error>(x.defined(), "view: the tensor is undefined");
    return Tensor(x.storage(), shape, strides, offset, x.dtype());
}

}  // namespace

Shape infer_shape(std::string_view op, const Shape& shape, std::int64_t count) {
    Shape result = shape;
    int unknown = -1;
    std::int64_t known = 1;
    bool overflow = false;
    for (int i = 0; i < shape.rank(); ++i) {
        if (shape[i] == -1) {
            require<ShapeError>(unknown < 0, "{}: more than one -1 in {}", op, shape);
            unknown = i;
        } else {
            overflow = __builtin_mul_overflow(known, shape[i], &known) || overflow;
        }
    }
    if (unknown >= 0) {
        require<ShapeError>(!overflow && known > 0 && count % known == 0,
                            "{}: {} elements do not fill {}", op, count, shape);
        result[unknown] = count / known;
    }
    require<ShapeError>(numel(result) == count, "{}: {} elements do not fill {}", op, count, shape);
    return result;
}

std::optional<Tensor> try_reshape(const Tensor& x, const Shape& shape) {
    const Shape wanted = infer_shape("reshape", shape, x.numel());
    if (x.is_contiguous()) return view(x, wanted, contiguous_strides(wanted), x.offset());
    // Walk both shapes from the last axis. A run of old axes that is contiguous may be split into
    // new axes freely; a new axis may not straddle two runs.
    Strides strides = Shape::filled(wanted.rank(), 0);
    int next = wanted.rank() - 1;
    for (int axis = x.rank() - 1; axis >= 0;) {
        if (x.size(axis) == 1) {  // any stride fits an axis of one
            --axis;
            continue;
        }
        const std::int64_t step = x.strides()[axis];
        std::int64_t run = x.size(axis);
        for (--axis; axis >= 0 && (x.size(axis) == 1 || x.strides()[axis] == run * step); --axis) {
            run *= x.size(axis);
        }
        std::int64_t filled = 1;
        for (; next >= 0 && (filled < run || wanted[next] == 1); --next) {
            strides[next] = step * filled;
            filled *= wanted[next];
        }
        if (filled != run) return std::nullopt;
    }
    return view(x, wanted, strides, x.offset());
}

Tensor reshape(const Tensor& x, const Shape& shape) {
    if (auto same_memory = try_reshape(x, shape)) return *same_memory;
    const Shape wanted = infer_shape("reshape", shape, x.numel());
    const Tensor copy = x.clone();
    return view(copy, wanted, contiguous_strides(wanted), 0);
}

Tensor permute(const Tensor& x, const std::vector<int>& order) {
    require<ShapeError>(std::cmp_equal(order.size(), x.rank()),
                        "permute: got {} axes for a tensor of rank {}", order.size(), x.rank());
    Shape shape;
    Strides strides;
    std::array<bool, Shape::kMaxRank> seen{};
    for (const int named : order) {
        const int axis = normalize_axis("permute", named, x.rank());
        require<ShapeError>(!std::exchange(seen[static_cast<std::size_t>(axis)], true),
                            "permute: axis {} is named twice", named);
        shape.push_back(x.size(axis));
        strides.push_back(x.strides()[axis]);
    }
    return view(x, shape, strides, x.offset());
}

Tensor transpose(const Tensor& x, int axis0, int axis1) {
    const int a = normalize_axis("transpose", axis0, x.rank());
    const int b = normalize_axis("transpose", axis1, x.rank());
    Shape shape = x.shape();
    Strides strides = x.strides();
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
    return view(x, shape, strides, x.offset());
}

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
    const int a = normalize_axis("slice", axis, x.rank());
    require(step != 0, "slice: the step must not be 0");
    const std::int64_t size = x.size(a);
    // Forwards the bound is the place after the last element, backwards that before the first.
    const std::int64_t low = step > 0 ? 0 : -1;
    const auto clip = [size, low](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + size : i, low, low + size);
    };
    const std::int64_t first = clip(start);
    const std::int64_t distance = step > 0 ? clip(stop) - first : first - clip(stop);
    Shape shape = x.shape();
    Strides strides = x.strides();
    shape[a] = distance > 0 ? 1 + std::abs((distance - 1) / step) : 0;
    if (shape[a] > 1) strides[a] *= step;  // else a huge step could overflow
    return view(x, shape, strides, x.offset() + (distance > 0 ? first * x.strides()[a] : 0));
}

Tensor select(std::string_view op, const Tensor& x, int axis, std::int64_t index) {
    const int a = normalize_axis(op, axis, x.rank());
    const std::int64_t i = index < 0 ? index + x.size(a) : index;
    require<IndexError>(i >= 0 && i < x.size(a), "{}: index {} is outside axis {} of {}", op, index,
                        axis, x.shape());
    Shape shape = x.shape();
    Strides strides = x.strides();
    shape.erase(a);
    strides.erase(a);
    return view(x, shape, strides, x.offset() + i * x.strides()[a]);
}

Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step) {
    const int a = normalize_axis("unfold", axis, x.rank());
    require(step >= 1, "unfold: step must be positive, got {}", step);
    require<ShapeError>(size >= 1 && size <= x.size(a),
                        "unfold: windows of {} do not fit axis {} of {}", size, axis, x.shape());
    Shape shape = x.shape();
    Strides strides = x.strides();
    shape[a] = 1 + (x.size(a) - size) / step;
    shape.push_back(size);
    if (shape[a] > 1) strides[a] *= step;
    strides.push_back(x.strides()[a]);
    return view(x, shape, strides, x.offset());
}

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1) {
    const int rows = normalize_axis("diagonal", axis0, x.rank());
    const int columns = normalize_axis("diagonal", axis1, x.rank());
    require<ShapeError>(rows != columns, "diagonal: axes {} and {} of {} are the same", axis0,
                        axis1, x.shape());
    // All offsets beyond the matrix are equivalent, and the negative of one may not fit.
    const std::int64_t o = std::clamp(offset, -x.size(rows), x.size(columns));
    const std::int64_t row = std::max<std::int64_t>(0, -o);
    const std::int64_t column = std::max<std::int64_t>(0, o);
    const std::int64_t count = std::min(x.size(rows) - row, x.size(columns) - column);
    const std::int64_t row_step = x.strides()[rows];
    const std::int64_t column_step = x.strides()[columns];
    Shape shape = x.shape();
    Strides strides = x.strides();
    for (Shape* axes : {&shape, &strides}) {
        axes->erase(std::max(rows, columns));
        axes->erase(std::min(rows, columns));
    }
    shape.push_back(std::max<std::int64_t>(0, count));
    strides.push_back(count > 1 ? row_step + column_step : 1);
    return view(x, shape, strides,
                x.offset() + (count > 0 ? row * row_step + column * column_step : 0));
}

Tensor expand(const Tensor& x, const Shape& shape) {
    const Shape together = broadcast_shapes("expand", x.shape(), shape);
    require<ShapeError>(together == shape, "expand: {} does not broadcast to {}", x.shape(), shape);
    return view(x, shape, broadcast_strides(x, shape), x.offset());
}

std::optional<Tensor> try_join(const Tensors& pieces, int axis) {
    const Tensor& first = pieces.front();
    const int a = normalize_axis("join", axis, first.rank());
    Shape shape = first.shape();
    shape[a] = 0;
    for (const Tensor& piece : pieces) {
        const bool follows = piece.storage() == first.storage() &&
                             piece.strides() == first.strides() &&
                             piece.offset() == first.offset() + shape[a] * first.strides()[a];
        if (!follows) return std::nullopt;
        shape[a] += piece.size(a);
    }
    return view(first, shape, first.strides(), first.offset());
}

}  // namespace tapestry::views
