// Right gradients of solutions: fixed points, roots, systems, trajectories. The gradients are those
// of the exact solution (implicit differentiation), and f stops within a tolerance of it.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

double dot(const Values& a, const Values& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// How a tolerance shows: f is off by about that much, and its error has a slope that no difference
// can distinguish from a wrong gradient.
PlainCase stopped_at(PlainCase one, double tolerance) {
    one.noise = tolerance;
    one.hidden = tolerance > 1e-11;
    one.note = fmt::format("tolerance {:.0e}", tolerance);
    return one;
}

// Sum over the elements of a scalar problem: solve(a) and its derivative.
PlainCase of_each(Draw& draw, double (*solve)(double a, double tolerance),
                  double (*slope)(double a), double low, double high, double tolerance) {
    return stopped_at(scalar_case(
                          [=](const Values& x) {
                              double sum = 0;
                              for (const double a : x) sum += solve(a, tolerance);
                              return sum;
                          },
                          [=](const Values& x) {
                              Values g;
                              for (const double a : x) g.push_back(slope(a));
                              return g;
                          },
                          draw.values(draw.count(1, 8), low, high)),
                      tolerance);
}

double drawn_tolerance(Draw& draw) { return draw.pick({1e-6, 1e-8, 1e-10, 1e-12}); }

// y = cos(y) a / 2, iterated until it changes by less than the tolerance
double fixed_point(double a, double tolerance) {
    double y = 0, before = 1;
    for (int i = 0; i < 200 && std::abs(y - before) >= tolerance; ++i) {
        before = y;
        y = std::cos(y) * a / 2;
    }
    return y;
}
PlainCase fixed_points(Draw& draw) {
    return of_each(
        draw, fixed_point,
        [](double a) {
            const double y = fixed_point(a, 1e-16);
            return std::cos(y) / 2 / (1 + std::sin(y) * a / 2);
        },
        0.5, 1.5, drawn_tolerance(draw));
}

// y + y^3 = a, by bisection
double bisected(double a, double tolerance) {
    double low = -4, high = 4;
    while (high - low > tolerance) {
        const double y = (low + high) / 2;
        if (y == low || y == high) break;
        (y + y * y * y < a ? low : high) = y;
    }
    return (low + high) / 2;
}
PlainCase bisection(Draw& draw) {
    return of_each(
        draw, bisected,
        [](double a) {
            const double y = bisected(a, 0);
            return 1 / (1 + 3 * y * y);
        },
        -3, 3, drawn_tolerance(draw));
}

// Kepler's E - 0.6 sin(E) = M, by Newton's method
double kepler(double m, double tolerance) {
    double e = m, step = 1;
    for (int i = 0; i < 60 && std::abs(step) >= tolerance; ++i) {
        step = (e - 0.6 * std::sin(e) - m) / (1 - 0.6 * std::cos(e));
        e -= step;
    }
    return e;
}
PlainCase keplers_equation(Draw& draw) {
    PlainCase one = of_each(
        draw, kepler, [](double m) { return 1 / (1 - 0.6 * std::cos(kepler(m, 1e-15))); }, 0.3, 6,
        drawn_tolerance(draw));
    one.noise *= one.noise;  // Newton's last step squares the error
    return one;
}

// A system of equations A y = b, A diagonally dominant; f = w^T y by Jacobi's iteration.
PlainCase jacobi(Draw& draw) {
    const std::size_t n = draw.count(2, 10);
    Values a = draw.values(n * n, -1, 1);
    for (std::size_t i = 0; i < n; ++i) a[i * n + i] = 1.5 * static_cast<double>(n);
    const double tolerance = drawn_tolerance(draw);
    const auto solve = [a, n](const Values& b, double until, bool transposed) {
        Values y(n, 0.0);
        for (int round = 0; round < 400; ++round) {
            Values next = b;
            double moved = 0;
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                    if (i != j) next[i] -= a[transposed ? j * n + i : i * n + j] * y[j];
                }
                next[i] /= a[i * n + i];
                moved = std::max(moved, std::abs(next[i] - y[i]));
            }
            y = next;
            if (moved <= until) break;
        }
        return y;
    };
    const Values w = draw.values(n);
    return stopped_at(
        scalar_case([=](const Values& b) { return dot(w, solve(b, tolerance, false)); },
                    [=](const Values&) { return solve(w, 0, true); }, draw.values(n)),
        tolerance);
}

// w^T H^-1 x for Hilbert matrices, with condition numbers from 5e5 (n = 5) to 5e11 (n = 9)
PlainCase hilbert(Draw& draw) {
    const std::size_t n = 3 + draw.below(7);
    const auto solve = [n](Values b) {
        std::vector<Values> a(n, Values(n));
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) a[i][j] = 1.0 / static_cast<double>(i + j + 1);
        }
        for (std::size_t k = 0; k < n; ++k) {  // symmetric and positive definite: no pivoting
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
    };
    const Values w = draw.values(n);
    PlainCase one = scalar_case([=](const Values& x) { return dot(w, solve(x)); },
                                [=](const Values&) { return solve(w); }, draw.values(n));
    // Its error is linear as well: that of a nearby matrix.
    one.hidden = n > 6;
    one.note = fmt::format("n = {}", n);
    return one;
}

// -log det of a matrix that must be positive definite, A = D + x x^T / n; throws otherwise.
PlainCase log_determinant(Draw& draw) {
    const Values d = draw.values(draw.count(1, 6), 0.5, 2);
    return scalar_case(
        [d](const Values& x) {
            const std::size_t n = x.size();
            Values a(n * n);
            for (std::size_t i = 0; i < n * n; ++i) a[i] = x[i / n] * x[i % n];
            for (std::size_t i = 0; i < n; ++i) a[i * n + i] += d[i];
            double sum = 0;
            for (std::size_t k = 0; k < n; ++k) {
                const double pivot = a[k * n + k];
                if (pivot <= 0) throw std::domain_error("cholesky: not positive definite");
                sum -= std::log(pivot);
                for (std::size_t i = k + 1; i < n; ++i) {
                    const double factor = a[i * n + k] / pivot;
                    for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
                }
            }
            return sum;
        },
        [d](const Values& x) {
            double sum = 1;
            for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * x[i] / d[i];
            Values g;
            for (std::size_t i = 0; i < x.size(); ++i) g.push_back(-2 * x[i] / d[i] / sum);
            return g;
        },
        draw.values(d.size(), -1, 1));
}

// x^T A x / 2, eigenvalues from 1 to 1e8: sums of (v_k^T x)^2 over Householder's vectors
PlainCase ill_conditioned(Draw& draw) {
    const std::size_t n = draw.count(2, 8);
    const double condition = draw.log_between(1e2, 1e8);
    Values v = draw.values(n, 0.3, 1);
    const double length = std::sqrt(dot(v, v));
    for (double& value : v) value /= length;
    const auto mirrored = [v](Values x) {
        const double along = 2 * dot(v, x);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] -= along * v[i];
        return x;
    };
    const auto weight = [condition](std::size_t i, std::size_t of) {
        return std::pow(condition, static_cast<double>(i) / static_cast<double>(of - 1));
    };
    PlainCase one = scalar_case(
        [=](const Values& x) {
            const Values y = mirrored(x);
            double sum = 0;
            for (std::size_t i = 0; i < y.size(); ++i) sum += weight(i, y.size()) * y[i] * y[i] / 2;
            return sum;
        },
        [=](const Values& x) {
            Values y = mirrored(x);
            for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weight(i, y.size());
            return mirrored(y);
        },
        draw.values(n));
    one.note = fmt::format("condition {:.1e}", condition);
    return one;
}

// A damped pendulum, `steps` Euler steps from (angle, speed): the squared end point.
PlainCase pendulum(Draw& draw) {
    const std::size_t steps = draw.count(10, 400);
    const double h = 3.0 / static_cast<double>(steps);
    const auto path = [steps, h](const Values& x) {
        std::vector<Values> all{x};
        for (std::size_t i = 0; i < steps; ++i) {
            const Values& s = all.back();
            all.push_back({s[0] + h * s[1], s[1] - h * (4 * std::sin(s[0]) + 0.2 * s[1])});
        }
        return all;
    };
    return scalar_case(
        [path](const Values& x) {
            const Values end = path(x).back();
            return dot(end, end);
        },
        [path, h](const Values& x) {
            const auto all = path(x);
            Values g{2 * all.back()[0], 2 * all.back()[1]};
            for (std::size_t i = all.size() - 1; i-- > 0;) {
                g = {g[0] - h * 4 * std::cos(all[i][0]) * g[1], g[0] * h + g[1] * (1 - 0.2 * h)};
            }
            return g;
        },
        draw.values(2));
}

}  // namespace

const std::vector<Template>& solver_templates() {
    static const std::vector<Template> all{
        {"fixed point", fixed_points},           {"bisection", bisection},
        {"Kepler's equation", keplers_equation}, {"Jacobi's iteration", jacobi},
        {"Hilbert's matrix", hilbert},           {"log determinant", log_determinant},
        {"ill-conditioned", ill_conditioned},    {"pendulum", pendulum},
    };
    return all;
}

}  // namespace tapestry::test
