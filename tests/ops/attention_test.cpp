// Attention's guarantees other than its values: layouts without copies, no memory kept, masked rows
// without NaN, and NaNs that propagate.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;

namespace {

Tensor heads(const Shape& shape, std::uint64_t seed) {
    Generator generator(seed);
    return randn(shape, generator);
}

bool all_zero(const Tensor& x) {
    const auto values = x.to_vector<double>();
    return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

}  // namespace

TEST_CASE("attention: merging the heads of the result and of the gradients copies nothing") {
    Tensors leaves;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        leaves.push_back(heads({2, 3, 5, 4}, seed).set_requires_grad());
    }
    Tape tape;
    const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2]);
    Tensors laid_out = tape.gradient(y, leaves, {.cotangent = heads({2, 3, 5, 4}, 4)});
    laid_out.push_back(y);
    for (const Tensor& x : laid_out) {
        CHECK(views::try_reshape(views::transpose(x, 1, 2), {2, 5, 12}).has_value());
    }
}

TEST_CASE("attention keeps nothing but its operands") {
    const Tensor q = heads({2, 3, 5, 4}, 1);
    Tensor leaf = heads({2, 3, 5, 4}, 2).set_requires_grad();
    Tape tape;
    scaled_dot_product_attention(q, q, q);
    CHECK(tape.entries().empty());
    scaled_dot_product_attention(leaf, q, q);
    CHECK(tape.saved_bytes() == 3 * q.bytes());
}

// Longer than one block, in f64 and with dropout: the rule that never writes the weights against
// the one composed of public ops.
TEST_CASE("attention: gradients of a long sequence, fused and composed") {
    for (const bool causal : {false, true}) {
        for (const std::int64_t keys : {700, 900}) {
            Generator generator(3);
            Tensors leaves;
            for (const std::int64_t rows : {std::int64_t{700}, keys, keys}) {
                leaves.push_back(randn({2, rows, 9}, generator, DType::f64).set_requires_grad());
            }
            const Tensor g = randn({2, 700, 9}, generator, DType::f64);
            Tape tape;
            const Tensor y = scaled_dot_product_attention(
                leaves[0], leaves[1], leaves[2],
                {.causal = causal, .dropout = 0.1, .generator = &generator});
            const Tensors fused = tape.gradient(y, leaves, {.cotangent = g, .retain = true});
            const Tensors composed =
                tape.gradient(y, leaves, {.cotangent = g, .create_graph = true});
            for (std::size_t i = 0; i < fused.size(); ++i) {
                const auto a = fused[i].to_vector<double>(), b = composed[i].to_vector<double>();
                double worst = 0;
                for (std::size_t j = 0; j < a.size(); ++j) {
                    worst = std::max(worst, std::abs(a[j] - b[j]));
                }
                CAPTURE(i);
                CHECK(worst < 1e-12);
            }
        }
    }
}

TEST_CASE("attention: the gradient of a packed projection is laid out as one block") {
    Generator generator(1);
    Tensor packed = randn({2, 5, 3 * 8}, generator).set_requires_grad();
    const auto gradient_of = [&](bool create_graph) {
        Tape tape;
        Tensors heads;
        for (const Tensor& x : split(packed * 1.0, 8, -1)) {
            heads.push_back(transpose(reshape(x, {2, 5, 2, 4}), 1, 2));
        }
        const Tensor y = scaled_dot_product_attention(heads[0], heads[1], heads[2]);
        return tape.gradient(sum(y * y), {packed}, {.create_graph = create_graph})[0];
    };
    const auto a = gradient_of(false).to_vector<double>(),
               b = gradient_of(true).to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

TEST_CASE("attention: of heads that share keys the gradients lie in one block, too") {
    Generator generator(1);
    const Tensor packed = randn({2, 5, (4 + 2 + 2) * 3}, generator);
    Tensors heads;
    for (const Tensor& x : split(packed, {12, 6, 6}, -1)) {
        const Tensor apart = reshape(x, {2, 5, x.size(2) / 3, 3});
        heads.push_back(transpose(apart, 1, 2).set_requires_grad());
    }
    Tape tape;
    const Tensor y = scaled_dot_product_attention(heads[0], heads[1], heads[2], {.grouped = true});
    Tensors gradients = tape.gradient(y, heads, {.cotangent = y});
    for (Tensor& g : gradients) g = views::transpose(g, 1, 2);  // [B, T, heads, D]
    CHECK(views::try_join(gradients, 2).has_value());
}

TEST_CASE("attention: what saves the result computes it again, with the same bits") {
    const std::int64_t rows = 2048, columns = 256;  // 2 MB: smaller ones are kept
    Generator generator(1);
    Tensors leaves;
    for (int i = 0; i < 3; ++i) {
        leaves.push_back(randn({4, rows / 4, columns}, generator).set_requires_grad());
    }
    leaves.push_back(randn({8, columns}, generator).set_requires_grad());
    const auto gradients = [&](bool recompute, std::size_t& kept) {
        Tape tape;
        const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2],
                                                      {.causal = true, .recompute = recompute});
        const Tensor z = linear(y, leaves[3]);
        kept = tape.entries().back()->saved_bytes() - leaves[3].bytes();
        std::vector<std::vector<float>> values;
        for (const Tensor& g : tape.gradient(sum(square(z)), leaves)) {
            values.push_back(g.to_vector<float>());
        }
        return values;
    };
    std::size_t again = 1, once = 1;
    CHECK(gradients(true, again) == gradients(false, once));
    CHECK(again == 0);
    CHECK(once == leaves[0].bytes());
}

TEST_CASE("attention: rows that run backwards through one block of memory") {
    const Tensor block = heads({9, 4}, 1);
    const auto gradients = [&](bool copied) {
        Tensors leaves;
        for (std::int64_t i = 0; i < 3; ++i) {
            const Tensor rows = slice(block, 0, 3 * i + 1, 3 * i - 10, -1);  // [2, 4]
            leaves.push_back((copied ? rows.clone() : rows.detach()).set_requires_grad());
        }
        Tape tape;
        const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2]);
        return tape.gradient(y, leaves, {.cotangent = heads({2, 4}, 2)});
    };
    const Tensors views = gradients(false);
    const Tensors copies = gradients(true);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(views[i].to_vector<double>() == copies[i].to_vector<double>());
    }
}

TEST_CASE("attention: a query that may attend to nothing gets zeros and zero gradients") {
    const Tensor x = heads({4, 3}, 1).set_requires_grad();
    const Tensor nothing = zeros({4, 4}, DType::boolean);
    for (const bool causal : {false, true}) {
        Tape tape;
        const Tensor y = scaled_dot_product_attention(x, x, x, {.causal = causal, .mask = nothing});
        CHECK(all_zero(y));
        CHECK(all_zero(tape.gradient(y, {x}, {.cotangent = ones({4, 3})})[0]));
    }
    // More queries than keys under a causal mask: the first queries precede every key.
    const Tensor keys = heads({1, 3}, 2);
    const Tensor y = scaled_dot_product_attention(x, keys, keys, {.causal = true});
    CHECK(all_zero(views::slice(y, 0, 0, 3)));
    CHECK(views::slice(y, 0, 3, 4).to_vector<float>() == keys.to_vector<float>());
}

TEST_CASE("attention: a NaN does not vanish, and touches only the queries that see it") {
    Tensor keys = heads({4, 3}, 1);
    views::slice(keys, 0, 2, 3).fill_(NAN);
    const Tensor x = heads({4, 3}, 2);
    const auto y = scaled_dot_product_attention(x, keys, x, {.causal = true}).to_vector<double>();
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i / 3 >= 2));
    keys.fill_(NAN);  // comparisons of scores are all false
    for (const double value : scaled_dot_product_attention(x, keys, x).to_vector<double>()) {
        CHECK(std::isnan(value));
    }
}

TEST_CASE("attention: one new query with a cache of keys is the last row of all queries") {
    const Tensor q = heads({2, 6, 4}, 1);
    const Tensor k = heads({2, 6, 4}, 2);
    const Tensor v = heads({2, 6, 4}, 3);
    const Tensor all = scaled_dot_product_attention(q, k, v, {.causal = true});
    const Tensor last =
        scaled_dot_product_attention(views::slice(q, 1, 5, 6), k, v, {.causal = true});
    const auto expected = views::slice(all, 1, 5, 6).to_vector<double>();
    const auto got = last.to_vector<double>();
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-5);
}

TEST_CASE("attention: its weights on request, with and without a tape, change nothing") {
    Generator generator(1);
    Tensor q = randn({2, 3, 40, 8}, generator);
    const Tensor k = randn({2, 3, 50, 8}, generator);
    const Tensor v = randn({2, 3, 50, 4}, generator);
    const Tensor plain = scaled_dot_product_attention(q, k, v, {.causal = true});
    const auto numbers = plain.to_vector<float>();
    Tensor weights;
    const AttentionOptions asking{.causal = true, .weights = &weights};
    CHECK_EQ(scaled_dot_product_attention(q, k, v, asking).to_vector<float>(), numbers);
    const auto wanted = attention_weights(q, k, {.causal = true}).to_vector<float>();
    const auto got = weights.to_vector<float>();
    REQUIRE_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < 1e-6F);
    q.set_requires_grad();
    Tape tape;
    const Tensor y = scaled_dot_product_attention(q, k, v, asking);
    CHECK_EQ(y.to_vector<float>(), numbers);
    CHECK_EQ(weights.to_vector<float>(), got);
    CHECK_FALSE(tape.follows(weights));
}
