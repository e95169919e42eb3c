// Determinants by Laplace's expansion, systems by Cramer's rule: for matrices of a few rows.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

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

/// x_i = det(a with b in the place of column i) / det(a), for each column of b [..., N, K].
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

}  // namespace tapestry::reference
