// concat and split are each other's gradient. split is one op with many outputs, so its gradient is
// written once, not once per piece into a tensor of zeros.
#include <tapestry/ops/join.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/integer.h>
#include <tapestry/ops/view.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tapestry {

// ---- concat -------------------------------------------------------------------------------------

namespace {
struct ConcatOp final : Op {
    explicit ConcatOp(int axis) : Op("concat"), axis_(axis) {}
    std::string attributes() const override { return fmt::format("axis={}", axis_); }
    double flops() const override { return 0; }

    Tensors forward(const Tensors& x) const override { return {concat(x, axis_)}; }
    Tensors backward(const Tensors& grads) override {
        Tensors parts;
        std::int64_t begin = 0;
        for (std::size_t i = 0; i < inputs().size(); ++i) {
            const std::int64_t end = begin + inputs()[i].shape[axis_];
            parts.push_back(needs(i) ? slice(grads[0], axis_, begin, end) : Tensor());
            begin = end;
        }
        return parts;
    }

private:
    int axis_;
};

// The shape of the result. `axis` is normalised.
Shape concat_shape(const Tensors& tensors, int axis) {
    Shape shape = tensors[0].shape();
    for (std::size_t i = 1; i < tensors.size(); ++i) {
        const Tensor& x = tensors[i];
        check_same_dtype("concat", tensors[0], x);
        bool fits = x.rank() == shape.rank();
        for (int a = 0; fits && a < shape.rank(); ++a) fits = a == axis || x.size(a) == shape[a];
        require<ShapeError>(fits, "concat: tensor {} is {}, the first {}: only axis {} may differ",
                            i, x.shape(), tensors[0].shape(), axis);
        const bool overflow = __builtin_add_overflow(shape[axis], x.size(axis), &shape[axis]);
        require<ShapeError>(!overflow, "concat: axis {} grows beyond 64 bits", axis);
    }
    return shape;
}
}  // namespace

Tensor concat(const Tensors& tensors, int axis) {
    require(!tensors.empty(), "concat: got no tensors");
    check_defined("concat", tensors[0]);
    const int a = normalize_axis("concat", axis, tensors[0].rank());
    const Shape shape = concat_shape(tensors, a);
    Tensor y(shape, tensors[0].dtype());
    std::int64_t begin = 0;
    for (const Tensor& x : tensors) {
        Tensor place = views::slice(y, a, begin, begin + x.size(a));
        copy_elements(x, place);
        begin += x.size(a);
    }
    return record<ConcatOp>(tensors, y, a);
}

Tensor cat(const Tensors& tensors, int axis) { return concat(tensors, axis); }

Tensor stack(const Tensors& tensors, int axis) {
    require(!tensors.empty(), "stack: got no tensors");
    check_defined("stack", tensors[0]);
    const int a = normalize_axis("stack", axis, tensors[0].rank() + 1);
    Tensors slabs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        check_same_dtype("stack", tensors[0], tensors[i]);
        require<ShapeError>(tensors[i].shape() == tensors[0].shape(),
                            "stack: tensor {} is {}, the first {}", i, tensors[i].shape(),
                            tensors[0].shape());
        slabs.push_back(unsqueeze(tensors[i], a));
    }
    return concat(slabs, a);
}

// ---- split --------------------------------------------------------------------------------------

namespace {
struct SplitOp final : Op {
    explicit SplitOp(int axis) : Op("split"), axis_(axis) {}
    std::string attributes() const override { return fmt::format("axis={}", axis_); }
    double flops() const override { return 0; }

    Tensors forward(const Tensors& x) const override {
        std::vector<std::int64_t> sizes;
        for (const Operand& piece : outputs()) sizes.push_back(piece.shape[axis_]);
        return split(x[0], sizes, axis_);
    }
    Tensors backward(const Tensors& grads) override {
        Tensors parts = grads;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!parts[i].defined()) parts[i] = zeros(outputs()[i].shape, outputs()[i].dtype);
        }
        // Attention lays out its gradients like q, k and v, so they join without a copy.
        const auto together = is_recording() ? std::nullopt : views::try_join(parts, axis_);
        return {together ? *together : concat(parts, axis_)};
    }

private:
    int axis_;
};
}  // namespace

Tensors split(const Tensor& x, std::span<const std::int64_t> sizes, int axis) {
    check_defined("split", x);
    const int a = normalize_axis("split", axis, x.rank());
    require(!sizes.empty(), "split: got no sizes");
    std::int64_t begin = 0;
    Tensors pieces;
    for (const std::int64_t size : sizes) {
        require<ShapeError>(size >= 0 && size <= x.size(a) - begin,
                            "split: sizes {} do not add up to axis {} of {}",
                            fmt::join(sizes, ", "), axis, x.shape());
        pieces.push_back(views::slice(x, a, begin, begin + size));
        begin += size;
    }
    require<ShapeError>(begin == x.size(a), "split: sizes {} do not add up to axis {} of {}",
                        fmt::join(sizes, ", "), axis, x.shape());
    return record<SplitOp>({x}, pieces, a);
}

Tensors split(const Tensor& x, std::initializer_list<std::int64_t> sizes, int axis) {
    return split(x, std::span(sizes.begin(), sizes.size()), axis);
}

Tensors split(const Tensor& x, std::int64_t chunk, int axis) {
    check_defined("split", x);
    require(chunk >= 1, "split: pieces of {} along an axis; needs at least 1", chunk);
    std::int64_t left = x.size(normalize_axis("split", axis, x.rank()));
    RecycledVector<std::int64_t> sizes;
    do {  // an empty axis is one empty piece
        sizes.push_back(std::min(chunk, left));
        left -= sizes.back();
    } while (left > 0);
    return split(x, sizes, axis);
}

Tensors chunk(const Tensor& x, std::int64_t count, int axis) {
    check_defined("chunk", x);
    require(count >= 1, "chunk: {} pieces; needs at least 1", count);
    const std::int64_t size = x.size(normalize_axis("chunk", axis, x.rank()));
    if (size > 0) return split(x, (size - 1) / count + 1, axis);
    // An empty axis is `count` empty pieces.
    constexpr std::int64_t kMost = 1 << 20;
    require(count <= kMost, "chunk: {} pieces of an empty axis; at most {} are supported", count,
            kMost);
    return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(count)), axis);
}

Tensors unbind(const Tensor& x, int axis) {
    check_defined("unbind", x);
    const int a = normalize_axis("unbind", axis, x.rank());
    if (x.size(a) == 0) return {};
    Tensors slabs = split(x, 1, a);
    for (Tensor& slab : slabs) slab = squeeze(slab, a);
    return slabs;
}

// ---- pad ----------------------------------------------------------------------------------------

namespace {
struct PadOp final : Op {
    PadOp(const std::vector<Padding>& padding, double value)
        : Op("pad"), padding_(padding), value_(value) {}
    std::string attributes() const override {
        std::string text;
        for (const Padding& p : padding_) text += fmt::format("({}, {})", p.before, p.after);
        return text;
    }
    double flops() const override { return 0; }

    Tensors forward(const Tensors& x) const override { return {pad(x[0], padding_, value_)}; }
    Tensors backward(const Tensors& grads) override {
        Tensor inner = grads[0];
        for (int axis = 0; axis < inner.rank(); ++axis) {
            const std::int64_t begin = padding_[static_cast<std::size_t>(axis)].before;
            const std::int64_t size = inputs()[0].shape[axis];
            if (size != inner.size(axis)) inner = slice(inner, axis, begin, begin + size);
        }
        return {inner};
    }

private:
    std::vector<Padding> padding_;
    double value_;
};
}  // namespace

Tensor pad(const Tensor& x, const std::vector<Padding>& padding, double value) {
    check_defined("pad", x);
    require<ShapeError>(std::cmp_equal(padding.size(), x.rank()),
                        "pad: {} entries for a tensor {}; needs one {{before, after}} per axis",
                        padding.size(), x.shape());
    Shape shape = x.shape();
    for (int axis = 0; axis < x.rank(); ++axis) {
        const Padding& p = padding[static_cast<std::size_t>(axis)];
        require(p.before >= 0 && p.after >= 0, "pad: {}, {} at axis {} are negative; use slice",
                p.before, p.after, axis);
        std::int64_t& size = shape[axis];
        const bool overflow = __builtin_add_overflow(size, p.before, &size) ||
                              __builtin_add_overflow(size, p.after, &size);
        require<ShapeError>(!overflow, "pad: axis {} grows beyond 64 bits", axis);
    }
    element_like("pad", x, value);  // throws
    Tensor y = full(shape, value, x.dtype());
    Tensor place = y.detach();
    for (int axis = 0; axis < x.rank(); ++axis) {
        const std::int64_t begin = padding[static_cast<std::size_t>(axis)].before;
        place = views::slice(place, axis, begin, begin + x.size(axis));
    }
    copy_elements(x, place);
    return record<PadOp>({x}, y, padding, value);
}

}  // namespace tapestry
