// Max pooling reads one pixel of each window, and its gradient writes to that pixel: gather and
// scatter_add. Average pooling is linear: it and the op that spreads its gradient are each other's
// rule. Interpolation is in interpolation.cpp.
#include <tapestry/ops/pooling.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>
#include <tapestry/ops/windows.h>

#include <algorithm>

namespace tapestry {
namespace {

// Planes [H, W] pooled to [P, Q].
struct Pooling {
    Shape input;   // [N, C, H, W]
    Shape output;  // [N, C, P, Q]
    Windows windows;
    bool count_padding = true;

    std::int64_t planes() const { return input[0] * input[1]; }
    std::int64_t area() const { return input[2] * input[3]; }
    std::int64_t places() const { return output[2] * output[3]; }
};

// The part of a window that lies inside the image.
struct Reach {
    Reach(const WindowAxis& axis, std::int64_t p)
        : begin(std::max<std::int64_t>(0, p * axis.stride - axis.padding)),
          end(std::min(axis.size, p * axis.stride - axis.padding + axis.kernel)),
          padded(std::min(axis.kernel, axis.size + 2 * axis.padding - p * axis.stride)) {}
    std::int64_t begin, end;
    std::int64_t padded;  // its length with the padding
};

// Calls f(plane, place, rows, columns) for each window; planes are shared among threads.
template <class F>
void for_each_window(const Pooling& plan, const F& f) {
    const Windows& w = plan.windows;
    const std::int64_t work = plan.places() * w.rows.kernel * w.columns.kernel;
    parallel_for(plan.planes(), kGrain / std::max<std::int64_t>(1, work),
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t plane = begin; plane < end; ++plane) {
                         for (std::int64_t p = 0; p < plan.output[2]; ++p) {
                             const Reach rows(w.rows, p);
                             for (std::int64_t q = 0; q < plan.output[3]; ++q) {
                                 f(plane, plane * plan.places() + p * plan.output[3] + q, rows,
                                   Reach(w.columns, q));
                             }
                         }
                     }
                 });
}

struct PoolOp : Op {
    PoolOp(const char* name, const TensorRefs& saved, const Pooling& p)
        : Op(name, saved), plan(p) {}
    std::string attributes() const override {
        const WindowAxis &rows = plan.windows.rows, &columns = plan.windows.columns;
        return fmt::format("kernel={} x {}, stride={}, padding={}{}{}", rows.kernel, columns.kernel,
                           Size2d(rows.stride, columns.stride),
                           Size2d(rows.padding, columns.padding), columns.ceil ? ", ceil" : "",
                           plan.count_padding ? "" : ", padding does not count");
    }
    double flops() const override {
        return static_cast<double>(numel(plan.output)) *
               static_cast<double>(plan.windows.rows.kernel * plan.windows.columns.kernel);
    }
    Pooling plan;
};

}  // namespace

// ---- max ----------------------------------------------------------------------------------------

namespace {

// Index in the plane x [H, W] of the window's largest number: the first of equals, or the first
// NaN.
template <class T>
std::int64_t largest_in(const T* x, std::int64_t width, const Reach& rows, const Reach& columns) {
    std::int64_t best = rows.begin * width + columns.begin;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        for (std::int64_t at = i * width + columns.begin; at < i * width + columns.end; ++at) {
            const bool nan = x[at] != x[at];
            if (nan && x[best] == x[best]) return at;
            if (x[best] < x[at]) best = at;
        }
    }
    return best;
}

// Fills y, and `taken` with the indices within the plane, [N C, P Q].
template <class T>
void take_largest(Tensor& y, Tensor& taken, const Tensor& from, const Pooling& plan) {
    T* const to = y.mutable_data<T>();
    std::int64_t* const places = taken.mutable_data<std::int64_t>();
    const T* const x = from.data<T>();
    for_each_window(
        plan, [&](std::int64_t plane, std::int64_t place, const Reach& rows, const Reach& columns) {
            const T* const pixels = x + plane * plan.area();
            places[place] = largest_in(pixels, plan.input[3], rows, columns);
            to[place] = pixels[places[place]];
        });
}

struct Largest {
    Tensor y, taken;
};

Largest largest_of(const Tensor& x, const Pooling& plan) {
    const Tensor from = dense(x);
    Largest result{Tensor(plan.output, x.dtype()),
                   Tensor({plan.planes(), plan.places()}, DType::i64)};
    visit_floating("max_pool", x.dtype(), [&](auto zero) {
        take_largest<decltype(zero)>(result.y, result.taken, from, plan);
    });
    return result;
}

struct MaxPoolOp final : PoolOp {
    MaxPoolOp(const Tensor& taken, const Pooling& p) : PoolOp("max_pool2d", {taken}, p) {}
    Tensors forward(const Tensors& x) const override { return {largest_of(x[0], plan).y}; }
    Tensor decisions(const Tensors& x) const override { return largest_of(x[0], plan).taken; }
    Tensors backward(const Tensors& grads) override {
        const Tensor nothing = zeros({plan.planes(), plan.area()}, grads[0].dtype());
        const Tensor g = reshape(grads[0], {plan.planes(), plan.places()});
        return {reshape(scatter_add(nothing, 1, saved(0), g), plan.input)};
    }
};

Tensor max_pool(const Tensor& x, const Pooling& plan) {
    Largest result = largest_of(x, plan);
    return record<MaxPoolOp>({x}, result.y, result.taken, plan);
}

}  // namespace

// ---- average ------------------------------------------------------------------------------------

namespace {

double share(const Pooling& plan, const Reach& rows, const Reach& columns) {
    const std::int64_t inside = (rows.end - rows.begin) * (columns.end - columns.begin);
    return 1 / static_cast<double>(plan.count_padding ? rows.padded * columns.padded : inside);
}

template <class T>
void average_windows(Tensor& y, const Tensor& from, const Pooling& plan) {
    T* const to = y.mutable_data<T>();
    const T* const x = from.data<T>();
    for_each_window(
        plan, [&](std::int64_t plane, std::int64_t place, const Reach& rows, const Reach& columns) {
            T sum(0);
            for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                const T* const row = x + plane * plan.area() + i * plan.input[3];
                for (std::int64_t j = columns.begin; j < columns.end; ++j) sum += row[j];
            }
            to[place] = sum * static_cast<T>(share(plan, rows, columns));
        });
}

// The adjoint: spreads each number equally over its window.
template <class T>
void spread_windows(Tensor& dx, const Tensor& grad, const Pooling& plan) {
    T* const to = dx.mutable_data<T>();
    const T* const g = grad.data<T>();
    for_each_window(
        plan, [&](std::int64_t plane, std::int64_t place, const Reach& rows, const Reach& columns) {
            const T part = g[place] * static_cast<T>(share(plan, rows, columns));
            for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                T* const row = to + plane * plan.area() + i * plan.input[3];
                for (std::int64_t j = columns.begin; j < columns.end; ++j) row[j] += part;
            }
        });
}

Tensor average(const Tensor& x, const Pooling& plan);
Tensor spread(const Tensor& g, const Pooling& plan);

struct AvgPoolOp final : PoolOp {
    explicit AvgPoolOp(const Pooling& p) : PoolOp("avg_pool2d", {}, p) {}
    Tensors forward(const Tensors& x) const override { return {average(x[0], plan)}; }
    Tensors backward(const Tensors& grads) override { return {spread(grads[0], plan)}; }
};

struct SpreadOp final : PoolOp {
    explicit SpreadOp(const Pooling& p) : PoolOp("avg_pool2d_spread", {}, p) {}
    Tensors forward(const Tensors& x) const override { return {spread(x[0], plan)}; }
    Tensors backward(const Tensors& grads) override { return {average(grads[0], plan)}; }
};

Tensor average(const Tensor& x, const Pooling& plan) {
    const Tensor from = dense(x);
    Tensor y(plan.output, x.dtype());
    visit_floating("avg_pool", x.dtype(),
                   [&](auto zero) { average_windows<decltype(zero)>(y, from, plan); });
    return record<AvgPoolOp>({x}, y, plan);
}

Tensor spread(const Tensor& g, const Pooling& plan) {
    const Tensor from = dense(g);
    Tensor dx = zeros(plan.input, g.dtype());
    visit_floating("avg_pool", g.dtype(),
                   [&](auto zero) { spread_windows<decltype(zero)>(dx, from, plan); });
    return record<SpreadOp>({g}, dx, plan);
}

}  // namespace

// ---- checks and public functions ----------------------------------------------------------------

namespace {

std::int64_t or_kernel(std::int64_t stride, std::int64_t kernel) {
    return stride == 0 ? kernel : stride;
}

Pooling checked(std::string_view op, const Tensor& x, const Windows& windows, bool count_padding) {
    check_windows(op, x.shape(), windows);
    for (const WindowAxis* axis : {&windows.rows, &windows.columns}) {
        require<ShapeError>(axis->size > 0, "{}: the input {} has no pixels", op, x.shape());
        require(2 * axis->padding <= axis->kernel,
                "{}: padding {} is more than half of kernel {}: a window could lie outside", op,
                axis->padding, axis->kernel);
    }
    const Shape image = x.rank() == 4 ? x.shape() : Shape{x.size(0), x.size(1), 1, x.size(2)};
    const Shape output{image[0], image[1], windows.rows.count(), windows.columns.count()};
    return {image, output, windows, count_padding};
}

Pooling plan_2d(std::string_view op, const Tensor& x, const Size2d& kernel,
                const Pool2dOptions& options, bool count_padding) {
    check_floating(op, x);
    require<ShapeError>(x.rank() == 4, "{}: needs an input [N, C, H, W], got {}", op, x.shape());
    const Windows windows{
        .rows = {x.size(2), kernel.rows, or_kernel(options.stride.rows, kernel.rows),
                 options.padding.rows, 1, options.ceil_mode},
        .columns = {x.size(3), kernel.columns, or_kernel(options.stride.columns, kernel.columns),
                    options.padding.columns, 1, options.ceil_mode}};
    return checked(op, x, windows, count_padding);
}

Pooling plan_1d(std::string_view op, const Tensor& x, std::int64_t kernel,
                const Pool1dOptions& options, bool count_padding) {
    check_floating(op, x);
    require<ShapeError>(x.rank() == 3, "{}: needs an input [N, C, L], got {}", op, x.shape());
    const Windows windows{.columns = {x.size(2), kernel, or_kernel(options.stride, kernel),
                                      options.padding, 1, options.ceil_mode},
                          .axes = 1};
    return checked(op, x, windows, count_padding);
}

Tensor pooled(Tensor (*pool)(const Tensor&, const Pooling&), const Tensor& x, const Pooling& plan) {
    if (!is_narrow(x.dtype())) return pool(x, plan);
    return in_f32([&](const Tensor& wide) { return pool(wide, plan); }, x);
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const Size2d& kernel, const Pool2dOptions& options) {
    const Pooling plan = plan_2d("max_pool2d", x, kernel, options, true);
    return pooled(max_pool, x, plan);
}

Tensor max_pool1d(const Tensor& x, std::int64_t kernel, const Pool1dOptions& options) {
    const Pooling plan = plan_1d("max_pool1d", x, kernel, options, true);
    return squeeze(pooled(max_pool, unsqueeze(x, 2), plan), 2);
}

Tensor avg_pool2d(const Tensor& x, const Size2d& kernel, const Pool2dOptions& options,
                  bool count_padding) {
    const Pooling plan = plan_2d("avg_pool2d", x, kernel, options, count_padding);
    return pooled(average, x, plan);
}

Tensor avg_pool1d(const Tensor& x, std::int64_t kernel, const Pool1dOptions& options,
                  bool count_padding) {
    const Pooling plan = plan_1d("avg_pool1d", x, kernel, options, count_padding);
    return squeeze(pooled(average, unsqueeze(x, 2), plan), 2);
}

// ---- means of a given number of windows ---------------------------------------------------------

namespace {
// [count, size]: row p has 1 / (its window's length) within window p.
Tensor window_means(std::int64_t size, std::int64_t count, DType dtype) {
    std::vector<double> means(static_cast<std::size_t>(count * size));
    for (std::int64_t p = 0; p < count; ++p) {
        const std::int64_t begin = p * size / count, end = ((p + 1) * size + count - 1) / count;
        for (std::int64_t i = begin; i < end; ++i) {
            means[static_cast<std::size_t>(p * size + i)] = 1 / static_cast<double>(end - begin);
        }
    }
    return cast(tensor(means, {count, size}), dtype);
}
}  // namespace

Tensor adaptive_avg_pool2d(const Tensor& x, const Size2d& size) {
    const FloatingPointGuard standard;
    check_resize("adaptive_avg_pool2d", x, size);
    const std::int64_t h = x.size(2), w = x.size(3);
    if (h % size.rows == 0 && w % size.columns == 0) {
        return avg_pool2d(x, {h / size.rows, w / size.columns});
    }
    if (is_narrow(x.dtype())) {
        return in_f32([&size](const Tensor& wide) { return adaptive_avg_pool2d(wide, size); }, x);
    }
    const Tensor columns = window_means(w, size.columns, x.dtype());  // [Q, W]
    const Tensor rows = window_means(h, size.rows, x.dtype());        // [P, H]
    return matmul(matmul(rows, x), transpose(columns, 0, 1));
}

}  // namespace tapestry
