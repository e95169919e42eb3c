// Right gradients that are not the same twice: sums in any order (atomics, OpenMP reductions), and
// adjoint solvers that stop at a tolerance. How far such a claim is from itself is all that a
// checker can hold against it.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

double inner(const Values& a, const Values& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The order in which threads arrive: another one for every sum.
class AnyOrder {
public:
    explicit AnyOrder(std::uint64_t seed) : draw_(std::make_shared<Draw>(seed)) {}

    double sum(Values terms) const {
        double total = 0;
        for (std::size_t n = terms.size(); n > 0; --n) {
            const std::size_t next = draw_->below(n);
            total += std::exchange(terms[next], terms[n - 1]);
        }
        return total;
    }

private:
    std::shared_ptr<Draw> draw_;
};

// sum over samples of sin(a_s^T x)
PlainCase sum_over_samples(Draw& draw, bool shuffled_f, bool shuffled_backward) {
    const std::size_t n = draw.count(1, 6), samples = draw.count(10, 1000);
    const Values a = draw.values(samples * n);
    const AnyOrder order(draw.below(1U << 30U));
    const auto phase = [a](const Values& x, std::size_t s) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += a[s * x.size() + i] * x[i];
        return sum;
    };
    const auto total = [order](const Values& terms, bool shuffled) {
        return shuffled ? order.sum(terms) : std::accumulate(terms.begin(), terms.end(), 0.0);
    };
    PlainCase one = scalar_case(
        [=](const Values& x) {
            Values terms(samples);
            for (std::size_t s = 0; s < samples; ++s) terms[s] = std::sin(phase(x, s));
            return total(terms, shuffled_f);
        },
        [=](const Values& x) {
            Values g;
            for (std::size_t i = 0; i < x.size(); ++i) {
                Values terms(samples);
                for (std::size_t s = 0; s < samples; ++s) {
                    terms[s] = a[s * x.size() + i] * std::cos(phase(x, s));
                }
                g.push_back(total(terms, shuffled_backward));
            }
            return g;
        },
        draw.values(n));
    one.noise = 2e-16 * static_cast<double>(samples);
    one.room = 0.3;
    one.note = fmt::format("{} samples", samples);
    return one;
}
PlainCase backward_in_any_order(Draw& draw) { return sum_over_samples(draw, false, true); }
PlainCase both_in_any_order(Draw& draw) { return sum_over_samples(draw, true, true); }

// A symmetric, positive definite matrix with a condition number up to about 100.
struct System {
    std::size_t n = 0;
    Values a = {};

    Values times(const Values& x) const {
        Values y(n, 0.0);
        for (std::size_t i = 0; i < n * n; ++i) y[i / n] += a[i] * x[i % n];
        return y;
    }
};

System drawn_system(Draw& draw) {
    System system{draw.count(2, 10)};
    const std::size_t n = system.n;
    const Values b = draw.values(n * n, -1, 1);
    system.a.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t k = 0; k < n; ++k) system.a[i * n + j] += b[i * n + k] * b[j * n + k];
            if (i == j) system.a[i * n + j] += 2 * static_cast<double>(n);
        }
    }
    return system;
}

// Conjugate gradients until |residual| <= tolerance, absolute, as PETSc's and SciPy's atol
Values by_conjugate_gradients(const System& system, const Values& b, double tolerance) {
    Values y(b.size(), 0.0), r = b, p = b;
    double squares = inner(r, r);
    for (int round = 0; round < 200 && std::sqrt(squares) > tolerance; ++round) {
        const Values ap = system.times(p);
        const double step = squares / inner(p, ap);
        for (std::size_t i = 0; i < y.size(); ++i) {
            y[i] += step * p[i];
            r[i] -= step * ap[i];
        }
        const double before = std::exchange(squares, inner(r, r));
        for (std::size_t i = 0; i < y.size(); ++i) p[i] = r[i] + squares / before * p[i];
    }
    return y;
}

// Jacobi's iteration until no number moves by more than the tolerance
Values by_jacobi(const System& system, const Values& b, double tolerance) {
    Values y(b.size(), 0.0);
    for (int round = 0; round < 2000; ++round) {
        Values next = system.times(y);
        double moved = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            next[i] = y[i] + (b[i] - next[i]) / (2 * system.a[i * y.size() + i]);
            moved = std::max(moved, std::abs(next[i] - y[i]));
        }
        y = next;
        if (moved <= tolerance) break;
    }
    return y;
}

// y = sin(A^-1 x); the adjoint system is solved to a tolerance, f to the last bit.
template <class Solve>
PlainCase adjoint(Draw& draw, Solve solve, double tolerance) {
    const System system = drawn_system(draw);
    const auto exact = [system](const Values& b) {
        return by_conjugate_gradients(system, b, 1e-15 * std::sqrt(inner(b, b)));
    };
    PlainCase one;
    one.f = [exact](const Values& x) {
        Values y = exact(x);
        for (double& value : y) value = std::sin(value);
        return y;
    };
    one.pullback = [=](const Values& x, Values g) {
        const Values y = exact(x);
        for (std::size_t i = 0; i < g.size(); ++i) g[i] *= std::cos(y[i]);
        return solve(system, g, tolerance);
    };
    one.x = draw.values(system.n);
    one.noise = 1e-14;
    one.hidden = tolerance > 1e-10;
    one.note = fmt::format("tolerance {:.0e}", tolerance);
    return one;
}
PlainCase adjoint_by_conjugate_gradients(Draw& draw) {
    return adjoint(draw, by_conjugate_gradients, draw.pick({1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13}));
}
PlainCase adjoint_by_jacobi(Draw& draw) {
    return adjoint(draw, by_jacobi, draw.pick({1e-5, 1e-7, 1e-9, 1e-11, 1e-13}));
}

// y = sin(x); the rule is off by a part of itself that depends on the incoming gradient's bits.
PlainCase good_to_digits(Draw& draw) {
    const double size = draw.pick({1e-12, 1e-10, 1e-9, 1e-8, 1e-7});
    PlainCase one;
    one.f = [](Values x) {
        for (double& value : x) value = std::sin(value);
        return x;
    };
    one.pullback = [size](const Values& x, Values g) {
        for (std::size_t i = 0; i < g.size(); ++i) {
            const auto bits = std::bit_cast<std::uint64_t>(g[i] * 1.1 + x[i]);
            const auto part =
                static_cast<double>((bits * 0xff51afd7ed558ccdU) >> 40U) * 0x1p-23 - 1;
            g[i] *= std::cos(x[i]) * (1 + size * part);
        }
        return g;
    };
    one.x = draw.values(draw.count(1, 12));
    one.hidden = size > 1e-9;
    one.note = fmt::format("good to {:.0e}", size);
    return one;
}

// y = tanh(W x) in f64, its backward in f32: mixed precision.
PlainCase backward_in_f32(Draw& draw) {
    const std::size_t n = draw.count(1, 40), m = draw.count(1, 6);
    const Values w = draw.values(m * n, -1, 1);
    PlainCase one;
    one.f = [w, m](const Values& x) {
        Values y(m, 0.0);
        for (std::size_t i = 0; i < w.size(); ++i) y[i / x.size()] += w[i] * x[i % x.size()];
        for (double& value : y) value = std::tanh(value);
        return y;
    };
    one.pullback = [w, f = one.f](const Values& x, const Values& g) {
        const Values y = f(x);
        std::vector<float> dx(x.size(), 0.0F);
        for (std::size_t i = 0; i < w.size(); ++i) {
            const auto at = static_cast<float>(y[i / x.size()]);
            dx[i % x.size()] +=
                static_cast<float>(w[i]) * (1 - at * at) * static_cast<float>(g[i / x.size()]);
        }
        return Values(dx.begin(), dx.end());
    };
    one.x = draw.values(n, -0.5, 0.5);
    one.hidden = true;  // 1e-7 of the claim is as good as a mistake of that size
    return one;
}

// ---- the exponential of a matrix ----------------------------------------------------------------

using Square = std::vector<Values>;

Square matrix_product(const Square& a, const Square& b) {
    Square c(a.size(), Values(a.size(), 0.0));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t k = 0; k < a.size(); ++k) {
            for (std::size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
        }
    }
    return c;
}

// Taylor's series of a degree that depends on the norm, as PyTorch's matrix_exp; halved and squared
// again if it is large.
Square matrix_exp(Square a) {
    double size = 0;
    for (const Values& row : a) {
        double sum = 0;
        for (const double value : row) sum += std::abs(value);
        size = std::max(size, sum);
    }
    constexpr double kLargest = 1.09;
    const int halvings =
        size > kLargest ? static_cast<int>(std::ceil(std::log2(size / kLargest))) : 0;
    for (Values& row : a) {
        for (double& value : row) value = std::ldexp(value, -halvings);
    }
    const int degree = size < 2.2e-16 ? 1
                       : size < 3e-8  ? 2
                       : size < 5e-3  ? 4
                       : size < 0.09  ? 8
                                      : 18;
    Square sum(a.size(), Values(a.size(), 0.0));
    for (std::size_t i = 0; i < a.size(); ++i) sum[i][i] = 1;
    Square power = sum;
    for (int k = 1; k <= degree; ++k) {
        power = matrix_product(power, a);
        for (std::size_t i = 0; i < a.size(); ++i) {
            for (std::size_t j = 0; j < a.size(); ++j) sum[i][j] += power[i][j] /= k;
        }
    }
    for (int k = 0; k < halvings; ++k) sum = matrix_product(sum, sum);
    return sum;
}

// The upper right block of exp [[A^T, G], [0, A^T]] is the gradient of <G, exp A>.
PlainCase matrix_exponential(Draw& draw) {
    const std::size_t n = 2 + draw.below(3);
    PlainCase one;
    one.f = [n](const Values& x) {
        Square a(n, Values(n));
        for (std::size_t i = 0; i < n * n; ++i) a[i / n][i % n] = x[i];
        Values y;
        for (const Values& row : matrix_exp(a)) y.insert(y.end(), row.begin(), row.end());
        return y;
    };
    one.pullback = [n](const Values& x, const Values& g) {
        Square block(2 * n, Values(2 * n, 0.0));
        for (std::size_t i = 0; i < n * n; ++i) {
            block[i % n][i / n] = block[n + i % n][n + i / n] = x[i];
            block[i / n][n + i % n] = g[i];
        }
        const Square whole = matrix_exp(block);
        Values slopes(n * n);
        for (std::size_t i = 0; i < n * n; ++i) slopes[i] = whole[i / n][n + i % n];
        return slopes;
    };
    const double size = draw.log_between(1e-2, 1);
    one.x = draw.values(n * n, -size, size);
    one.shape = one.output = {static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)};
    one.hidden = true;  // its own series leaves as much as that, relative to G's norm
    one.note = fmt::format("size {:.0e}", size);
    return one;
}

}  // namespace

const std::vector<Template>& order_templates() {
    static const std::vector<Template> all{
        {"backward in any order", backward_in_any_order},  {"both in any order", both_in_any_order},
        {"adjoint by CG", adjoint_by_conjugate_gradients}, {"adjoint by Jacobi", adjoint_by_jacobi},
        {"good to some digits", good_to_digits},           {"backward in f32", backward_in_f32},
        {"matrix exponential", matrix_exponential},
    };
    return all;
}

}  // namespace tapestry::test
