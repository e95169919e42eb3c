// Matrix products as three loops, determinants, systems of equations, and einsum.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>
#include <string>

namespace tapestry::reference {

/// y[..., m, n] = sum_k a[..., m, k] b[..., k, n], batches broadcast; for ranks of 2 or more.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b) {
    const auto batch = [](const Array<T>& x) { return x.shape.sub(0, x.shape.rank() - 2); };
    Shape shape = broadcast_shapes("reference", batch(a), batch(b));
    const std::int64_t inner = a.shape.back();
    shape.push_back(a.shape[a.shape.rank() - 2]);
    shape.push_back(b.shape.back());
    Array<T> y(shape);
    const int row = shape.rank() - 2;
    for (std::int64_t i = 0; i < y.size(); ++i) {
        for (std::int64_t k = 0; k < inner; ++k) {
            Shape of_a = unravel(shape, i);
            Shape of_b = of_a;
            of_a[row + 1] = k;
            of_b[row] = k;
            y[i] += a[ravel_broadcast(a.shape, of_a)] * b[ravel_broadcast(b.shape, of_b)];
        }
    }
    return y;
}

/// y[..., o] = sum_i x[..., i] weight[o, i] + bias[o]; bias may be null.
template <class T>
Array<T> linear(const Array<T>& x, const Array<T>& weight, const Array<T>* bias) {
    const std::int64_t in = weight.shape[1];
    const std::int64_t out = weight.shape[0];
    Shape shape = x.shape;
    shape.back() = out;
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const std::int64_t row = i / out;
        const std::int64_t o = i % out;
        if (bias != nullptr) y[i] = (*bias)[o];
        for (std::int64_t k = 0; k < in; ++k) y[i] += x[row * in + k] * weight[o * in + k];
    }
    return y;
}

/// L, lower triangular, with L L^T = (a + a^T) / 2: row by row, from sums.
template <class T>
Array<T> cholesky(const Array<T>& a) {
    using std::sqrt;
    Array<T> l(a.shape);
    const std::int64_t n = a.shape.back();
    for (std::int64_t at = 0; at < a.size(); at += n * n) {
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) {
                T rest = (a[at + i * n + j] + a[at + j * n + i]) / T(2);
                for (std::int64_t k = 0; k < j; ++k)
                    rest = rest - l[at + i * n + k] * l[at + j * n + k];
                l[at + i * n + j] = i == j ? sqrt(rest) : rest / l[at + j * n + j];
            }
        }
    }
    return l;
}

// ---- determinants and systems -------------------------------------------------------------------
// Determinants by Laplace's expansion, systems by Cramer's rule: for matrices of a few rows.

template <class T>
using Matrix = std::vector<std::vector<T>>;

/// sum_j (-1)^j a[0, j] det(a without row 0 and column j)
template <class T>
T det(const Matrix<T>& a) {
    if (a.empty()) return T(1);
    T total(0);
    for (std::size_t j = 0; j < a.size(); ++j) {
        Matrix<T> minor(a.begin() + 1, a.end());
        for (auto& row : minor) row.erase(row.begin() + static_cast<std::ptrdiff_t>(j));
        const T term = a[0][j] * det(minor);
        total = j % 2 == 0 ? total + term : total - term;
    }
    return total;
}

/// Matrix `index` of a batch [..., N, N].
template <class T>
Matrix<T> matrix_of(const Array<T>& a, std::int64_t index) {
    const std::int64_t n = a.shape.back();
    Matrix<T> matrix(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            matrix[static_cast<std::size_t>(i)].push_back(a[(index * n + i) * n + j]);
        }
    }
    return matrix;
}

template <class T>
Array<T> det(const Array<T>& a) {
    Array<T> y(a.shape.sub(0, a.shape.rank() - 2));
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = det(matrix_of(a, i));
    return y;
}

/// x_i = det(a with column i replaced by b) / det(a), per column of b [..., N, K].
template <class T>
Array<T> solve(const Array<T>& a, const Array<T>& b) {
    const auto batch_of = [](const Array<T>& x) { return x.shape.sub(0, x.shape.rank() - 2); };
    Shape shape = broadcast_shapes("reference", batch_of(a), batch_of(b));
    const Shape batch = shape;
    const std::int64_t n = a.shape.back();
    shape.push_back(n);
    shape.push_back(b.shape.back());
    Array<T> x(shape);
    for (std::int64_t flat = 0; flat < x.size(); ++flat) {
        const Shape index = unravel(shape, flat);
        const Shape place = index.sub(0, batch.rank());
        const Matrix<T> matrix = matrix_of(a, ravel_broadcast(batch_of(a), place));
        Matrix<T> replaced = matrix;
        for (std::int64_t row = 0; row < n; ++row) {
            Shape from = index;
            from[shape.rank() - 2] = row;
            replaced[static_cast<std::size_t>(row)]
                    [static_cast<std::size_t>(index[shape.rank() - 2])] =
                        b[ravel_broadcast(b.shape, from)];
        }
        x[flat] = det(replaced) / det(matrix);
    }
    return x;
}

// ---- einsum -------------------------------------------------------------------------------------
// A loop over the values of all letters.

/// `terms` has a string of letters per array; axes of size 1 repeat.
template <class T>
Array<T> einsum(const std::vector<std::string>& terms, const std::string& output,
                const Arrays<T>& x) {
    std::string letters = output;
    for (const std::string& term : terms) letters += term;
    std::sort(letters.begin(), letters.end());
    letters.erase(std::unique(letters.begin(), letters.end()), letters.end());

    std::vector<std::int64_t> sizes(letters.size(), 1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
        for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
            const std::int64_t size = x[i].shape[static_cast<int>(axis)];
            if (size != 1) sizes[letters.find(terms[i][axis])] = size;
        }
    }
    const auto value_of = [&](std::int64_t flat, char letter) {
        for (std::size_t i = letters.size() - 1; letters[i] != letter; --i) flat /= sizes[i];
        return flat % sizes[letters.find(letter)];
    };
    const auto place = [&](std::int64_t flat, const std::string& term, const Shape& shape) {
        Shape index;
        for (const char letter : term) index.push_back(value_of(flat, letter));
        return ravel_broadcast(shape, index);
    };

    Shape shape;
    for (const char letter : output) shape.push_back(sizes[letters.find(letter)]);
    Array<T> y(shape);
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    for (std::int64_t flat = 0; flat < count; ++flat) {
        T product(1);
        for (std::size_t i = 0; i < terms.size(); ++i) {
            product *= x[i][place(flat, terms[i], x[i].shape)];
        }
        y[place(flat, output, shape)] += product;
    }
    return y;
}

}  // namespace tapestry::reference
