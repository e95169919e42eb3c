#include <tapestry/core/shape.h>

#include <tapestry/core/size_2d.h>

#include <algorithm>
#include <ostream>

namespace tapestry {

Shape::Shape(std::span<const std::int64_t> sizes) {
    require<ShapeError>(sizes.size() <= kMaxRank, "shape: {} axes; at most {} are supported",
                        sizes.size(), kMaxRank);
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
    rank_ = static_cast<int>(sizes.size());
}

Shape Shape::filled(int rank, std::int64_t size) {
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(size);
    return shape;
}

void Shape::push_back(std::int64_t size) { insert(rank_, size); }

void Shape::insert(int axis, std::int64_t size) {
    require<ShapeError>(rank_ < kMaxRank, "shape: more than {} axes", kMaxRank);
    for (int i = rank_; i > axis; --i) (*this)[i] = (*this)[i - 1];
    ++rank_;
    (*this)[axis] = size;
}

void Shape::erase(int axis) {
    for (int i = axis; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
    --rank_;
}

bool operator==(const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Shape operator+(Shape a, const Shape& b) {
    for (const std::int64_t size : b) a.push_back(size);
    return a;
}

std::int64_t numel(const Shape& shape) {
    std::int64_t count = 1;
    bool overflow = false;
    bool empty = false;
    for (const std::int64_t size : shape) {
        require<ShapeError>(size >= 0, "shape: negative size in {}", shape);
        empty |= size == 0;
        overflow |= __builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count);
    }
    require<ShapeError>(!overflow, "shape: {} has too many elements to count in 64 bits", shape);
    return empty ? 0 : count;
}

Strides contiguous_strides(const Shape& shape) {
    Strides strides = shape;
    std::uint64_t step = 1;  // wraps only for a shape that numel() refuses
    for (int i = shape.rank() - 1; i >= 0; --i) {
        strides[i] = static_cast<std::int64_t>(step);
        step *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
    }
    return strides;
}

Shape unravel_index(std::int64_t index, const Shape& shape) {
    Shape position = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        position[axis] = index % shape[axis];
        index /= shape[axis];
    }
    return position;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
    if (a == b) return a;
    const Shape& longer = a.rank() >= b.rank() ? a : b;
    const Shape& shorter = a.rank() >= b.rank() ? b : a;
    Shape result = longer;
    const int shift = longer.rank() - shorter.rank();
    for (int i = 0; i < shorter.rank(); ++i) {
        std::int64_t& size = result[i + shift];
        if (size == 1) size = shorter[i];
        require<ShapeError>(size == shorter[i] || shorter[i] == 1,
                            "{}: shapes do not broadcast: {} and {} (axis {}: {} against {})", op,
                            a, b, i - shorter.rank(), a[i - shorter.rank() + a.rank()],
                            b[i - shorter.rank() + b.rank()]);
    }
    return result;
}

int normalize_axis(std::string_view op, int axis, int rank) {
    require<ShapeError>(axis >= -rank && axis < rank, "{}: axis {} is outside a tensor of rank {}",
                        op, axis, rank);
    return axis < 0 ? axis + rank : axis;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << fmt::format("{}", shape);
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::Shape>::format(const tapestry::Shape& shape,
                                                      fmt::format_context& context) const {
    auto out = fmt::format_to(context.out(), "[");
    for (int i = 0; i < shape.rank(); ++i) {
        out = fmt::format_to(out, "{}{}", i == 0 ? "" : ", ", shape[i]);
    }
    return fmt::format_to(out, "]");
}

fmt::appender fmt::formatter<tapestry::Size2d>::format(const tapestry::Size2d& size,
                                                       fmt::format_context& context) const {
    return size.rows == size.columns
               ? fmt::format_to(context.out(), "{}", size.rows)
               : fmt::format_to(context.out(), "{} x {}", size.rows, size.columns);
}
