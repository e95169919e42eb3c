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

// An operand of a launch is a function that binds it to memory: operand(zero, rows), zero of the
// launch's type T. The result gives a chunk its part: part(begin, end).

/// The rows of x [count, n].
inline auto read(const Tensor& x) {
    return [&x]<class T>(T /*zero*/, const Rows& rows) {
        return [from = x.data<T>(), n = rows.n](std::int64_t begin, std::int64_t end) {
            return Widened<T>(from + begin * n, (end - begin) * n);
        };
    };
}

/// The rows of a result [count, n], or its elements [count].
inline auto written(Tensor& y) {
    return [&y]<class T>(T /*zero*/, const Rows& rows) {
        const std::int64_t n = rows.count == 0 ? 0 : y.numel() / rows.count;
        return [to = y.mutable_data<T>(), n](std::int64_t begin, std::int64_t end) {
            return Narrowed<T>(to + begin * n, (end - begin) * n);
        };
    };
}

/// An element of x [count] per row, of type Compute<T>.
inline auto per_row(const Tensor& x) {
    return [&x]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return [from = x.data<Compute<T>>()](std::int64_t begin, auto) { return from + begin; };
    };
}

/// The same of a result.
inline auto per_row(Tensor& y) {
    return [&y]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return [to = y.mutable_data<Compute<T>>()](std::int64_t begin, auto) { return to + begin; };
    };
}

/// A row of a result [chunks, n] per chunk, for partial sums.
inline auto per_chunk(Tensor& y) {
    return [&y]<class T>(T /*zero*/, const Rows& rows) {
        return [to = y.mutable_data<Compute<T>>(), rows](std::int64_t begin, auto) {
            return to + begin / rows.chunk * rows.n;
        };
    };
}

/// The whole of x, of type Compute<T>.
inline auto shared(const Tensor& x) {
    return [&x]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return [from = x.data<Compute<T>>()](auto, auto) { return from; };
    };
}

/// A number as Compute<T>.
inline auto number(double value) {
    return [value]<class T>(T /*zero*/, const Rows& /*rows*/) {
        return [c = static_cast<Compute<T>>(value)](auto, auto) { return c; };
    };
}

namespace detail {
/// The kernel's argument for a part: its memory, if it is staged.
template <class Part>
auto given(const Part& part) {
    if constexpr (requires { part.data(); }) {
        return part.data();
    } else {
        return part;
    }
}
}  // namespace detail

/// Calls kernel(operands ..., count, n) for chunks of `rows`, in parallel. `choose` takes the
/// kernel from kernels::Table<Compute<T>>; T is any floating type.
template <class Choose, class... Operands>
void for_rows(std::string_view op, DType dtype, const Rows& rows, const Choose& choose,
              const Operands&... operands) {
    visit_stored(op, dtype, [&](auto zero) {
        const auto kernel = choose(kernels::table<Compute<decltype(zero)>>());
        const auto launch = [&](const auto&... part) {
            parallel_for(rows.count, rows.chunk, [&](std::int64_t begin, std::int64_t end) {
                // The parts live until the kernel has returned; then results are rounded.
                kernel(detail::given(part(begin, end))..., end - begin, rows.n);
            });
        };
        launch(operands(zero, rows)...);
    });
}

}  // namespace tapestry
