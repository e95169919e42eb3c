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

/// q and r of a [..., M, N] by Gram and Schmidt, for columns that are far from dependent.
template <class T>
Arrays<T> qr(const Array<T>& a) {
    using std::sqrt;
    const std::int64_t m = a.shape[a.shape.rank() - 2], n = a.shape.back(), k = std::min(m, n);
    const Shape batch = a.shape.sub(0, a.shape.rank() - 2);
    Shape of_q = batch, of_r = batch;
    for (const std::int64_t size : {m, k}) of_q.push_back(size);
    for (const std::int64_t size : {k, n}) of_r.push_back(size);
    Array<T> q(of_q), r(of_r);
    for (std::int64_t b = 0; b < numel(batch); ++b) {
        for (std::int64_t j = 0; j < n; ++j) {
            std::vector<T> rest;
            for (std::int64_t i = 0; i < m; ++i) rest.push_back(a[(b * m + i) * n + j]);
            for (std::int64_t p = 0; p < std::min(j, k); ++p) {
                T along(0);
                for (std::int64_t i = 0; i < m; ++i) {
                    along += q[(b * m + i) * k + p] * rest[static_cast<std::size_t>(i)];
                }
                r[(b * k + p) * n + j] = along;
                for (std::int64_t i = 0; i < m; ++i) {
                    rest[static_cast<std::size_t>(i)] -= along * q[(b * m + i) * k + p];
                }
            }
            if (j >= k) continue;
            T squares(0);
            for (const T& x : rest) squares += x * x;
            r[(b * k + j) * n + j] = sqrt(squares);
            for (std::int64_t i = 0; i < m; ++i) {
                q[(b * m + i) * k + j] = rest[static_cast<std::size_t>(i)] / sqrt(squares);
            }
        }
    }
    return {q, r};
}

/// Eigenvalues, ascending, and vectors in columns of symmetric a [..., N, N]: twenty sweeps of
/// rotations, each by the angle that makes one entry vanish.
template <class T>
Arrays<T> eigh(Array<T> a) {
    using std::abs, std::sqrt;
    const std::int64_t n = a.shape.back();
    Array<T> v(a.shape), values(a.shape.sub(0, a.shape.rank() - 1)), vectors(a.shape);
    for (std::int64_t at = 0; at < a.size(); at += n * n) {
        const auto turn = [&](Array<T>& x, std::int64_t from, std::int64_t to, std::int64_t step,
                              const T& c, const T& s) {
            for (std::int64_t i = 0; i < n; ++i) {
                T &p = x[at + from + i * step], &q = x[at + to + i * step];
                const T before = p;
                p = c * before - s * q;
                q = s * before + c * q;
            }
        };
        for (std::int64_t i = 0; i < n; ++i) v[at + i * n + i] = T(1);
        for (int sweep = 0; sweep < 20; ++sweep) {
            for (std::int64_t p = 0; p < n; ++p) {
                for (std::int64_t q = p + 1; q < n; ++q) {
                    const T gap = a[at + q * n + q] - a[at + p * n + p];
                    const T twice = T(2) * a[at + p * n + q];
                    const T root = sqrt(gap * gap + twice * twice);
                    const T t = twice / (gap < T(0) ? gap - root : gap + root);
                    const T c = T(1) / sqrt(T(1) + t * t);
                    turn(a, p * n, q * n, 1, c, c * t);
                    turn(a, p, q, n, c, c * t);
                    turn(v, p * n, q * n, 1, c, c * t);
                }
            }
        }
        std::vector<std::int64_t> order;
        for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
        std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
            return a[at + i * n + i] < a[at + j * n + j];
        });
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t row = order[static_cast<std::size_t>(k)];
            values[at / n + k] = a[at + row * n + row];
            T largest(0);
            for (std::int64_t i = 0; i < n; ++i) {
                const T x = v[at + row * n + i];
                if (abs(largest) < abs(x)) largest = x;
            }
            for (std::int64_t i = 0; i < n; ++i) {
                const T x = v[at + row * n + i];
                vectors[at + i * n + k] = largest < T(0) ? -x : x;
            }
        }
    }
    return {values, vectors};
}

/// u, s and vh of a [..., M, N] with full rank, from the eigenvectors of the smaller of a^T a and
/// a a^T.
template <class T>
Arrays<T> svd(const Array<T>& a) {
    using std::abs, std::sqrt;
    const std::int64_t m = a.shape[a.shape.rank() - 2], n = a.shape.back(), k = std::min(m, n);
    const Shape batch = a.shape.sub(0, a.shape.rank() - 2);
    const auto shape = [&](std::initializer_list<std::int64_t> sizes) {
        Shape all = batch;
        for (const std::int64_t size : sizes) all.push_back(size);
        return all;
    };
    Array<T> square(shape({k, k})), u(shape({m, k})), s(shape({k})), vh(shape({k, n}));
    const auto entry = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
        return m < n ? a[(b * m + i) * n + j]
                     : a[(b * m + j) * n + i];  // row i of the shorter side
    };
    for (std::int64_t at = 0; at < square.size(); ++at) {
        const std::int64_t b = at / (k * k), i = at / k % k, j = at % k;
        for (std::int64_t e = 0; e < std::max(m, n); ++e)
            square[at] += entry(b, i, e) * entry(b, j, e);
    }
    const Arrays<T> found = eigh(square);
    for (std::int64_t b = 0; b < numel(batch); ++b) {
        for (std::int64_t i = 0; i < k; ++i) {
            const std::int64_t from = k - 1 - i;  // descending
            s[b * k + i] = sqrt(found[0][b * k + from]);
            std::vector<T> left, right;
            for (std::int64_t e = 0; e < k; ++e) left.push_back(found[1][(b * k + e) * k + from]);
            for (std::int64_t e = 0; e < std::max(m, n); ++e) {
                T sum(0);
                for (std::int64_t j = 0; j < k; ++j) {
                    sum += left[static_cast<std::size_t>(j)] * entry(b, j, e);
                }
                right.push_back(sum / s[b * k + i]);
            }
            if (m >= n) left.swap(right);
            T largest(0);
            for (const T& x : left) largest = abs(largest) < abs(x) ? x : largest;
            const T sign = largest < T(0) ? T(-1) : T(1);
            for (std::int64_t e = 0; e < m; ++e) {
                u[(b * m + e) * k + i] = sign * left[static_cast<std::size_t>(e)];
            }
            for (std::int64_t e = 0; e < n; ++e) {
                vh[(b * k + i) * n + e] = sign * right[static_cast<std::size_t>(e)];
            }
        }
    }
    return {u, s, vh};
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
