// Performer: an estimate of softmax attention, which statistics must distinguish from a wrong one.
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/efficient_attention.h>

#include <cmath>

using namespace tapestry;
using test::apart;
using test::check_causal;
using test::kWidth;
using test::Problem;
using test::problem;
using test::random;
using test::some_padding;

TEST_CASE("performer: orthogonal rows of Gaussian length") {
    Generator generator(1);
    const std::int64_t dim = 8, m = 20;
    const Tensor w = orthogonal_gaussian(m, dim, generator, DType::f64);
    const Tensor products = matmul(w, transpose(w, 0, 1));
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
            if (i != j && i / dim == j / dim) CHECK_LT(std::abs(products.at({i, j})), 1e-12);
        }
    }
    const Tensor many = orthogonal_gaussian(4000, dim, generator, DType::f64);
    CHECK_EQ(mean(many).item(), doctest::Approx(0).epsilon(0.02));
    CHECK_EQ(mean(square(many)).item(), doctest::Approx(1).epsilon(0.02));
    CHECK_EQ(mean(square(square(many))).item(), doctest::Approx(3).epsilon(0.1));
    CHECK(orthogonal_gaussian(3, 2, generator).dtype() == DType::f32);
}

TEST_CASE("performer: features whose products have e^(x.y) as their mean") {
    Generator generator(2);
    const Tensor x = random({1, kWidth}, 5) * 0.7, y = random({1, kWidth}, 6) * 0.7;
    const double wanted = std::exp(sum(x * y).item());
    const int draws = 4000;
    double total = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
        const Tensor w = orthogonal_gaussian(kWidth, kWidth, generator, DType::f64);
        const double estimate = sum(positive_features(x, w) * positive_features(y, w)).item();
        total += estimate;
        squares += estimate * estimate;
    }
    const double mean = total / draws;
    const double error = std::sqrt((squares / draws - mean * mean) / draws);
    CHECK_LT(error, 0.05 * wanted);
    CHECK_LT(std::abs(mean - wanted), 4 * error);
}

TEST_CASE("performer: near softmax attention, the nearer the more features") {
    Problem p = problem(40, 40);
    p.q = p.q * 0.4;  // for larger ones the estimate has heavy tails, as documented
    p.k = p.k * 0.4;
    Generator generator(4);
    for (const bool causal : {false, true}) {
        const AttentionOptions options{.causal = causal, .mask = some_padding(40)};
        const Tensor wanted = scaled_dot_product_attention(p.q, p.k, p.v, options);
        const auto error = [&](std::int64_t features) {  // root mean square, over some draws
            PerformerAttention form(kWidth, features, generator);
            form.to(DType::f64);
            double total = 0;
            const int draws = 8;
            for (int i = 0; i < draws; ++i) {
                form.redraw(generator);
                total += mean(square(form(p.q, p.k, p.v, options) - wanted)).item() / draws;
            }
            return std::sqrt(total);
        };
        const double few = error(32), many = error(2048);
        const Tensor equal = scaled_dot_product_attention(p.q * 0.0, p.k, p.v, options);
        const double uniform = std::sqrt(mean(square(equal - wanted)).item());
        CAPTURE(few);
        CAPTURE(uniform);
        CHECK_LT(many, 0.008);
        CHECK_LT(many, uniform / 5);
        CHECK_LT(many, few / 5);  // 1 / sqrt(64): an eighth
    }
}

TEST_CASE("performer: gradients, the future, and numbers that nearly overflow") {
    Generator generator(4);
    PerformerAttention form(kWidth, 6, generator);
    form.to(DType::f64);
    CHECK_EQ(form.named_buffers().size(), 1);
    CHECK_EQ(form.parameter_count(), 0);
    check_causal(form, 100);
    const Tensor before = form.projection.clone();
    form.redraw(generator);
    CHECK_GT(apart(before, form.projection), 0.1);
    CHECK(form.projection.dtype() == DType::f64);

    PerformerAttention small(kWidth, 6, generator);
    small.projection = before;
    check_causal(small, 40);
    const Problem p = problem(6, 6);
    for (const bool causal : {false, true}) {
        const TensorFunction f = [&](const Tensors& x) {
            return small(x[0], x[1], x[2], {.causal = causal, .mask = some_padding(6)});
        };
        test::check_passes(gradcheck(f, {p.q, p.k, p.v}, test::gradcheck_options()));
        test::check_passes(gradgradcheck(f, {p.q, p.k, p.v}, test::gradcheck_options()));
    }
    const Tensor nothing = zeros({1, 6}, DType::boolean);
    for (const bool causal : {false, true}) {
        const AttentionOptions options{.causal = causal, .mask = nothing};
        CHECK_EQ(max(abs(small(p.q, p.k, p.v, options))).item(), 0);
    }
    // f32, heads of 256: |W|^2 / 2 is about 128, and e^128 more than a float holds.
    const PerformerAttention wide(256, 512, generator);
    Tensor q = random({1, 1, 40, 256}, 1, DType::f32);
    q = q * 4.0;
    for (const bool causal : {false, true}) {
        const Tensor y = wide(q, q, q, {.causal = causal});
        CHECK(std::isfinite(sum(abs(y)).item()));
    }
}
