#include <tapestry/ops/reduce_axes.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>

#include <algorithm>

namespace tapestry {
namespace {

// Rows of a column sum added directly; more are split into partial sums.
constexpr std::int64_t kRowsPerPiece = 64;
// Columns per task: a strip of partial sums stays in L1.
constexpr std::int64_t kStrip = 4096;

std::int64_t pieces_of(std::int64_t n, std::int64_t piece) {
    return std::max<std::int64_t>(1, (n + piece - 1) / piece);
}

// Number of units of `work` elements that are worth a thread.
std::int64_t units_per_chunk(std::int64_t work) {
    return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work));
}

struct Extent {
    std::int64_t outer;
    std::int64_t reduced;
    std::int64_t inner;
};

// x [outer, reduced] -> y [outer, pieces]
template <class T>
void reduce_row_pieces(Compute<T>* y, const T* x, const Extent& e, std::int64_t piece,
                       const typename kernels::Reduce<Compute<T>>::Kernel& kernel) {
    const std::int64_t pieces = pieces_of(e.reduced, piece);
    const std::int64_t grain = units_per_chunk(std::min(e.reduced, piece));
    parallel_for(e.outer * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
        if (pieces == 1) {
            const Widened<T> rows(x + begin * e.reduced, (end - begin) * e.reduced);
            kernel.rows(y + begin, rows.data(), end - begin, e.reduced);
            return;
        }
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t first = unit % pieces * piece;
            const std::int64_t length = std::min(piece, e.reduced - first);
            const Widened<T> from(x + unit / pieces * e.reduced + first, length);
            kernel.rows(y + unit, from.data(), 1, length);
        }
    });
}

// Reduces `rows` rows of n contiguous numbers, `stride` apart, to one row. Half precision is
// widened in narrow strips that fit in L1; the strips do not affect the bits.
template <class T>
void reduce_strip(Compute<T>* y, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t n,
                  const typename kernels::Reduce<Compute<T>>::Kernel& kernel) {
    if constexpr (!kIsNarrow<T>) {
        kernel.columns(y, x, rows, stride, n);
    } else {
        constexpr std::int64_t kWidth = 64;
        alignas(64) float wide[kRowsPerPiece * kWidth];
        for (std::int64_t j = 0; j < n; j += kWidth) {
            const std::int64_t width = std::min(kWidth, n - j);
            for (std::int64_t i = 0; i < rows; ++i) {
                widen(wide + i * width, x + i * stride + j, width, kWidth);
            }
            kernel.columns(y + j, wide, rows, width, width);
        }
    }
}

// x [outer, reduced, inner] -> y [outer, pieces, inner]
template <class T>
void reduce_column_pieces(Compute<T>* y, const T* x, const Extent& e, std::int64_t piece,
                          const typename kernels::Reduce<Compute<T>>::Kernel& kernel) {
    const std::int64_t pieces = pieces_of(e.reduced, piece);
    const std::int64_t strips = pieces_of(e.inner, kStrip);
    const std::int64_t grain =
        units_per_chunk(std::min(e.reduced, piece) * std::min(e.inner, kStrip));
    parallel_for(e.outer * pieces * strips, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t column = unit % strips * kStrip;
            const std::int64_t part = unit / strips;  // of outer * pieces
            const std::int64_t first = part % pieces * piece;
            const T* from = x + (part / pieces * e.reduced + first) * e.inner + column;
            reduce_strip(y + part * e.inner + column, from, std::min(piece, e.reduced - first),
                         e.inner, std::min(kStrip, e.inner - column), kernel);
        }
    });
}

// x [outer, reduced, inner] -> y [outer, inner], through partial results if reduced is long.
template <class T>
void reduce_extent(Compute<T>* y, const T* x, const Extent& e,
                   const typename kernels::Reduce<Compute<T>>::Kernel& kernel) {
    using C = Compute<T>;
    const std::int64_t piece = e.inner == 1 ? kGrain : kRowsPerPiece;
    const std::int64_t pieces = pieces_of(e.reduced, piece);
    const auto reduce_pieces = e.inner == 1 ? reduce_row_pieces<T> : reduce_column_pieces<T>;
    if (pieces == 1) {
        reduce_pieces(y, x, e, piece, kernel);
        return;
    }
    Tensor partial({e.outer, pieces, e.inner}, dtype_of<C>());
    C* parts = partial.mutable_data<C>();
    reduce_pieces(parts, x, e, piece, kernel);
    reduce_extent<C>(y, parts, {e.outer, pieces, e.inner}, kernel);
}

// Adjacent axes of one kind (reduced or kept), merged. Axes of size 1 count as either kind.
struct Block {
    std::int64_t size;
    bool reduced;
};

RecycledVector<Block> blocks_of(const Shape& shape, const AxisMask& mask) {
    RecycledVector<Block> blocks;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 1) continue;
        const bool reduced = mask[static_cast<std::size_t>(axis)];
        if (blocks.empty() || blocks.back().reduced != reduced) blocks.push_back({1, reduced});
        blocks.back().size *= shape[axis];
    }
    return blocks;
}

template <class T>
const typename kernels::Reduce<T>::Kernel& kernel_of(Reducer reducer) {
    const kernels::Reduce<T>& reduce = kernels::table<T>().reduce;
    if (reducer == Reducer::sum) return reduce.sum;
    return reducer == Reducer::max ? reduce.max : reduce.min;
}

// Reduces the last reduced block, then the one before it, and so on: [B, T, C] over B and C is a
// row sum to [B, T] and a column sum to [T].
template <class T>
Tensor reduce_blocks(const Tensor& x, RecycledVector<Block> blocks, Reducer reducer) {
    using C = Compute<T>;
    std::size_t i = blocks.size();
    while (i > 0 && !blocks[i - 1].reduced) --i;
    if (i-- == 0) return x;
    Extent extent{1, blocks[i].size, 1};
    for (std::size_t k = 0; k < i; ++k) extent.outer *= blocks[k].size;
    for (std::size_t k = i + 1; k < blocks.size(); ++k) extent.inner *= blocks[k].size;
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
    Tensor y({extent.outer, extent.inner}, dtype_of<C>());
    reduce_extent(y.mutable_data<C>(), x.data<T>(), extent, kernel_of<C>(reducer));
    return reduce_blocks<C>(y, std::move(blocks), reducer);
}

}  // namespace

AxisMask axis_mask(std::string_view op, const std::vector<int>& axes, int rank) {
    AxisMask mask{};
    if (axes.empty()) std::fill_n(mask.begin(), rank, true);
    for (const int named : axes) {
        const auto axis = static_cast<std::size_t>(normalize_axis(op, named, rank));
        require<ShapeError>(!mask[axis], "{}: axis {} is named twice", op, named);
        mask[axis] = true;
    }
    return mask;
}

Shape reduced_shape(const Shape& shape, const AxisMask& mask, bool keepdim) {
    Shape result;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (!mask[static_cast<std::size_t>(axis)]) {
            result.push_back(shape[axis]);
        } else if (keepdim) {
            result.push_back(1);
        }
    }
    return result;
}

std::int64_t reduced_count(const Shape& shape, const AxisMask& mask) {
    std::int64_t count = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (mask[static_cast<std::size_t>(axis)]) count *= shape[axis];
    }
    return count;
}

Tensor reduce_axes(const Tensor& x, const AxisMask& mask, Reducer reducer, const Shape& result) {
    const RecycledVector<Block> blocks = blocks_of(x.shape(), mask);
    const bool any =
        std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.reduced; });
    // Not x's own memory, because the result may be changed in place.
    if (!any) return views::reshape(cast(x, compute_dtype(x.dtype())).clone(), result);
    const Tensor y = visit_stored("reduction", x.dtype(), [&](auto zero) {
        return reduce_blocks<decltype(zero)>(dense(x), blocks, reducer);
    });
    return views::reshape(y, result);
}

Tensor reduced_axes_last(const Tensor& x, const AxisMask& mask) {
    std::vector<int> order;
    for (const bool reduced : {false, true}) {
        for (int axis = 0; axis < x.rank(); ++axis) {
            if (mask[static_cast<std::size_t>(axis)] == reduced) order.push_back(axis);
        }
    }
    return dense(views::permute(x, order));
}

}  // namespace tapestry
