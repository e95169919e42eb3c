// Products and sums of products: every result within n u times the sum of absolute values of its
// terms, the classical bound (Higham 2002, "Accuracy and Stability of Numerical Algorithms",
// section 3.1), against definitions in long double, on every instruction set.
#include <doctest/doctest.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/half.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/catalog/reference/indexing.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/catalog/reference/reduction.h>
#include <tapestry/ops/catalog/reference/windows.h>
#include <tapestry/ops/convolution.h>
#include <tapestry/ops/einsum.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/pooling.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rotary.h>
#include <tapestry/ops/scan.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/ops/range_rows.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>

using namespace tapestry;
using test::Exact;

namespace {

// The number type of the definitions: a sum of products, the same sum of absolute values, and how
// many terms and factors it has.
struct Sum {
    Exact value = 0, size = 0;
    double terms = 0, factors = 1;

    Sum() = default;
    explicit Sum(double x) : value(x), size(std::abs(x)), terms(x == 0 ? 0 : 1) {}
    Sum& operator+=(const Sum& x) {
        value += x.value;
        size += x.size;
        terms += x.terms;
        factors = std::max(factors, x.factors);
        return *this;
    }
    Sum& operator*=(const Sum& x) {
        value *= x.value;
        size *= x.size;
        terms *= x.terms;
        factors += x.factors;
        return *this;
    }
    friend Sum operator*(Sum a, const Sum& b) { return a *= b; }
    friend Sum operator+(Sum a, const Sum& b) { return a += b; }
    friend Sum operator-(Sum a, const Sum& b) { return a += Sum(-1) * b; }
    friend Sum operator/(Sum a, const Sum& b) {
        a.value /= b.value;
        a.size /= b.size;
        a.factors += 1;
        return a;
    }
    explicit operator double() const { return static_cast<double>(value); }  // of an index
    // terms - 1 additions and factors - 1 products
    double roundings() const { return std::max(terms - 1, 0.0) + factors - 1; }
};

using Array = reference::Array<Sum>;
using Arrays = reference::Arrays<Sum>;

struct ProductRow {
    std::string name;  // may have " (variant)"
    std::vector<Shape> shapes;
    std::function<Tensor(const Tensors&)> op;
    std::function<Array(const Arrays&)> exact;
};

Array reshaped(Array x, const Shape& shape) {
    x.shape = shape;
    return x;
}

std::vector<ProductRow> products() {
    const auto product = [](const Arrays& x) { return reference::matmul(x[0], x[1]); };
    return {
        {"matmul",
         {{5, 300}, {300, 19}},
         [](const Tensors& x) { return matmul(x[0], x[1]); },
         product},
        {"matmul (one row)",
         {{1, 999}, {999, 70}},
         [](const Tensors& x) { return matmul(x[0], x[1]); },
         product},
        {"matmul (transposed)",
         {{40, 33}, {33, 65}},
         [](const Tensors& x) {
             return matmul(x[0], transpose(transpose(x[1], 0, 1).clone(), 0, 1));
         },
         product},
        {"mm", {{7, 64}, {64, 7}}, [](const Tensors& x) { return mm(x[0], x[1]); }, product},
        {"bmm",
         {{3, 9, 40}, {3, 40, 11}},
         [](const Tensors& x) { return bmm(x[0], x[1]); },
         product},
        {"mv",
         {{9, 130}, {130}},
         [](const Tensors& x) { return mv(x[0], x[1]); },
         [](const Arrays& x) {
             return reshaped(reference::matmul(x[0], reshaped(x[1], {130, 1})), {9});
         }},
        {"dot",
         {{1000}, {1000}},
         [](const Tensors& x) { return dot(x[0], x[1]); },
         [](const Arrays& x) {
             return reshaped(
                 reference::matmul(reshaped(x[0], {1, 1000}), reshaped(x[1], {1000, 1})), {});
         }},
        {"outer",
         {{13}, {17}},
         [](const Tensors& x) { return outer(x[0], x[1]); },
         [](const Arrays& x) {
             return reference::matmul(reshaped(x[0], {13, 1}), reshaped(x[1], {1, 17}));
         }},
        {"linear",
         {{6, 200}, {33, 200}, {33}},
         [](const Tensors& x) { return linear(x[0], x[1], x[2]); },
         [](const Arrays& x) { return reference::linear(x[0], x[1], &x[2]); }},
        {"einsum",
         {{4, 20, 6}, {20, 6, 5}},
         [](const Tensors& x) { return einsum("aij,ijb->ab", x); },
         [](const Arrays& x) {
             return reference::einsum({"aij", "ijb"}, "ab", x);
         }},
        {"tensordot",
         {{4, 20, 6}, {20, 6, 5}},
         [](const Tensors& x) { return tensordot(x[0], x[1], 2); },
         [](const Arrays& x) {
             return reference::einsum({"aij", "ijb"}, "ab", x);
         }},
        {"trace",
         {{50, 50}},
         [](const Tensors& x) { return trace(x[0]); },
         [](const Arrays& x) { return reference::einsum({"ii"}, "", x); }},
    };
}

std::vector<ProductRow> windows() {
    const reference::Steps three{.kernel = 3, .padding = 1}, two{.kernel = 2, .stride = 2};
    return {
        {"conv2d",
         {{2, 8, 9, 7}, {5, 8, 3, 3}, {5}},
         [](const Tensors& x) { return conv2d(x[0], x[1], x[2], {.padding = 1}); },
         [three](const Arrays& x) {
             return reference::conv2d(x[0], x[1], &x[2], {three, three}, 1);
         }},
        {"conv2d (in groups)",
         {{1, 8, 9, 7}, {8, 1, 3, 3}, {8}},
         [](const Tensors& x) { return conv2d(x[0], x[1], x[2], {.padding = 1, .groups = 8}); },
         [three](const Arrays& x) {
             return reference::conv2d(x[0], x[1], &x[2], {three, three}, 8);
         }},
        {"conv1d",
         {{2, 16, 40}, {6, 16, 3}, {6}},
         [](const Tensors& x) { return conv1d(x[0], x[1], x[2], {.padding = 1}); },
         [three](const Arrays& x) {
             return reference::as_row(reference::conv2d(
                 reference::as_image(x[0]), reference::as_image(x[1]), &x[2], {{}, three}, 1));
         }},
        {"conv_transpose2d",
         {{2, 8, 9, 7}, {8, 5, 3, 3}, {5}},
         [](const Tensors& x) { return conv_transpose2d(x[0], x[1], x[2], {.padding = 1}); },
         [three](const Arrays& x) {
             return reference::conv_transpose2d(x[0], x[1], &x[2], {three, three}, 0, 0, 1);
         }},
        {"conv_transpose1d",
         {{2, 16, 40}, {16, 6, 3}, {6}},
         [](const Tensors& x) { return conv_transpose1d(x[0], x[1], x[2], {.padding = 1}); },
         [three](const Arrays& x) {
             return reference::as_row(reference::conv_transpose2d(reference::as_image(x[0]),
                                                                  reference::as_image(x[1]), &x[2],
                                                                  {{}, three}, 0, 0, 1));
         }},
        {"avg_pool2d",
         {{2, 3, 8, 6}},
         [](const Tensors& x) { return avg_pool2d(x[0], 2); },
         [two](const Arrays& x) {
             return reference::avg_pool(x[0], {two, two}, true);
         }},
        {"avg_pool1d",
         {{2, 3, 12}},
         [](const Tensors& x) { return avg_pool1d(x[0], 2); },
         [two](const Arrays& x) {
             return reference::as_row(
                 reference::avg_pool(reference::as_image(x[0]), {{}, two}, true));
         }},
    };
}

std::vector<ProductRow> sums() {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < 120; ++i) ids.push_back(i * i % 4);
    const auto whole = [ids] { return tensor(ids, {40, 3}); };
    const auto array_of_ids = [ids] {
        Array array({40, 3});
        for (std::size_t i = 0; i < ids.size(); ++i)
            array.data[i].value = static_cast<Exact>(ids[i]);
        return array;
    };
    return {
        {"cumsum",
         {{4, 250}},
         [](const Tensors& x) { return cumsum(x[0], 1); },
         [](const Arrays& x) { return reference::cumsum(x[0], 1); }},
        {"sum_to",
         {{70, 3, 9}},
         [](const Tensors& x) {
             return sum_to(x[0], {3, 1});
         },
         [](const Arrays& x) {
             return reference::sum_to(x[0], {3, 1});
         }},
        {"scatter_add",
         {{4, 3}, {40, 3}},
         [whole](const Tensors& x) { return scatter_add(x[0], 0, whole(), x[1]); },
         [array_of_ids](const Arrays& x) {
             return reference::scatter_add(x[0], 0, array_of_ids(), x[1]);
         }},
        {"rotary",
         {{7, 8}, {7, 4}, {7, 4}},
         [](const Tensors& x) { return rotary(x[0], x[1], x[2]); },
         [](const Arrays& x) {
             Array y = x[0];
             for (std::int64_t i = 0; i < 28; ++i) {
                 const Sum &a = x[0][2 * i], &b = x[0][2 * i + 1], &c = x[1][i], &s = x[2][i];
                 y[2 * i] = a * c - b * s;
                 y[2 * i + 1] = a * s + b * c;
             }
             return y;
         }},
    };
}

// ---- inputs -------------------------------------------------------------------------------------

enum class Style { plain, spread, cancelling, large, small };

double drawn(Style style, DType dtype, Generator& generator, double before) {
    const double size = 1 + generator.uniform(), sign = generator.uniform() < 0.5 ? -1 : 1;
    const int wide = dtype == DType::f16 ? 3 : dtype == DType::f64 ? 200 : 20;
    switch (style) {
        case Style::plain: return sign * size;
        case Style::spread:
            return sign * std::ldexp(size, static_cast<int>((2 * generator.uniform() - 1) * wide));
        case Style::cancelling:
            return generator.uniform() < 0.5 ? sign * size : -before * (1 + 0x1p-6 * size);
        case Style::large: return sign * std::ldexp(size, wide);
        case Style::small: return sign * std::ldexp(size, -wide);
    }
    return 0;
}

Tensors inputs(const ProductRow& row, Style style, DType dtype) {
    Generator generator(31);
    Tensors all;
    for (const Shape& shape : row.shapes) {
        std::vector<double> x(static_cast<std::size_t>(numel(shape)));
        double before = 1;
        for (double& one : x) one = before = drawn(style, dtype, generator, before);
        all.push_back(to(tensor(x, shape), dtype));
    }
    return all;
}

Arrays arrays_of(const Tensors& x) {
    Arrays all;
    for (const Tensor& one : x) {
        Array& array = all.emplace_back(one.shape());
        const auto values = one.to_vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i) array.data[i] = Sum(values[i]);
    }
    return all;
}

// ---- the bound ----------------------------------------------------------------------------------

struct Units {
    double computed;  // unit roundoff of the arithmetic
    double stored;    // of the result, if it is rounded once more
    double least;     // the smallest subnormal number
};

Units units_of(DType dtype) {
    switch (dtype) {
        case DType::f64: return {0x1p-53, 0, 0x1p-1074};
        case DType::bf16: return {0x1p-24, 0x1p-8, 0x1p-133};
        case DType::f16: return {0x1p-24, 0x1p-11, 0x1p-24};
        default: return {0x1p-24, 0, 0x1p-149};
    }
}

// The error as a multiple of the bound.
double of_bound(const Sum& exact, double got, DType dtype) {
    const Units u = units_of(dtype);
    // Instructions for bf16 take subnormal numbers as 0.
    const Exact lost = exact.terms * (dtype == DType::bf16 ? 0x1p-126L : Exact(u.least));
    const Exact sum = static_cast<Exact>(exact.roundings()) * u.computed * exact.size + lost;
    const Exact bound = sum + u.stored * (std::abs(exact.value) + sum) + u.least;
    const Exact error = std::abs(static_cast<Exact>(got) - exact.value);
    // The reference has 64 bits.
    const Exact own = exact.terms * exact.size * 0x1p-63L;
    return error <= own ? 0 : static_cast<double>((error - own) / bound);
}

void check_row(const ProductRow& row, DType dtype, const std::vector<Isa>& isas) {
    for (const Style style :
         {Style::plain, Style::spread, Style::cancelling, Style::large, Style::small}) {
        const Tensors x = inputs(row, style, dtype);
        const Array exact = row.exact(arrays_of(x));
        for (const Isa isa : isas) {
            set_isa(isa);
            const Tensor y = row.op(x);
            REQUIRE(y.shape() == exact.shape);
            const auto got = y.to_vector<double>();
            double worst = 0;
            for (std::size_t i = 0; i < got.size(); ++i) {
                worst = std::max(worst, of_bound(exact.data[i], got[i], dtype));
            }
            if (std::getenv("TAPESTRY_SWEEP") != nullptr) {
                std::printf("%-22s %-5s %-9s style %d %8.3g of the bound\n", row.name.c_str(),
                            std::string(name_of(dtype)).c_str(), std::string(name_of(isa)).c_str(),
                            static_cast<int>(style), worst);
            }
            CHECK_MESSAGE(worst <= 1, row.name << " in " << std::string(name_of(dtype)) << " on "
                                               << std::string(name_of(isa)) << ", style "
                                               << static_cast<int>(style) << ": error of " << worst
                                               << " times the bound");
        }
    }
}

}  // namespace

TEST_CASE("product bounds: n u times the sum of absolute values, in every type") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const test::SettingsGuard restored_at_the_end;
    const std::vector<Isa> all = available_isas();
    for (const auto& rows : {products(), windows(), sums()}) {
        for (const ProductRow& row : rows) {
            for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
                check_row(row, dtype, all);
            }
        }
    }
}

namespace {

// Exact weights and results of one query [D] with keys [T, D] and values [T, D], as matrices [T]
// and [D], and the bounds of docs/ops.md.
struct Attention {
    std::vector<Exact> weights, result, sizes;
    Exact scores = 0;  // error of a score
};

Attention attention_of(const Tensor& q, const Tensor& k, const Tensor& v, Exact u) {
    const auto query = q.to_vector<double>(), keys = k.to_vector<double>(),
               values = v.to_vector<double>();
    const std::size_t d = query.size(), t = keys.size() / d;
    const Exact scale = 1 / std::sqrt(static_cast<Exact>(d));
    Attention a{std::vector<Exact>(t), std::vector<Exact>(d), std::vector<Exact>(d)};
    for (std::size_t j = 0; j < t; ++j) {
        Exact size = 0;
        for (std::size_t i = 0; i < d; ++i) {
            const Exact term = scale * query[i] * keys[j * d + i];
            a.weights[j] += term;
            size += std::abs(term);
        }
        a.scores = std::max(a.scores, static_cast<Exact>(d + 1) * u * size);
    }
    const Exact most = *std::max_element(a.weights.begin(), a.weights.end());
    Exact sum = 0;
    for (Exact& w : a.weights) sum += w = std::exp(w - most);
    for (std::size_t j = 0; j < t; ++j) {
        a.weights[j] /= sum;
        for (std::size_t i = 0; i < d; ++i) {
            a.result[i] += a.weights[j] * values[j * d + i];
            a.sizes[i] += a.weights[j] * std::abs(values[j * d + i]);
        }
    }
    return a;
}

}  // namespace

TEST_CASE("product bounds: attention, by the error of its scores") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const test::SettingsGuard restored_at_the_end;
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Exact u = units_of(dtype).computed;
        for (const double size : {0.01, 1.0, 30.0, 300.0}) {
            Generator generator(12);
            const Tensor q = mul(randn({1, 1, 1, 24}, generator, dtype), size),
                         k = randn({1, 1, 77, 24}, generator, dtype),
                         v = randn({1, 1, 77, 24}, generator, dtype);
            const Attention exact = attention_of(q, k, v, u);
            for (const Isa isa : available_isas()) {
                set_isa(isa);
                CAPTURE(size);
                CAPTURE(std::string(name_of(isa)));
                const auto w = attention_weights(q, k).to_vector<double>();
                const auto y = scaled_dot_product_attention(q, k, v).to_vector<double>();
                double worst = 0;
                for (std::size_t j = 0; j < w.size(); ++j) {
                    const Exact bound = (2 * exact.scores + 89 * u) * exact.weights[j] + 0x1p-126L;
                    worst = std::max(
                        worst, static_cast<double>(std::abs(w[j] - exact.weights[j]) / bound));
                }
                CHECK_LE(worst, 1);
                worst = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                    const Exact bound = (2 * exact.scores + 166 * u) * exact.sizes[i] + 0x1p-120L;
                    worst = std::max(worst,
                                     static_cast<double>(std::abs(y[i] - exact.result[i]) / bound));
                }
                CHECK_LE(worst, 1);
            }
        }
    }
}
