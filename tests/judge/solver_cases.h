// Functions that approximate a limit: iterations with a fixed number of rounds, badly conditioned
// systems, truncated sums. Their gradients are those of the limit, and right.
#pragma once

#include <tapestry/tests/judge/plain_cases.h>

#include <functional>

namespace tapestry::test {

using Rows = std::vector<Plain>;

inline double product(const Plain& a, const Plain& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline Plain times(const Rows& a, const Plain& x) {
    Plain y;
    for (const Plain& row : a) y.push_back(product(row, x));
    return y;
}

/// Solves A y = b by elimination with pivoting.
inline Plain solved(Rows a, Plain b) {
    const std::size_t n = b.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t best = k;
        for (std::size_t i = k; i < n; ++i) {
            if (std::abs(a[i][k]) > std::abs(a[best][k])) best = i;
        }
        std::swap(a[k], a[best]);
        std::swap(b[k], b[best]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t j = i + 1; j < n; ++j) b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
    return b;
}

inline Rows transposed(const Rows& a) {
    Rows t(a[0].size(), Plain(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
    }
    return t;
}

/// w^T A^-1 x, whose gradient A^-T w is computed by solving a separate system.
inline Case system_of(const Rows& a, std::uint64_t seed) {
    const Plain w = drawn(seed + 100, a.size());
    return {[a, w](const Plain& x) { return product(w, solved(a, x)); },
            [a, w](const Plain&) { return solved(transposed(a), w); }, drawn(seed, a.size())};
}

inline Rows vandermonde(std::size_t n) {
    Rows a(n, Plain(n));
    for (std::size_t i = 0; i < n; ++i) {
        const double node = static_cast<double>(i + 1) / static_cast<double>(n);
        for (std::size_t j = 0; j < n; ++j) a[i][j] = std::pow(node, static_cast<double>(j));
    }
    return a;
}

/// The prolate matrix, sin(2 pi w k) / (pi k): Toeplitz, and nearly singular.
inline Rows prolate(std::size_t n) {
    constexpr double kPi = 3.14159265358979323846, kBand = 0.15;
    Rows a(n, Plain(n, 2 * kBand));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const double k = static_cast<double>(i) - static_cast<double>(j);
            if (i != j) a[i][j] = std::sin(2 * kPi * kBand * k) / (kPi * k);
        }
    }
    return a;
}

inline Rows hilbert(std::size_t n) {
    Rows a(n, Plain(n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) a[i][j] = 1.0 / static_cast<double>(i + j + 1);
    }
    return a;
}

/// Symmetric, with eigenvalues from 1 to about 20.
inline Rows positive_definite(std::size_t n, std::uint64_t seed) {
    const Plain b = drawn(seed, n * n, -1, 1);
    Rows a(n, Plain(n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t k = 0; k < n; ++k) a[i][j] += b[i * n + k] * b[j * n + k];
        }
        a[i][i] += 1;
    }
    return a;
}

/// w^T y for A y = x by `rounds` conjugate gradient steps.
inline Case conjugate_gradients(std::size_t n, int rounds, std::uint64_t seed) {
    const Rows a = positive_definite(n, seed + 50);
    const Plain w = drawn(seed + 100, n);
    const auto f = [a, w, rounds](const Plain& b) {
        Plain y(b.size(), 0.0), r = b, p = b;
        for (int k = 0; k < rounds; ++k) {
            const Plain ap = times(a, p);
            const double rr = product(r, r), alpha = rr / product(p, ap);
            for (std::size_t i = 0; i < b.size(); ++i) {
                y[i] += alpha * p[i];
                r[i] -= alpha * ap[i];
            }
            const double beta = product(r, r) / rr;
            for (std::size_t i = 0; i < b.size(); ++i) p[i] = r[i] + beta * p[i];
        }
        return product(w, y);
    };
    return {f, [a, w](const Plain&) { return solved(a, w); }, drawn(seed, n)};
}

/// w^T y for A y = x, A diagonally dominant, by `rounds` Jacobi iterations.
inline Case jacobi(std::size_t n, int rounds, std::uint64_t seed) {
    const Plain e = drawn(seed + 50, n * n, -1, 1), w = drawn(seed + 100, n);
    Rows a(n, Plain(n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) a[i][j] = e[i * n + j];
        a[i][i] = 1.5 * static_cast<double>(n);
    }
    const auto f = [a, w, rounds](const Plain& b) {
        Plain y(b.size(), 0.0);
        for (int k = 0; k < rounds; ++k) {
            const Plain ay = times(a, y);
            for (std::size_t i = 0; i < y.size(); ++i) y[i] += (b[i] - ay[i]) / a[i][i];
        }
        return product(w, y);
    };
    return {f, [a, w](const Plain&) { return solved(transposed(a), w); }, drawn(seed, n)};
}

/// The largest eigenvalue of A + diag(x) by `rounds` power iterations, and v v^T.
inline Case power_method(std::size_t n, int rounds, std::uint64_t seed) {
    const Rows a = positive_definite(n, seed + 50);
    const auto vector_of = [a](const Plain& x, int count) {
        Plain v(x.size(), 1.0);
        for (int k = 0; k < count; ++k) {
            Plain next = times(a, v);
            for (std::size_t i = 0; i < v.size(); ++i) next[i] += x[i] * v[i];
            const double length = std::sqrt(product(next, next));
            for (std::size_t i = 0; i < v.size(); ++i) v[i] = next[i] / length;
        }
        return v;
    };
    const auto f = [a, vector_of, rounds](const Plain& x) {
        const Plain v = vector_of(x, rounds);
        double sum = product(v, times(a, v));
        for (std::size_t i = 0; i < v.size(); ++i) sum += x[i] * v[i] * v[i];
        return sum;
    };
    const auto g = [vector_of](const Plain& x) {
        Plain v = vector_of(x, 4000);
        for (double& value : v) value *= value;
        return v;
    };
    return {f, g, drawn(seed, n, 0.5, 1.5)};
}

/// The sum of solve(a) over scalar problems, and its derivative.
inline Case each_by(const std::function<double(double)>& solve,
                    const std::function<double(double)>& slope, Plain x) {
    return {[solve](const Plain& at) {
                double sum = 0;
                for (const double a : at) sum += solve(a);
                return sum;
            },
            [slope](const Plain& at) {
                Plain g;
                for (const double a : at) g.push_back(slope(a));
                return g;
            },
            std::move(x)};
}

/// Cube roots by `rounds` Newton steps from 1.
inline Case newton(int rounds, std::uint64_t seed) {
    const auto root = [rounds](double a) {
        double y = 1;
        for (int k = 0; k < rounds; ++k) y -= (y * y * y - a) / (3 * y * y);
        return y;
    };
    return each_by(
        root, [](double a) { return 1 / (3 * std::cbrt(a) * std::cbrt(a)); }, drawn(seed, 6, 2, 5));
}

/// y = cos(y) a / 2, iterated `rounds` times.
inline Case rounds_of_cosine(int rounds, std::uint64_t seed) {
    const auto iterate = [](double a, int count) {
        double y = 0;
        for (int k = 0; k < count; ++k) y = std::cos(y) * a / 2;
        return y;
    };
    return each_by([iterate, rounds](double a) { return iterate(a, rounds); },
                   [iterate](double a) {
                       const double y = iterate(a, 300);
                       return std::cos(y) / 2 / (1 + std::sin(y) * a / 2);
                   },
                   drawn(seed, 7, 0.6, 1.2));
}

/// A fading memory: y = 0.6 tanh(y) + x_t over 60 steps, with a gradient truncated to `back` steps,
/// as in truncated backpropagation.
inline Case truncated_backward(std::size_t back, std::uint64_t seed) {
    const auto states = [](const Plain& x) {
        Plain all{0};
        for (const double a : x) all.push_back(0.6 * std::tanh(all.back()) + a);
        return all;
    };
    return {[states](const Plain& x) { return states(x).back(); },
            [states, back](const Plain& x) {
                const Plain all = states(x);
                Plain g(x.size(), 0.0);
                double along = 1;
                for (std::size_t k = 0; k < back; ++k) {
                    const std::size_t t = x.size() - 1 - k;
                    g[t] = along;
                    const double y = std::tanh(all[t]);
                    along *= 0.6 * (1 - y * y);
                }
                return g;
            },
            drawn(seed, 60, -0.5, 0.5)};
}

/// The integral of exp(-x t^2) over 0 ... 1 by Simpson's rule, its gradient with a finer grid.
inline Case quadrature(std::size_t intervals, std::uint64_t seed) {
    const auto simpson = [](const auto& f, std::size_t n) {
        double sum = f(0.0) + f(1.0);
        for (std::size_t i = 1; i < n; ++i) {
            sum += (i % 2 == 1 ? 4 : 2) * f(static_cast<double>(i) / static_cast<double>(n));
        }
        return sum / (3 * static_cast<double>(n));
    };
    return each_by(
        [simpson, intervals](double a) {
            return simpson([a](double t) { return std::exp(-a * t * t); }, intervals);
        },
        [simpson](double a) {
            return simpson([a](double t) { return -t * t * std::exp(-a * t * t); }, 2000);
        },
        drawn(seed, 5, 0.5, 2));
}

/// a^T x + sqrt(x_0 x_1) where numbers are of this size.
inline Case of_size(double size, std::uint64_t seed) {
    Plain a = drawn(seed, 4), x = drawn(seed + 100, 4, 1, 2);
    a[2] *= 1e-2;
    for (double& value : x) value *= size;
    return {[a](const Plain& at) { return product(a, at) + std::sqrt(at[0]) * std::sqrt(at[1]); },
            [a](const Plain& at) {
                Plain g = a;
                g[0] += 0.5 * std::sqrt(at[1] / at[0]);
                g[1] += 0.5 * std::sqrt(at[0] / at[1]);
                return g;
            },
            x};
}

}  // namespace tapestry::test
