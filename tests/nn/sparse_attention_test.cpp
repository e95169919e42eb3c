// Sliding-window and strided attention: softmax attention under a mask, computed differently.
#include <tapestry/nn/attention/sparse_attention.h>
#include <tapestry/tests/nn/efficient_attention.h>

#include <algorithm>

using namespace tapestry;
using test::apart;
using test::check_causal;
using test::check_form;
using test::check_sparse;
using test::Problem;
using test::problem;

TEST_CASE("sliding window: softmax attention to what is near") {
    for (const std::int64_t window : {0, 1, 7, 32, 40, 200}) {
        CAPTURE(window);
        check_sparse(SlidingWindowAttention(window),
                     [window](std::int64_t distance) { return distance <= window; });
    }
    check_causal(SlidingWindowAttention(5), 100);
    check_form(SlidingWindowAttention(2), 6, false);
    check_form(SlidingWindowAttention(2), 35, true);
}

TEST_CASE("strided: softmax attention to what is near, and to columns") {
    for (const std::int64_t stride : {1, 2, 8, 33, 200, 1 << 20}) {
        CAPTURE(stride);
        check_sparse(StridedAttention(stride), [stride](std::int64_t distance) {
            return distance < stride || distance % stride == 0;
        });
    }
    check_causal(StridedAttention(8), 100);
    check_form(StridedAttention(3), 7, false);
    check_form(StridedAttention(3), 7, true);
}

TEST_CASE("sparse forms: dropout keeps the mean, and a row that sees nothing is 0") {
    const SlidingWindowAttention window(40);
    const StridedAttention strided(8);
    const Problem p = problem(100, 100);
    for (const AttentionForm* form : {static_cast<const AttentionForm*>(&window),
                                      static_cast<const AttentionForm*>(&strided)}) {
        Generator generator(5);
        const Tensor y = (*form)(p.q, p.k, p.v, {});
        Tensor mean = zeros_like(y);
        const int draws = 200;
        for (int i = 0; i < draws; ++i) {
            mean = mean + (*form)(p.q, p.k, p.v, {.dropout = 0.5, .generator = &generator}) *
                              (1.0 / draws);
        }
        CHECK_GT(generator.offset(), 0);
        CHECK_LT(apart(mean, y), 0.7);  // the worst of 3000 numbers
        CHECK_LT(sum(square(mean - y)).item(), 1e-2 * static_cast<double>(y.numel()));

        const Tensor nothing = zeros({1, 100}, DType::boolean);
        CHECK_EQ(max(abs((*form)(p.q, p.k, p.v, {.mask = nothing}))).item(), 0);
    }
}
