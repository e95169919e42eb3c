#include <tapestry/ops/int8_rows.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

constexpr float kLargest = 127;
/// kFewRows: most rows of x for which W is read as int8, the kernels' own limit (gemm_few_rows.h).
/// kWideRows: rows of W converted to f32 at a time beyond that; they fit in cache.
constexpr std::int64_t kFewRows = 4, kWideRows = 256;

void put_row(const float* from, std::int64_t row, Int8Rows& to) {
    float largest = 0;
    for (std::int64_t j = 0; j < to.cols; ++j) {
        require(std::isfinite(from[j]), "int8_rows: row {} holds {}", row, from[j]);
        largest = std::max(largest, std::abs(from[j]));
    }
    const float scale = largest / kLargest;
    to.scales[static_cast<std::size_t>(row)] = scale;
    std::int8_t* const numbers = to.numbers.data() + row * to.cols;
    for (std::int64_t j = 0; j < to.cols; ++j) {
        // A subnormal or zero scale may be far off, hence the clamp.
        const float number = scale > 0 ? std::nearbyint(from[j] / scale) : 0;
        numbers[j] = static_cast<std::int8_t>(std::clamp(number, -kLargest, kLargest));
    }
}

void check_operands(const Tensor& x, const Int8Rows& w, const Tensor& bias) {
    check_dtype("multiply_by_rows", x, DType::f32);
    require<ShapeError>(x.rank() > 0 && x.size(-1) == w.cols,
                        "multiply_by_rows: x {} does not end in the {} columns of [{}, {}]",
                        x.shape(), w.cols, w.rows, w.cols);
    if (!bias.defined()) return;
    check_same_dtype("multiply_by_rows", x, bias);
    require<ShapeError>(bias.shape() == Shape{w.rows},
                        "multiply_by_rows: the bias is {}, a matrix [{}, {}] needs [{}]",
                        bias.shape(), w.rows, w.cols, w.rows);
}

// y [R, rows], row by row at memory bandwidth.
void multiply_few(const Tensor& x, const Int8Rows& w, const float* bias, Tensor& y) {
    kernels::GemmArguments<float, std::int8_t> g;
    g.m = x.size(0);
    g.n = w.rows;
    g.k = w.cols;
    g.a = x.data<float>();
    g.a_row = w.cols;
    g.a_col = 1;
    g.b = w.numbers.data();
    g.b_row = 1;
    g.b_col = w.cols;
    g.c = y.mutable_data<float>();
    g.c_row = w.rows;
    kernels::table<float>().int8_gemm.few_rows(g);
    for (std::int64_t i = 0; i < g.m; ++i) {
        float* const row = g.c + i * g.c_row;
        for (std::int64_t j = 0; j < g.n; ++j) {
            row[j] =
                row[j] * w.scales[static_cast<std::size_t>(j)] + (bias != nullptr ? bias[j] : 0);
        }
    }
}

// to [count, cols]: rows of w from `first` on, in f32.
void widen_rows(const Int8Rows& w, std::int64_t first, std::int64_t count, float* to) {
    parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int8_t* const from = w.numbers.data() + (first + i) * w.cols;
            const float scale = w.scales[static_cast<std::size_t>(first + i)];
            for (std::int64_t j = 0; j < w.cols; ++j) {
                to[i * w.cols + j] = scale * static_cast<float>(from[j]);
            }
        }
    });
}

void multiply_many(const Tensor& x, const Int8Rows& w, const float* bias, Tensor& y) {
    Tensor wide({std::min(kWideRows, w.rows), w.cols}, DType::f32);
    float* const to = wide.mutable_data<float>();
    for (std::int64_t first = 0; first < w.rows; first += kWideRows) {
        kernels::GemmArguments<float> g;
        g.m = x.size(0);
        g.n = std::min(kWideRows, w.rows - first);
        g.k = w.cols;
        widen_rows(w, first, g.n, to);
        g.a = x.data<float>();
        g.a_row = w.cols;
        g.a_col = 1;
        g.b = to;
        g.b_row = 1;
        g.b_col = w.cols;
        g.c = y.mutable_data<float>() + first;
        g.c_row = w.rows;
        g.bias = bias != nullptr ? bias + first : nullptr;
        kernels::table<float>().gemm.gemm(g, false);
    }
}

// g W for g [R, rows]: [R, cols].
Tensor gradient_of_x(const Tensor& g, const Int8Rows& w) {
    Tensor to_x({g.size(0), w.cols}, DType::f32);
    if (w.rows == 0) to_x.fill_(0);
    Tensor wide({std::min(kWideRows, w.rows), w.cols}, DType::f32);
    for (std::int64_t first = 0; first < w.rows && to_x.numel() > 0; first += kWideRows) {
        kernels::GemmArguments<float> product;
        product.m = g.size(0);
        product.n = w.cols;
        product.k = std::min(kWideRows, w.rows - first);
        widen_rows(w, first, product.k, wide.mutable_data<float>());
        product.a = g.data<float>() + first;
        product.a_row = w.rows;
        product.a_col = 1;
        product.b = wide.data<float>();
        product.b_row = w.cols;
        product.b_col = 1;
        product.c = to_x.mutable_data<float>();
        product.c_row = w.cols;
        product.accumulate = first > 0;
        kernels::table<float>().gemm.gemm(product, false);
    }
    return to_x;
}

Tensor product_of(const Tensor& x, const Int8Rows& w, const Tensor& bias) {
    check_operands(x, w, bias);
    Shape shape = x.shape();
    shape.back() = w.rows;
    Tensor y(shape, DType::f32);
    const std::int64_t count = numel(x.shape().sub(0, x.rank() - 1));
    if (y.numel() == 0) return y;
    const Tensor from = views::reshape(dense(x), {count, w.cols});
    const Tensor added = bias.defined() ? dense(bias) : bias;
    const float* const b = bias.defined() ? added.data<float>() : nullptr;
    Tensor to = views::reshape(y, {count, w.rows});
    if (count <= kFewRows) {
        multiply_few(from, w, b, to);
    } else {
        multiply_many(from, w, b, to);
    }
    return y;
}

struct MultiplyByRowsOp final : Op {
    explicit MultiplyByRowsOp(std::shared_ptr<const Int8Rows> w)
        : Op("multiply_by_rows"), w_(std::move(w)) {}
    double flops() const override {
        return 2.0 * static_cast<double>(numel(outputs()[0].shape)) * static_cast<double>(w_->cols);
    }
    Tensors forward(const Tensors& x) const override { return {multiply_by_rows(x[0], w_, x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& g = grads[0];
        Tensors result(2);
        if (needs(0) && is_recording()) {
            result[0] = matmul(g, matrix_of(*w_));
        } else if (needs(0)) {
            const std::int64_t count = numel(g.shape().sub(0, g.rank() - 1));
            const Tensor rows = views::reshape(dense(g), {count, w_->rows});
            result[0] = views::reshape(gradient_of_x(rows, *w_), inputs()[0].shape);
        }
        if (needs(1)) result[1] = sum_to(g, inputs()[1].shape);
        return result;
    }

private:
    std::shared_ptr<const Int8Rows> w_;
};

}  // namespace

Int8Rows int8_rows(const Tensor& matrix) {
    check_dtype("int8_rows", matrix, DType::f32);
    require<ShapeError>(matrix.rank() == 2, "int8_rows: needs a matrix, got {}", matrix.shape());
    const Tensor from = dense(matrix);
    Int8Rows to{.rows = matrix.size(0), .cols = matrix.size(1), .numbers = {}, .scales = {}};
    to.numbers.resize(static_cast<std::size_t>(to.rows * to.cols));
    to.scales.resize(static_cast<std::size_t>(to.rows));
    for (std::int64_t i = 0; i < to.rows; ++i) put_row(from.data<float>() + i * to.cols, i, to);
    return to;
}

Tensor matrix_of(const Int8Rows& w) {
    Tensor wide({w.rows, w.cols}, DType::f32);
    widen_rows(w, 0, w.rows, wide.mutable_data<float>());
    return wide;
}

Tensor multiply_by_rows(const Tensor& x, const Int8Rows& w, const Tensor& bias) {
    require<AutogradError>(Tape::following({x, bias}) == nullptr,
                           "multiply_by_rows: a product with int8 rows has no gradient");
    return product_of(x, w, bias);
}

Tensor multiply_by_rows(const Tensor& x, const std::shared_ptr<const Int8Rows>& w,
                        const Tensor& bias) {
    require(w != nullptr, "multiply_by_rows: no matrix");
    Tensor y = product_of(x, *w, bias);
    return record<MultiplyByRowsOp>({x, bias}, y, w);
}

}  // namespace tapestry
