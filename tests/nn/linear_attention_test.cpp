// Linformer and linear attention against their formulas in plain loops.
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/tests/nn/efficient_attention.h>
#include <tapestry/tests/skip.h>

#include <cmath>

using namespace tapestry;
using test::check_causal;
using test::check_form;
using test::check_threads;
using test::kBatch;
using test::kHeads;
using test::kValues;
using test::kWidth;
using test::Problem;
using test::problem;
using test::random;
using test::some_padding;

TEST_CASE("linformer: attention to projected keys and values") {
    Generator generator(3);
    LinformerAttention form(20, 4, generator);
    form.to(DType::f64);
    CHECK_EQ(form.parameter_count(), 2 * 20 * 4);
    for (const std::int64_t keys : {1, 13, 20}) {
        const Problem p = problem(7, keys);
        const Tensor padding = some_padding(keys);
        const Tensor y = form(p.q, p.k, p.v, {.mask = padding});
        // The definition, in loops.
        for (std::int64_t b = 0; b < kBatch; ++b) {
            const auto summary = [&](const Tensor& x, const Tensor& projection, std::int64_t h,
                                     std::int64_t row, std::int64_t d) {
                double total = 0;
                for (std::int64_t j = 0; j < keys; ++j) {
                    if (!padding.at<bool>({b, 0, 0, j})) continue;
                    total += projection.at({row, j}) * x.at({b, h, j, d});
                }
                return total;
            };
            for (std::int64_t h = 0; h < kHeads; ++h) {
                double above = 0, below = 0;
                for (std::int64_t row = 0; row < 4; ++row) {
                    double score = 0;
                    for (std::int64_t d = 0; d < kWidth; ++d) {
                        score +=
                            p.q.at({b, h, 3, d}) * summary(p.k, form.key_projection, h, row, d);
                    }
                    const double weight = std::exp(score / 2);
                    below += weight;
                    above += weight * summary(p.v, form.value_projection, h, row, 2);
                }
                CHECK_EQ(y.at({b, h, 3, 2}), doctest::Approx(above / below).epsilon(1e-12));
            }
        }
    }
    const Problem p = problem(6, 6);
    test::check_gradients(form, {&form.key_projection, &form.value_projection},
                          [&form](const Tensors& x) { return form(x[0], x[1], x[2], {}); },
                          {p.q, p.k, p.v});
}

namespace {

// The definition of linear attention for one value of the result.
double linear_definition(const Tensor& a, const Tensor& b, const Tensor& v, const Shape& at,
                         std::int64_t keys, const Tensor& mask) {
    double above = 0, below = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
        if (mask.defined() && !mask.at<bool>({at[0], 0, 0, j})) continue;
        double weight = 0;
        for (std::int64_t d = 0; d < a.size(3); ++d) {
            weight += a.at({at[0], at[1], at[2], d}) * b.at({at[0], at[1], j, d});
        }
        below += weight;
        above += weight * v.at({at[0], at[1], j, at[3]});
    }
    return below == 0 ? 0 : above / below;
}

Tensor elu_plus_one(const Tensor& x) {  // f64
    Tensor y = x.clone();
    double* to = y.mutable_data<double>();
    for (std::int64_t i = 0; i < y.numel(); ++i) to[i] = to[i] > 0 ? to[i] + 1 : std::exp(to[i]);
    return y;
}

}  // namespace

TEST_CASE("linear attention: its definition, causal as a running sum") {
    const LinearAttention form;
    for (const bool causal : {false, true}) {
        using Sizes = std::pair<std::int64_t, std::int64_t>;
        for (const auto& sizes :
             {Sizes{1, 1}, {9, 9}, {32, 32}, {33, 33}, {100, 100}, {1, 70}, {40, 75}}) {
            if (test::is_short() && sizes.second < 75) continue;
            const std::int64_t t = sizes.first, s = sizes.second;  // clang 14: no bindings captured
            const Problem p = problem(t, s);
            const Tensor mask = some_padding(s);
            const Tensor y = form(p.q, p.k, p.v, {.causal = causal, .mask = mask});
            const Tensor a = elu_plus_one(p.q), b = elu_plus_one(p.k);
            double worst = 0;
            test::for_each_index({kBatch, kHeads, t, kValues}, [&](const Shape& at) {
                const std::int64_t keys = causal ? at[2] + 1 + s - t : s;
                const double wanted = linear_definition(a, b, p.v, at, keys, mask);
                worst = std::max(worst, std::abs(y.at({at[0], at[1], at[2], at[3]}) - wanted));
            });
            CHECK_LT(worst, 1e-13);
        }
    }
    const Problem wide{random({1, 1, 100, 50}), random({1, 1, 100, 50}, 2),
                       random({1, 1, 100, 2}, 3)};
    CHECK_EQ(form(wide.q, wide.k, wide.v, {.causal = true}).at({0, 0, 99, 1}),
             doctest::Approx(form(wide.q, wide.k, wide.v, {}).at({0, 0, 99, 1})).epsilon(1e-12));
    check_causal(form, 100);
    check_form(form, 6, false);
    check_form(form, 35, true);
    const Problem p = problem(5, 5);
    const Tensor nothing = zeros({1, 5}, DType::boolean);
    CHECK_EQ(max(abs(form(p.q, p.k, p.v, {.mask = nothing}))).item(), 0);
}
