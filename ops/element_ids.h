// Elementwise indices along one axis, shared by gather and the scatters. The ids have the rank of x
// and at most its size on every other axis. Internal to ops.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/view.h>

namespace tapestry {

/// Returns the ids row-major. Calls complain(position, id) for the first one outside [0, size).
template <class Complain>
Tensor checked_ids(std::string_view op, const Tensor& ids, std::int64_t size, Complain complain) {
    check_dtype(op, ids, DType::i64);
    const Tensor row_major = dense(ids);
    const std::int64_t* id = row_major.data<std::int64_t>();
    for (std::int64_t i = 0; i < ids.numel(); ++i) {
        if (id[i] < 0 || id[i] >= size) complain(unravel_index(i, ids.shape()), id[i]);
    }
    return row_major;
}

/// The same for ids of rows or classes, of which there are `size`.
inline Tensor checked_ids(std::string_view op, const Tensor& ids, std::int64_t size) {
    return checked_ids(op, ids, size, [&](const Shape& position, std::int64_t id) {
        fail<IndexError>("{}: ids{} = {} is not an index from 0 to {}", op, position, id, size - 1);
    });
}

/// The same for ids that index along one axis of x.
inline Tensor checked_ids(std::string_view op, const Tensor& ids, const Tensor& x, int axis) {
    return checked_ids(op, ids, x.size(axis), [&](const Shape& position, std::int64_t id) {
        fail<IndexError>("{}: ids{} = {} is outside axis {} of {}{}", op, position, id, axis,
                         x.shape(), id < 0 ? "; ids do not count from the end" : "");
    });
}

inline void check_element_ids(std::string_view op, const Tensor& x, int axis, const Tensor& ids) {
    bool fits = ids.rank() == x.rank();
    for (int a = 0; fits && a < x.rank(); ++a) fits = a == axis || ids.size(a) <= x.size(a);
    require<ShapeError>(fits, "{}: ids {} do not fit {}: the same rank, no larger but on axis {}",
                        op, ids.shape(), x.shape(), axis);
}

/// Base of ops that scatter, gather or select along one axis by ids, which it saves.
struct IndexOp : Op {
    IndexOp(const char* name, int axis, const Tensor& ids) : Op(name, {ids}), axis_(axis) {}
    std::string attributes() const override { return fmt::format("axis={}", axis_); }
    Tensor decisions(const Tensors&) const override { return saved(0); }

protected:
    int axis() const { return axis_; }

private:
    int axis_;
};

/// Calls f(row-major index of the id, offset in x that it points to) for all ids. Lines along the
/// axis do not share elements of x, so they may run on different threads, each in order.
template <class F>
void for_each_id(const Tensor& ids, const Tensor& x, int axis, F f) {
    Shape lines = ids.shape();
    Strides in_ids = contiguous_strides(ids.shape());
    Strides in_x = x.strides();
    const std::int64_t count = ids.size(axis), step = in_ids[axis], x_step = in_x[axis];
    lines.erase(axis);
    in_ids.erase(axis);
    in_x.erase(axis);
    const std::int64_t* id = ids.data<std::int64_t>();
    const Loop<2> loop(lines, {in_ids, in_x});
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t start = offsets[0] + i * loop.inner_stride(0);
            const std::int64_t x_start = offsets[1] + i * loop.inner_stride(1);
            for (std::int64_t k = 0; k < count; ++k) {
                const std::int64_t at = start + k * step;
                f(at, x_start + id[at] * x_step);
            }
        }
    });
}

/// The leading corner of source with the shape of ids. Throws ShapeError if ids are larger.
inline Tensor source_of(std::string_view op, const Tensor& source, const Tensor& ids) {
    check_defined(op, source);
    bool covered = source.rank() == ids.rank();
    for (int i = 0; covered && i < ids.rank(); ++i) covered = ids.size(i) <= source.size(i);
    require<ShapeError>(covered, "{}: ids {} are larger than the source {}", op, ids.shape(),
                        source.shape());
    Tensor result = source;
    for (int axis = 0; axis < ids.rank(); ++axis) {
        if (ids.size(axis) < result.size(axis)) result = slice(result, axis, 0, ids.size(axis));
    }
    return result;
}

}  // namespace tapestry
