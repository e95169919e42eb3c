// Kernel launches over the rows of tensors: chunks of rows run in parallel, and rows of narrow
// types are widened and rounded around the kernel (staging.h). Internal to ops.
//
//     for_rows("rms_norm", x.dtype(), {rows, n, chunk}, [](const auto& k) { return k.norm.rms; },
//              written(y), per_row(rstd), read(x), shared(weight), number(eps));
//
// calls the kernel with (y, rstd, x, weight, eps, count, n) for chunks of `count` rows: with those
// rows of y and x [rows, n], and those elements of rstd [rows]. Numbers are Compute<T>.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/core/tensor.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>

namespace tapestry {

/// `count` rows of n numbers, in chunks of `chunk` rows.
struct Rows {
    std::int64_t count, n, chunk;
};

/// The rows of x's last axis, in chunks of about `grain` numbers. A scalar is a row of one.
inline Rows last_axis_rows(const Tensor& x, std::int64_t grain) {
    const std::int64_t n = x.rank() == 0 ? 1 : x.shape().back();
    return x.numel() == 0 ? Rows{0, n, 1} : Rows{x.numel() / n, n, grain / n};
}

// An operand is a function that binds it to memory, before the loop: operand(zero, rows), zero of
// the launch's type T. The result gives a chunk its part, whose data() the kernel gets.

namespace detail {

template <class T>
struct Value {
    T value;
    T data() const { return value; }
    Value part(std::int64_t /*begin*/, std::int64_t /*end*/) const { return *this; }
};

/// Every `rows` rows, `step` elements further on.
template <class T>
struct Stepping {
    T* first;
    std::int64_t rows, step;
    Value<T*> part(std::int64_t begin, std::int64_t /*end*/) const {
        return {first + begin / rows * step};
    }
};

/// n numbers a row, as Staged: Widened or Narrowed.
template <class Staged, class T>
struct StagedRows {
    T* first;
    std::int64_t n;
    Staged part(std::int64_t begin, std::int64_t end) const {
        return Staged(first + begin * n, (end - begin) * n);
    }
};

template <class Kernel, class... Bound>
void launch(const Rows& rows, const Kernel& kernel, const Bound&... bound) {
    parallel_for(rows.count, rows.chunk, [&](std::int64_t begin, std::int64_t end) {
        // The parts live until the kernel has returned; then the results are rounded.
        kernel(bound.part(begin, end).data()..., end - begin, rows.n);
    });
}

}  // namespace detail

/// The rows of x [count, n].
inline auto read(const Tensor& x) {
    return [&x]<class T>(T /*zero*/, const Rows& rows) {
        return detail::StagedRows<Widened<T>, const T>{x.data<T>(), rows.n};
    };
}

/// The rows of a result [count, n], or its elements [count].
inline auto written(Tensor& y) {
    return [&y]<class T>(T /*zero*/, const Rows& rows) {
        const std::int64_t n = rows.count == 0 ? 0 : y.numel() / rows.count;
        return detail::StagedRows<Narrowed<T>, T>{y.mutable_data<T>(), n};
    };
}

/// An element of x [count] per row: Compute<T>, or an Id. With step 0, the same one for all.
template <class Id = void>
auto per_row(const Tensor& x, std::int64_t step = 1) {
    return [&x, step]<class T>(T /*zero*/, const Rows& /*rows*/) {
        using Element = std::conditional_t<std::is_void_v<Id>, Compute<T>, Id>;
        return detail::Stepping<const Element>{x.data<Element>(), 1, step};
    };
}

/// The same, written.
inline auto per_row(Tensor& y) {
    return [&y]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return detail::Stepping<Compute<T>>{y.mutable_data<Compute<T>>(), 1, 1};
    };
}

/// A row of y [chunks, n] per chunk, written: partial sums.
inline auto per_chunk(Tensor& y) {
    return [&y]<class T>(T /*zero*/, const Rows& rows) {
        return detail::Stepping<Compute<T>>{y.mutable_data<Compute<T>>(), rows.chunk, rows.n};
    };
}

/// The whole of x, of type Compute<T>.
inline auto shared(const Tensor& x) {
    return [&x]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return detail::Value<const Compute<T>*>{x.data<Compute<T>>()};
    };
}

/// A number as Compute<T>.
inline auto number(double value) {
    return [value]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return detail::Value<Compute<T>>{static_cast<Compute<T>>(value)};
    };
}

/// Calls kernel(operands ..., count, n) for chunks of `rows`, in parallel. `choose` takes the
/// kernel from kernels::Table<Compute<T>>; T is any floating type.
template <class Choose, class... Operands>
void for_rows(std::string_view op, DType dtype, const Rows& rows, const Choose& choose,
              const Operands&... operands) {
    visit_stored(op, dtype, [&](auto zero) {
        detail::launch(rows, choose(kernels::table<Compute<decltype(zero)>>()),
                       operands(zero, rows)...);
    });
}

}  // namespace tapestry
