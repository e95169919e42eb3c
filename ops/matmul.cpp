// The backward rules are products of transposed views: transposing copies nothing, and one rule
// serves every order. Named products are in products.cpp.
#include <tapestry/ops/matmul.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/accumulated_product.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {

// ---- half precision -----------------------------------------------------------------------------
// bf16 has its own kernel; other types, meant for files, are widened whole and use the f32 kernel.
// The sum over k is f32 and rounded once. Without a bf16 instruction the bits are those of an f32
// product. They do not depend on the number of threads or on how a product is tiled.

namespace {

/// Elements worth a thread.
constexpr std::int64_t kGrainOfLines = 16'384;

template <class F>
void for_lines(std::int64_t lines, std::int64_t length, bool serial, const F& f) {
    const auto some = [&f](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
    };
    if (serial) return some(0, lines);
    parallel_for(lines, kGrainOfLines / std::max<std::int64_t>(1, length), some);
}

/// A matrix widened in its own layout: element [i, j] of `rows` x `cols` is at
/// from + i * from_row + j * from_col, and one of the two strides is 1.
class WideMatrix {
public:
    template <class T>
    WideMatrix(const T* from, std::int64_t rows, std::int64_t cols, std::int64_t from_row,
               std::int64_t from_col, bool serial)
        : room_({rows, cols}, DType::f32),
          row_(from_col == 1 ? cols : 1),
          col_(from_col == 1 ? 1 : rows) {
        float* const to = room_.mutable_data<float>();
        const bool by_rows = from_col == 1;
        const std::int64_t lines = by_rows ? rows : cols, length = by_rows ? cols : rows;
        const std::int64_t stride = by_rows ? from_row : from_col;
        for_lines(lines, length, serial,
                  [=](std::int64_t i) { widen(to + i * length, from + i * stride, length); });
    }
    const float* data() const { return room_.data<float>(); }
    std::int64_t row() const { return row_; }
    std::int64_t col() const { return col_; }

private:
    Tensor room_;  // from the caching allocator
    std::int64_t row_, col_;
};

/// C = A B (+ bias); ignores g.accumulate. Runs on all threads, or only on the calling one if
/// `serial`.
void multiply_halves(const kernels::GemmArguments<Bf16>& g, bool serial) {
    const kernels::HalfGemm& kernel = kernels::table<float>().half_gemm;
    // Packing B takes longer than multiplying it by a few rows.
    constexpr std::int64_t kFew = 8;
    const bool instruction = kernel.by_instruction != nullptr && g.m > kFew;
    (instruction ? kernel.by_instruction : kernel.in_f32)(g, serial);
}

template <class T>
void multiply_halves(const kernels::GemmArguments<T>& g, bool serial) {
    if (g.m == 0 || g.n == 0) return;
    const WideMatrix a(g.a, g.m, g.k, g.a_row, g.a_col, serial);
    const WideMatrix b(g.b, g.k, g.n, g.b_row, g.b_col, serial);
    Tensor c({g.m, g.n}, DType::f32), bias({g.bias != nullptr ? g.n : 0}, DType::f32);
    kernels::GemmArguments<float> wide;
    wide.m = g.m;
    wide.n = g.n;
    wide.k = g.k;
    wide.a = a.data();
    wide.a_row = a.row();
    wide.a_col = a.col();
    wide.b = b.data();
    wide.b_row = b.row();
    wide.b_col = b.col();
    wide.c = c.mutable_data<float>();
    wide.c_row = g.n;
    if (g.bias != nullptr) {
        widen(bias.mutable_data<float>(), g.bias, g.n);
        wide.bias = bias.data<float>();
    }
    kernels::table<float>().gemm.gemm(wide, serial);
    for_lines(g.m, g.n, serial,
              [&](std::int64_t i) { narrow(g.c + i * g.c_row, wide.c + i * g.n, g.n); });
}

/// The same for all dtypes.
template <class T>
void multiply_stored(const kernels::GemmArguments<T>& g, bool serial) {
    const FloatingPointGuard standard;  // few rows take no loop
    if constexpr (kIsNarrow<T>) {
        multiply_halves(g, serial);
    } else {
        kernels::table<T>().gemm.gemm(g, serial);
    }
}

}  // namespace

// ---- batches of products ------------------------------------------------------------------------

namespace {

// With at least this many products, each runs on one thread; fewer are computed one after another,
// each on all threads.
constexpr std::int64_t kManyProducts = 8;
// Multiplications below which a product is not worth a thread.
constexpr std::int64_t kSmallProduct = 1 << 17;

// The kernel handles any strides, but is only fast if rows or columns are contiguous.
Tensor with_adjacent_elements(const Tensor& x) {
    const auto adjacent = [&x](int axis) { return x.strides()[axis] == 1; };
    return adjacent(x.rank() - 1) || adjacent(x.rank() - 2) ? x : dense(x);
}

template <class T>
kernels::GemmArguments<T> gemm_arguments(const Tensor& a, const Tensor& b, Tensor& y) {
    kernels::GemmArguments<T> g;
    g.m = a.size(-2);
    g.n = b.size(-1);
    g.k = a.size(-1);
    g.a = a.data<T>();
    g.a_row = a.strides()[a.rank() - 2];
    g.a_col = a.strides()[a.rank() - 1];
    g.b = b.data<T>();
    g.b_row = b.strides()[b.rank() - 2];
    g.b_col = b.strides()[b.rank() - 1];
    g.c = y.mutable_data<T>();
    g.c_row = g.n;
    return g;
}

// y[i] = a[i] b[i] for every i of the leading axes of y.
template <class T>
void multiply_batch(const Tensor& a, const Tensor& b, Tensor& y) {
    const kernels::GemmArguments<T> first = gemm_arguments<T>(a, b, y);
    const Shape leading = leading_shape(y);
    const std::int64_t count = numel(leading);
    const Strides a_strides = leading_strides(a, leading);
    const Strides b_strides = leading_strides(b, leading);
    const auto product = [&](std::int64_t i) {
        kernels::GemmArguments<T> g = first;
        g.a += offset_at(i, leading, a_strides);
        g.b += offset_at(i, leading, b_strides);
        g.c += i * g.m * g.n;
        return g;
    };
    if (count < kManyProducts) {
        for (std::int64_t i = 0; i < count; ++i) multiply_stored(product(i), false);
        return;
    }
    const std::int64_t work = std::max<std::int64_t>(1, first.m * first.n * first.k);
    parallel_for(count, kSmallProduct / work, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) multiply_stored(product(i), true);
    });
}

// y = a b. Many matrices times one on the right are a single product with many rows.
void multiply(const Tensor& a, const Tensor& b, Tensor& y) {
    if (a.rank() > 2 && b.rank() == 2) {
        if (const auto rows = views::try_reshape(a, rows_shape(a.shape()))) {
            Tensor y_rows = views::reshape(y, rows_shape(y.shape()));
            return multiply(*rows, b, y_rows);
        }
    }
    const Tensor left = with_adjacent_elements(a);
    const Tensor right = with_adjacent_elements(b);
    visit_stored("matmul", y.dtype(),
                 [&](auto zero) { multiply_batch<decltype(zero)>(left, right, y); });
}

// Rows of the product at a time, so that the narrow one stays small.
template <class T>
void multiply_widened(const Tensor& a, const Tensor& b, Tensor& y, bool accumulate) {
    constexpr std::int64_t kRows = 4096;
    const std::int64_t n = y.size(1), most = std::min(kRows, y.size(0));
    Tensor room({most, n}, a.dtype());
    for (std::int64_t first = 0; first < y.size(0); first += most) {
        const std::int64_t rows = std::min(most, y.size(0) - first);
        auto g = gemm_arguments<T>(views::slice(a, 0, first, first + rows), b, room);
        multiply_stored(g, false);
        const T* const from = room.data<T>();
        float* const to = y.mutable_data<float>() + first * n;
        parallel_for(rows * n, kGrainOfLines, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; i += kStagedBlock) {
                const std::int64_t count = std::min(kStagedBlock, end - i);
                const Widened<T> more(from + i, count);
                for (std::int64_t j = 0; j < count; ++j) {
                    to[i + j] = (accumulate ? to[i + j] : 0) + more.data()[j];
                }
            }
        });
    }
}

double product_flops(const Op& op) {  // a multiplication and an addition per k
    return 2.0 * static_cast<double>(numel(op.outputs()[0].shape)) *
           static_cast<double>(op.inputs()[0].shape.back());
}

}  // namespace

void multiply_into(const Tensor& a, const Tensor& b, Tensor& y, bool accumulate) {
    const Tensor left = with_adjacent_elements(a);
    const Tensor right = with_adjacent_elements(b);
    visit_stored("matmul", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (kIsNarrow<T>) {
            if (y.dtype() != a.dtype()) return multiply_widened<T>(left, right, y, accumulate);
        }
        auto g = gemm_arguments<T>(left, right, y);
        g.c_row = y.strides()[0];
        g.accumulate = accumulate;
        multiply_stored(g, false);
    });
}

// ---- matmul -------------------------------------------------------------------------------------

namespace {
struct MatmulOp final : Op {
    MatmulOp(const Tensor& a, const Tensor& b) : Op("matmul", {a, b}) {}
    double flops() const override { return product_flops(*this); }

    Tensors forward(const Tensors& x) const override { return {matmul(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& a = saved(0);
        const Tensor& b = saved(1);
        const Tensor& g = grads[0];
        Tensor to_a;
        Tensor to_b;
        if (needs(0)) to_a = sum_to(matmul(g, transposed(b)), a.shape());
        if (needs(1) && b.rank() == 2) {  // the sum over the batch is part of the product
            to_b = matmul(transposed(as_rows(a)), as_rows(g));
        } else if (needs(1)) {
            to_b = sum_to(matmul(transposed(a), g), b.shape());
        }
        return {to_a, to_b};
    }
};

// Throws unless the shapes match; returns the product's shape for operands of rank 2 or more.
Shape product_shape(const Tensor& a, const Tensor& b) {
    const std::int64_t inner = b.rank() == 1 ? b.size(0) : b.size(-2);
    require<ShapeError>(a.size(-1) == inner, "matmul: inner sizes differ: {} x {} ({} against {})",
                        a.shape(), b.shape(), a.size(-1), inner);
    if (a.rank() == 1 || b.rank() == 1) return {};
    Shape shape = broadcast_shapes("matmul: batch axes", leading_shape(a), leading_shape(b));
    shape.push_back(a.size(-2));
    shape.push_back(b.size(-1));
    return shape;
}
}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
    check_floating("matmul", a);
    check_same_dtype("matmul", a, b);
    require<ShapeError>(a.rank() > 0 && b.rank() > 0,
                        "matmul: {} x {}: a scalar is not a matrix; use mul", a.shape(), b.shape());
    const Shape shape = product_shape(a, b);
    if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
    if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
    Tensor y(shape, a.dtype());
    multiply(a, b, y);
    return record<MatmulOp>({a, b}, y, a, b);
}

// ---- linear -------------------------------------------------------------------------------------

namespace {
struct LinearOp final : Op {
    LinearOp(const Tensor& x, const Tensor& weight) : Op("linear", {x, weight}) {}
    double flops() const override { return product_flops(*this); }

    Tensors forward(const Tensors& x) const override { return {linear(x[0], x[1], x[2])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor g = as_rows(grads[0]);  // [R, O]
        Tensors result(3);
        if (needs(0)) result[0] = reshaped(matmul(g, saved(1)), inputs()[0].shape);
        if (needs(1)) result[1] = matmul(transposed(g), as_rows(saved(0)));
        if (needs(2)) result[2] = sum_to(g, {g.size(1)});
        return result;
    }
};

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_floating("linear", x);
    check_same_dtype("linear", x, weight);
    require<ShapeError>(weight.rank() == 2, "linear: the weight must be [out, in], got {}",
                        weight.shape());
    require<ShapeError>(x.rank() > 0 && x.size(-1) == weight.size(1),
                        "linear: x {} does not end in the {} features of the weight {}", x.shape(),
                        weight.size(1), weight.shape());
    if (!bias.defined()) return;
    check_same_dtype("linear", x, bias);
    require<ShapeError>(bias.shape() == Shape{weight.size(0)},
                        "linear: the bias is {}, the weight {} needs [{}]", bias.shape(),
                        weight.shape(), weight.size(0));
}
}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_linear(x, weight, bias);
    if (!fusion_enabled()) {
        const Tensor y = matmul(x, transpose(weight, 0, 1));
        return bias.defined() ? add(y, bias) : y;
    }
    Shape shape = x.shape();
    shape.back() = weight.size(0);
    Tensor y(shape, x.dtype());
    const Tensor left = with_adjacent_elements(views::reshape(x, rows_shape(x.shape())));  // [R, I]
    const Tensor right = with_adjacent_elements(views::transpose(weight, 0, 1));           // [I, O]
    const Tensor added = bias.defined() ? dense(bias) : bias;
    visit_stored("linear", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        auto g = gemm_arguments<T>(left, right, y);
        if (added.defined()) g.bias = added.data<T>();
        multiply_stored(g, false);
    });
    // A frozen weight has no gradient, which is all that x would be kept for.
    const bool learns = Tape::following({weight}) != nullptr;
    return record<LinearOp>({x, weight, bias}, y, learns ? x : Tensor(), weight);
}

}  // namespace tapestry
