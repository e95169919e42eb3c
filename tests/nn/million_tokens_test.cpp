// Linear attention reads 2^20 tokens, forward and backward, causal and not: half a gigabyte. What
// softmax attention would need is 2^40 weights.
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/tapestry.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tapestry;

TEST_CASE("linear attention: a million tokens, forward and backward") {
    constexpr std::int64_t kTokens = 1 << 20, kWidth = 8;
    Generator generator(1);
    const Shape shape{1, 1, kTokens, kWidth};
    const LinearAttention form;
    for (const bool causal : {false, true}) {
        INFO(causal);
        const Tensor q = randn(shape, generator).set_requires_grad();
        const Tensor k = randn(shape, generator), v = ones(shape);
        Tape tape;
        const Tensor y = form(q, k, v, {.causal = causal});
        // Weights sum to 1, so a mean of ones is 1, at the first token as at the last; and no query
        // can change that.
        CHECK(max(abs(y.detach() - 1)).item() < 1e-3);
        const Tensor gradient = tape.gradient(sum(y), {q})[0];
        CHECK(max(abs(gradient)).item() < 1e-2);
        // Of other values it is another mean.
        CHECK(std::isfinite(
            sum(form(q.detach(), k, randn(shape, generator), {.causal = causal})).item()));
    }
}
