// Smooth textbook functions with shapes; rows are samples, if there are any.
#include <tapestry/tests/mutations/templates/template.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// A matrix of numbers, row by row.
struct Sizes {
    std::size_t rows, columns;
    Shape shape() const {
        return {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    }
    std::size_t all() const { return rows * columns; }
};

Sizes sizes(Draw& draw, std::size_t rows, std::size_t columns) {
    return {draw.count(2, rows), draw.count(2, columns)};
}

Shape vector_of(std::size_t n) { return {static_cast<std::int64_t>(n)}; }

// sum of a_i sin(x_i)
PlainCase sines(Draw& draw) {
    const Sizes size = sizes(draw, 12, 30);
    const Values a = draw.values(size.all(), 0.5, 2);
    PlainCase one = scalar_case(
        [a](const Values& x) {
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) sum += a[i] * std::sin(x[i]);
            return sum;
        },
        [a](const Values& x) {
            Values g(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) g[i] = a[i] * std::cos(x[i]);
            return g;
        },
        draw.values(size.all()));
    one.shape = size.shape();
    return one;
}

// x^T A x / 2 + b^T x
PlainCase quadratic(Draw& draw) {
    const std::size_t n = draw.count(1, 40);
    Values a = draw.values(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j) a[i * n + j] = a[j * n + i];
    }
    const Values b = draw.values(n);
    const auto times = [a, n](const Values& x) {
        Values y(n, 0.0);
        for (std::size_t i = 0; i < n * n; ++i) y[i / n] += a[i] * x[i % n];
        return y;
    };
    return scalar_case(
        [times, b](const Values& x) {
            const Values y = times(x);
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * (y[i] / 2 + b[i]);
            return sum;
        },
        [times, b](const Values& x) {
            Values y = times(x);
            for (std::size_t i = 0; i < x.size(); ++i) y[i] += b[i];
            return y;
        },
        draw.values(n));
}

// y = tanh(x), element by element
PlainCase tanh_of_each(Draw& draw) {
    const Sizes size = sizes(draw, 8, 12);
    return {.f =
                [](Values x) {
                    for (double& value : x) value = std::tanh(value);
                    return x;
                },
            .pullback =
                [](const Values& x, Values g) {
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        const double y = std::tanh(x[i]);
                        g[i] *= 1 - y * y;
                    }
                    return g;
                },
            .x = draw.values(size.all()),
            .shape = size.shape(),
            .output = size.shape()};
}

// y = x W: [rows, columns] x [columns, k] -> [rows, k]
PlainCase product(Draw& draw) {
    const Sizes size = sizes(draw, 6, 6);
    const std::size_t k = draw.count(1, 5), columns = size.columns;
    const Values w = draw.values(columns * k);
    return {.f =
                [w, k, columns](const Values& x) {
                    Values y(x.size() / columns * k, 0.0);
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        for (std::size_t j = 0; j < k; ++j) {
                            y[i / columns * k + j] += x[i] * w[i % columns * k + j];
                        }
                    }
                    return y;
                },
            .pullback =
                [w, k, columns](const Values& x, const Values& g) {
                    Values dx(x.size(), 0.0);
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        for (std::size_t j = 0; j < k; ++j) {
                            dx[i] += g[i / columns * k + j] * w[i % columns * k + j];
                        }
                    }
                    return dx;
                },
            .x = draw.values(size.all()),
            .shape = size.shape(),
            .output = {static_cast<std::int64_t>(size.rows), static_cast<std::int64_t>(k)}};
}

Values softmax_rows(Values y, std::size_t columns) {
    for (auto row = y.begin(); row != y.end(); row += static_cast<std::ptrdiff_t>(columns)) {
        const auto end = row + static_cast<std::ptrdiff_t>(columns);
        const double largest = *std::max_element(row, end);
        double sum = 0;
        for (auto at = row; at != end; ++at) sum += * at = std::exp(*at - largest);
        for (auto at = row; at != end; ++at) *at /= sum;
    }
    return y;
}

// y = softmax(x), row by row
PlainCase softmax_of_rows(Draw& draw) {
    const Sizes size = sizes(draw, 5, 8);
    const std::size_t columns = size.columns;
    return {.f = [columns](const Values& x) { return softmax_rows(x, columns); },
            .pullback =
                [columns](const Values& x, Values g) {
                    const Values y = softmax_rows(x, columns);
                    for (std::size_t row = 0; row < x.size(); row += columns) {
                        double sum = 0;
                        for (std::size_t i = row; i < row + columns; ++i) sum += g[i] * y[i];
                        for (std::size_t i = row; i < row + columns; ++i) {
                            g[i] = y[i] * (g[i] - sum);
                        }
                    }
                    return g;
                },
            .x = draw.values(size.all()),
            .shape = size.shape(),
            .output = size.shape()};
}

// The mean over samples s of log(1 + exp(-t_s a_s^T w)): logistic regression.
PlainCase logistic(Draw& draw) {
    const std::size_t n = draw.count(1, 20), samples = draw.count(2, 60);
    Values a = draw.values(samples * n);
    for (std::size_t s = 0; s < samples; ++s) {
        const double target = draw.sign();
        for (std::size_t i = 0; i < n; ++i) a[s * n + i] *= target;
    }
    const auto margin = [a, n](const Values& w, std::size_t s) {
        return std::inner_product(w.begin(), w.end(),
                                  a.begin() + static_cast<std::ptrdiff_t>(s * n), 0.0);
    };
    return scalar_case(
        [margin, samples](const Values& w) {
            double sum = 0;
            for (std::size_t s = 0; s < samples; ++s) sum += std::log1p(std::exp(-margin(w, s)));
            return sum / static_cast<double>(samples);
        },
        [margin, a, samples](const Values& w) {
            Values g(w.size(), 0.0);
            for (std::size_t s = 0; s < samples; ++s) {
                const double p = 1 / (1 + std::exp(margin(w, s)));
                for (std::size_t i = 0; i < w.size(); ++i) g[i] -= p * a[s * w.size() + i];
            }
            for (double& slope : g) slope /= static_cast<double>(samples);
            return g;
        },
        draw.values(n, -1, 1));
}

// y[s] = sin(c[s] x): one row for many samples, [columns] -> [rows, columns]
PlainCase broadcast(Draw& draw) {
    const Sizes size = sizes(draw, 6, 8);
    const Values c = draw.values(size.all());
    const std::size_t columns = size.columns;
    return {.f =
                [c, columns](const Values& x) {
                    Values y(c.size());
                    for (std::size_t i = 0; i < y.size(); ++i)
                        y[i] = std::sin(c[i] * x[i % columns]);
                    return y;
                },
            .pullback =
                [c, columns](const Values& x, const Values& g) {
                    Values dx(columns, 0.0);
                    for (std::size_t i = 0; i < c.size(); ++i) {
                        dx[i % columns] += g[i] * c[i] * std::cos(c[i] * x[i % columns]);
                    }
                    return dx;
                },
            .x = draw.values(columns),
            .shape = vector_of(columns),
            .output = size.shape()};
}

// sum of 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2
PlainCase rosenbrock(Draw& draw) {
    return scalar_case(
        [](const Values& x) {
            double sum = 0;
            for (std::size_t i = 0; i + 1 < x.size(); ++i) {
                const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
                sum += 100 * a * a + b * b;
            }
            return sum;
        },
        [](const Values& x) {
            Values g(x.size(), 0.0);
            for (std::size_t i = 0; i + 1 < x.size(); ++i) {
                const double a = x[i + 1] - x[i] * x[i];
                g[i] += -400 * a * x[i] - 2 * (1 - x[i]);
                g[i + 1] += 200 * a;
            }
            return g;
        },
        draw.values(draw.count(2, 20)));
}

// y_i = sum_j k_j x_{i+j}: a convolution without padding
PlainCase convolution(Draw& draw) {
    const std::size_t width = draw.count(2, 5), n = width + draw.count(1, 20);
    const Values k = draw.values(width);
    return {.f =
                [k](const Values& x) {
                    Values y(x.size() - k.size() + 1, 0.0);
                    for (std::size_t i = 0; i < y.size(); ++i) {
                        for (std::size_t j = 0; j < k.size(); ++j) y[i] += k[j] * x[i + j];
                    }
                    return y;
                },
            .pullback =
                [k](const Values& x, const Values& g) {
                    Values dx(x.size(), 0.0);
                    for (std::size_t i = 0; i < g.size(); ++i) {
                        for (std::size_t j = 0; j < k.size(); ++j) dx[i + j] += k[j] * g[i];
                    }
                    return dx;
                },
            .x = draw.values(n)};
}

// sum of |z_k^2 + c_k|^2 over complex numbers as pairs, [n, 2]; d/d(re) and d/d(im) of each.
PlainCase complex_pairs(Draw& draw) {
    const std::size_t n = draw.count(2, 12);
    const Values c = draw.values(2 * n);
    PlainCase one = scalar_case(
        [c](const Values& z) {
            double sum = 0;
            for (std::size_t k = 0; k < z.size(); k += 2) {
                const double re = z[k] * z[k] - z[k + 1] * z[k + 1] + c[k];
                const double im = 2 * z[k] * z[k + 1] + c[k + 1];
                sum += re * re + im * im;
            }
            return sum;
        },
        [c](const Values& z) {
            Values g(z.size());
            for (std::size_t k = 0; k < z.size(); k += 2) {
                const double re = z[k] * z[k] - z[k + 1] * z[k + 1] + c[k];
                const double im = 2 * z[k] * z[k + 1] + c[k + 1];
                g[k] = 4 * (re * z[k] + im * z[k + 1]);
                g[k + 1] = 4 * (im * z[k] - re * z[k + 1]);
            }
            return g;
        },
        draw.values(2 * n));
    one.shape = {static_cast<std::int64_t>(n), 2};
    return one;
}

// The energy of charges in a plane, sum over pairs of 1 / sqrt(0.1 + distance^2): [n, 2]
PlainCase charges(Draw& draw) {
    const std::size_t n = draw.count(2, 12);
    const auto each_pair = [](const Values& x, auto visit) {
        for (std::size_t i = 0; i < x.size(); i += 2) {
            for (std::size_t j = 0; j < i; j += 2) {
                const double a = x[i] - x[j], b = x[i + 1] - x[j + 1];
                visit(i, j, a, b, 1 / std::sqrt(0.1 + a * a + b * b));
            }
        }
    };
    PlainCase one = scalar_case(
        [each_pair](const Values& x) {
            double sum = 0;
            each_pair(x, [&](std::size_t, std::size_t, double, double, double r) { sum += r; });
            return sum;
        },
        [each_pair](const Values& x) {
            Values g(x.size(), 0.0);
            each_pair(x, [&](std::size_t i, std::size_t j, double a, double b, double r) {
                const double force = -r * r * r;
                g[i] += force * a;
                g[i + 1] += force * b;
                g[j] -= force * a;
                g[j + 1] -= force * b;
            });
            return g;
        },
        draw.values(2 * n));
    one.shape = {static_cast<std::int64_t>(n), 2};
    one.room = 0.3;
    return one;
}

// exp(sum of p_i log x_i): a product of powers, as in economics
PlainCase powers(Draw& draw) {
    const std::size_t n = draw.count(1, 10);
    const Values p = draw.values(n, 0.2, 2);
    const auto f = [p](const Values& x) {
        double product = 1;
        for (std::size_t i = 0; i < x.size(); ++i) product *= std::pow(x[i], p[i]);
        return product;
    };
    return scalar_case(
        f,
        [f, p](const Values& x) {
            Values g(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) g[i] = f(x) * p[i] / x[i];
            return g;
        },
        draw.values(n, 0.5, 2));
}

// The sum of sin(x_i) over many: too many to check individually
PlainCase long_sum(Draw& draw) {
    return scalar_case(
        [](const Values& x) {
            double sum = 0;
            for (const double a : x) sum += std::sin(a);
            return sum;
        },
        [](Values x) {
            for (double& a : x) a = std::cos(a);
            return x;
        },
        draw.values(draw.count(257, 4000)));
}

}  // namespace

const std::vector<Template>& smooth_templates() {
    static const std::vector<Template> all{
        {"sum of sines", sines},      {"quadratic form", quadratic},
        {"tanh", tanh_of_each},       {"matrix product", product},
        {"softmax", softmax_of_rows}, {"logistic regression", logistic},
        {"broadcast row", broadcast}, {"Rosenbrock", rosenbrock},
        {"convolution", convolution}, {"complex pairs", complex_pairs},
        {"charges", charges},         {"product of powers", powers},
        {"long sum", long_sum},
    };
    return all;
}

}  // namespace tapestry::test
