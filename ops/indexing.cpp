// Two pairs of ops, each the other's gradient: for whole rows (select, add) and for single elements
// (gather, scatter_add). Threads share additions by columns, never by rows: all additions to one
// element come from one thread, in the order of the indices, so sums do not depend on the number of
// threads. scatter sets elements; its gradient needs to know which write to an element was the
// last.
#include <tapestry/ops/indexing.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/element_ids.h>
#include <tapestry/ops/integer.h>
#include <tapestry/ops/view.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tapestry {
namespace {

// ---- rows: select and add -----------------------------------------------------------------------

// A tensor as [outer, size, inner], where `size` is one axis.
struct Slabs {
    std::int64_t outer, size, inner;
    Slabs(const Shape& shape, int axis)
        : outer(numel(shape.sub(0, axis))),
          size(shape[axis]),
          inner(numel(shape.sub(axis + 1, shape.rank()))) {}
};

// to[o, i, :] = from[o, ids[i], :]
template <class T>
void select_rows(const Tensor& from, int axis, const Tensor& ids, Tensor& to) {
    const Slabs slabs(from.shape(), axis);
    const std::int64_t n = ids.numel();
    const std::int64_t* id = ids.data<std::int64_t>();
    const T* source = from.data<T>();
    T* target = to.mutable_data<T>();
    const std::int64_t grain = kGrain / std::max<std::int64_t>(1, slabs.inner);
    parallel_for(slabs.outer * n, grain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
            const T* row = source + (r / n * slabs.size + id[r % n]) * slabs.inner;
            std::copy(row, row + slabs.inner, target + r * slabs.inner);
        }
    });
}

// to[o, ids[i], :] += from[o, i, :], with separate columns or o for each thread. Half-precision
// sums are f32.
template <class T>
void add_rows(const Tensor& from, int axis, const Tensor& ids, Tensor& to) {
    constexpr std::int64_t kColumns = 64;
    const Slabs slabs(to.shape(), axis);
    const std::int64_t n = ids.numel();
    const std::int64_t* id = ids.data<std::int64_t>();
    const T* source = from.data<T>();
    Compute<T>* target = to.mutable_data<Compute<T>>();
    const std::int64_t strips = (slabs.inner + kColumns - 1) / kColumns;
    const std::int64_t work = std::max<std::int64_t>(1, n * std::min(kColumns, slabs.inner));
    parallel_for(slabs.outer * strips, kGrain / work, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t chunk = begin; chunk < end; ++chunk) {
            const std::int64_t o = chunk / strips;
            const std::int64_t first = chunk % strips * kColumns;
            const std::int64_t width = std::min(kColumns, slabs.inner - first);
            for (std::int64_t i = 0; i < n; ++i) {
                const T* x = source + (o * n + i) * slabs.inner + first;
                Compute<T>* y = target + (o * slabs.size + id[i]) * slabs.inner + first;
                for (std::int64_t c = 0; c < width; ++c) y[c] += x[c];
            }
        }
    });
}

// Adds to zeros of `shape`. ids are checked and row-major.
Tensor index_add(const Shape& shape, int axis, const Tensor& ids, const Tensor& source);

struct IndexSelectOp final : IndexOp {
    IndexSelectOp(int axis, const Tensor& ids) : IndexOp("index_select", axis, ids) {}
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override {
        return {index_select(x[0], axis(), saved(0))};
    }
    Tensors backward(const Tensors& grads) override {
        return {index_add(inputs()[0].shape, axis(), saved(0), grads[0])};
    }
};

struct IndexAddOp final : IndexOp {
    IndexAddOp(int axis, const Tensor& ids) : IndexOp("index_add", axis, ids) {}
    Tensors forward(const Tensors& x) const override {
        return {index_add(outputs()[0].shape, axis(), saved(0), x[0])};
    }
    Tensors backward(const Tensors& grads) override {
        return {index_select(grads[0], axis(), saved(0))};
    }
};

// Half-precision rows are summed in f32, and only rows that an id names: an embedding table is
// long, and a batch has few ids.
template <class T>
requires kIsNarrow<T>
void add_half_rows(const Tensor& source, int axis, const Tensor& ids, Tensor& y) {
    std::vector<std::int64_t> place(static_cast<std::size_t>(y.size(axis)), -1), named;
    Tensor places(ids.shape(), DType::i64);
    const auto* id = ids.data<std::int64_t>();
    auto* to = places.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < ids.numel(); ++i) {
        std::int64_t& at = place[static_cast<std::size_t>(id[i])];
        if (at < 0) {
            at = static_cast<std::int64_t>(named.size());
            named.push_back(id[i]);
        }
        to[i] = at;
    }
    Shape shape = y.shape();
    shape[axis] = static_cast<std::int64_t>(named.size());
    Tensor sums = zeros(shape, DType::f32);
    add_rows<T>(source, axis, places, sums);
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
        const std::int64_t row = named[static_cast<std::size_t>(i)];
        views::slice(y, axis, row, row + 1).copy_(views::slice(sums, axis, i, i + 1));
    }
}

Tensor index_add(const Shape& shape, int axis, const Tensor& ids, const Tensor& source) {
    const Tensor from = dense(source);
    Tensor y = zeros(shape, source.dtype());
    visit_stored("index_add", source.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (kIsNarrow<T>) {
            add_half_rows<T>(from, axis, ids, y);
        } else {
            add_rows<T>(from, axis, ids, y);
        }
    });
    return record<IndexAddOp>({source}, y, axis, ids);
}

}  // namespace

Tensor index_select(const Tensor& x, int axis, const Tensor& ids) {
    check_defined("index_select", x);
    const int a = normalize_axis("index_select", axis, x.rank());
    const Tensor chosen = checked_ids("index_select", ids, x, a);
    require<ShapeError>(ids.rank() == 1, "index_select: ids must be a vector, got {}; see gather",
                        ids.shape());
    Shape shape = x.shape();
    shape[a] = ids.numel();
    Tensor y(shape, x.dtype());
    const Tensor in = dense(x);
    visit_dtype(x.dtype(), [&](auto zero) { select_rows<decltype(zero)>(in, a, chosen, y); });
    return record<IndexSelectOp>({x}, y, a, chosen);
}

// ---- embedding ----------------------------------------------------------------------------------

namespace {
struct EmbeddingOp final : Op {
    explicit EmbeddingOp(const Tensor& ids) : Op("embedding", {ids}) {}
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override {
        const Shape& y = outputs()[0].shape;  // [..., C]
        return {embedding(x[0], reshape(saved(0), y.sub(0, y.rank() - 1)))};
    }
    Tensor decisions(const Tensors&) const override { return saved(0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& ids = saved(0);
        const Shape& table = inputs()[0].shape;  // [V, C]
        return {index_add(table, 0, ids, reshape(grads[0], {ids.numel(), table[1]}))};
    }
};
}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& ids) {
    check_floating("embedding", weight);
    require<ShapeError>(weight.rank() == 2, "embedding: the weight must be [V, C], got {}",
                        weight.shape());
    const Tensor chosen = reshape(checked_ids("embedding", ids, weight.size(0)), {ids.numel()});
    Shape shape = ids.shape();
    shape.push_back(weight.size(1));
    Tensor y(shape, weight.dtype());
    const Tensor table = dense(weight);
    visit_stored("embedding", y.dtype(),
                 [&](auto zero) { select_rows<decltype(zero)>(table, 0, chosen, y); });
    return record<EmbeddingOp>({weight}, y, chosen);
}

Tensor embedding(const Tensor& weight, const Tensor& ids, std::int64_t padding_idx) {
    const Tensor y = embedding(weight, ids);
    require<IndexError>(padding_idx >= 0 && padding_idx < weight.size(0),
                        "embedding: padding_idx {} is not an index from 0 to {}", padding_idx,
                        weight.size(0) - 1);
    return where(unsqueeze(ne(ids, static_cast<double>(padding_idx)), -1), y, y.detach());
}

// ---- elements: gather and scatter_add -----------------------------------------------------------

namespace {

// y has the shape of ids; x is read with its own strides.
template <class T>
void gather_elements(const Tensor& x, int axis, const Tensor& ids, Tensor& y) {
    const T* from = x.data<T>();
    T* to = y.mutable_data<T>();
    for_each_id(ids, x, axis, [=](std::int64_t at, std::int64_t place) { to[at] = from[place]; });
}

// source has the shape of ids and is row-major.
template <class T>
void add_elements(Tensor& y, int axis, const Tensor& ids, const Tensor& source) {
    const T* from = source.data<T>();
    Compute<T>* to = y.mutable_data<Compute<T>>();
    for_each_id(ids, y, axis, [=](std::int64_t at, std::int64_t place) { to[place] += from[at]; });
}

struct GatherOp final : IndexOp {
    GatherOp(int axis, const Tensor& ids) : IndexOp("gather", axis, ids) {}
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override { return {gather(x[0], axis(), saved(0))}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor nothing = zeros(inputs()[0].shape, inputs()[0].dtype);
        return {scatter_add(nothing, axis(), saved(0), grads[0])};
    }
};

struct ScatterAddOp final : IndexOp {
    ScatterAddOp(int axis, const Tensor& ids) : IndexOp("scatter_add", axis, ids) {}
    Tensors forward(const Tensors& x) const override {
        return {scatter_add(x[0], axis(), saved(0), x[1])};
    }
    Tensors backward(const Tensors& grads) override {
        return {grads[0], needs(1) ? gather(grads[0], axis(), saved(0)) : Tensor()};
    }
};

}  // namespace

Tensor gather(const Tensor& x, int axis, const Tensor& ids) {
    check_defined("gather", x);
    const int a = normalize_axis("gather", axis, x.rank());
    const Tensor chosen = checked_ids("gather", ids, x, a);
    check_element_ids("gather", x, a, ids);
    Tensor y(ids.shape(), x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) { gather_elements<decltype(zero)>(x, a, chosen, y); });
    return record<GatherOp>({x}, y, a, chosen);
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
    check_floating("scatter_add", x);
    check_same_dtype("scatter_add", x, source);
    const int a = normalize_axis("scatter_add", axis, x.rank());
    const Tensor chosen = checked_ids("scatter_add", ids, x, a);
    check_element_ids("scatter_add", x, a, ids);
    const Tensor added = source_of("scatter_add", source, ids);
    const Tensor from = dense(added);
    Tensor sums = cast(x, compute_dtype(x.dtype())).clone();
    visit_stored("scatter_add", x.dtype(),
                 [&](auto zero) { add_elements<decltype(zero)>(sums, a, chosen, from); });
    Tensor y = cast(sums, x.dtype());
    return record<ScatterAddOp>({x, added}, y, a, chosen);
}

// ---- one_hot ------------------------------------------------------------------------------------

Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype) {
    check_defined("one_hot", ids);
    require(classes >= 0, "one_hot: classes must be >= 0, got {}", classes);
    const Tensor chosen = checked_ids("one_hot", ids, classes);
    Shape shape = ids.shape();
    shape.push_back(classes);
    Tensor y = zeros(shape, dtype);
    const std::int64_t* id = chosen.data<std::int64_t>();
    visit_dtype(dtype, [&](auto zero) {
        using T = decltype(zero);
        T* to = y.mutable_data<T>();
        for (std::int64_t i = 0; i < ids.numel(); ++i) to[i * classes + id[i]] = T(1);
    });
    return y;
}

// ---- scatter, index_put -------------------------------------------------------------------------
// Scattering the indices of the source's elements shows which of them stayed.

namespace {

struct ScatterOp final : IndexOp {
    ScatterOp(int axis, const Tensor& ids) : IndexOp("scatter", axis, ids) {}
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override {
        return {scatter(x[0], axis(), saved(0), x[1])};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& ids = saved(0);
        const Tensor& g = grads[0];
        return {
            needs(0) ? scatter(g, axis(), ids, 0) : Tensor(),
            needs(1) ? where(stayed(), gather(g, axis(), ids), scalar(0, g.dtype())) : Tensor()};
    }

private:
    Tensor stayed() const {
        const Tensor& ids = saved(0);
        const Tensor numbers = reshape(arange(ids.numel()), ids.shape());
        const Tensor last = scatter(zeros(inputs()[0].shape, DType::i64), axis(), ids, numbers);
        return eq(gather(last, axis(), ids), numbers);
    }
};

// ids and source are row-major and of one shape.
template <class T>
void set_elements(Tensor& y, int axis, const Tensor& ids, const Tensor& source) {
    const T* from = source.data<T>();
    T* to = y.mutable_data<T>();
    for_each_id(ids, y, axis, [=](std::int64_t at, std::int64_t place) { to[place] = from[at]; });
}

}  // namespace

Tensor scatter(const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
    check_same_dtype("scatter", x, source);
    const int a = normalize_axis("scatter", axis, x.rank());
    const Tensor chosen = checked_ids("scatter", ids, x, a);
    check_element_ids("scatter", x, a, ids);
    const Tensor put = source_of("scatter", source, ids);
    const Tensor from = dense(put);
    Tensor y = x.clone();
    visit_dtype(y.dtype(), [&](auto zero) { set_elements<decltype(zero)>(y, a, chosen, from); });
    return record<ScatterOp>({x, put}, y, a, chosen);
}

Tensor scatter(const Tensor& x, int axis, const Tensor& ids, double value) {
    check_defined("scatter", x);
    check_dtype("scatter", ids, DType::i64);
    return scatter(x, axis, ids, views::expand(element_like("scatter", x, value), ids.shape()));
}

Tensor index_put(const Tensor& x, const std::vector<Index>& where, const Tensor& values,
                 bool accumulate) {
    check_same_dtype("index_put", x, values);
    // The same part of a tensor of element numbers gives the elements of x to set.
    const Tensor numbers = index(views::reshape(arange(x.numel()), x.shape()), where);
    require<ShapeError>(
        broadcast_shapes("index_put", values.shape(), numbers.shape()) == numbers.shape(),
        "index_put: values {} for a part {}", values.shape(), numbers.shape());
    const Tensor ids = views::reshape(numbers, {numbers.numel()});
    const Tensor source = reshape(expand(values, numbers.shape()), ids.shape());
    const Tensor flat = reshape(x, {x.numel()});
    return reshape(accumulate ? scatter_add(flat, 0, ids, source) : scatter(flat, 0, ids, source),
                   x.shape());
}

}  // namespace tapestry
