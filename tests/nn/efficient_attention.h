// Shared by the tests of efficient attention: problems, and properties that every form must have.
#pragma once

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/attention_form.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <functional>

namespace tapestry::test {

inline constexpr std::int64_t kBatch = 2, kHeads = 3, kWidth = 4, kValues = 5;

struct Problem {
    Tensor q, k, v;  // [B, H, T, D], [B, H, S, D], [B, H, S, E]
};

inline Problem problem(std::int64_t queries, std::int64_t keys, DType dtype = DType::f64) {
    return {random({kBatch, kHeads, queries, kWidth}, 1, dtype),
            random({kBatch, kHeads, keys, kWidth}, 2, dtype),
            random({kBatch, kHeads, keys, kValues}, 3, dtype)};
}

inline double apart(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return a.numel() == 0 ? 0 : max(abs(a - b)).item();
}

// bool [T, S] from a rule on positions.
using SeesRule = std::function<bool(std::int64_t i, std::int64_t j)>;
inline Tensor rule_mask(std::int64_t queries, std::int64_t keys, const SeesRule& sees) {
    Tensor mask({queries, keys}, DType::boolean);
    bool* to = mask.mutable_data<bool>();
    for (std::int64_t i = 0; i < queries * keys; ++i) {
        to[i] = sees(i / keys + keys - queries, i % keys);
    }
    return mask;
}

// Sequence 0 sees all keys but key 1, sequence 1 only the first half.
inline Tensor some_padding(std::int64_t keys) {
    Tensor mask = ones({kBatch, 1, 1, keys}, DType::boolean);
    bool* to = mask.mutable_data<bool>();
    if (keys > 1) to[1] = false;
    for (std::int64_t j = (keys + 1) / 2; j < keys; ++j) to[keys + j] = false;
    return mask;
}

// Compares `form` with softmax attention under the mask given by `sees`: values and gradients.
inline void check_against_softmax(const AttentionForm& form, const Problem& p, const SeesRule& sees,
                                  AttentionOptions options) {
    const std::int64_t queries = p.q.size(2), keys = p.k.size(2);
    CAPTURE(queries);
    CAPTURE(keys);
    const Tensor allowed = rule_mask(queries, keys, sees);
    const Tensor cotangent = random({kBatch, kHeads, queries, kValues}, 9);
    std::vector<Tensors> results;
    for (const bool efficient : {true, false}) {
        const Tensors leaves{p.q.clone().set_requires_grad(), p.k.clone().set_requires_grad(),
                             p.v.clone().set_requires_grad()};
        AttentionOptions o = options;
        if (!efficient) {
            o.mask = options.mask.defined() ? logical_and(options.mask, allowed) : allowed;
        }
        Tape tape;
        const Tensor y = efficient
                             ? form(leaves[0], leaves[1], leaves[2], o)
                             : scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], o);
        Tensors all = tape.gradient(y, leaves, {.cotangent = cotangent});
        all.push_back(y);
        results.push_back(all);
    }
    for (std::size_t i = 0; i < 4; ++i) CHECK_LT(apart(results[0][i], results[1][i]), 1e-12);
}

inline void check_sparse(const AttentionForm& form,
                         const std::function<bool(std::int64_t)>& sees_distance) {
    for (const bool causal : {false, true}) {
        const SeesRule sees = [&](std::int64_t i, std::int64_t j) {
            return sees_distance(std::abs(i - j)) && (!causal || j <= i);
        };
        CAPTURE(causal);
        for (const std::int64_t length : {1, 2, 5, 31, 32, 33, 64, 77, 130}) {
            const Problem p = problem(length, length);
            check_against_softmax(form, p, sees, {.causal = causal});
            check_against_softmax(form, p, sees,
                                  {.causal = causal, .mask = some_padding(length), .scale = 0.3});
        }
        if (!causal) continue;
        for (const std::int64_t queries : {1, 3, 40}) {  // the last of 90
            check_against_softmax(form, problem(queries, 90), sees,
                                  {.causal = true, .mask = some_padding(90)});
        }
    }
}

// Changing inputs after position t changes no bit of the outputs up to t.
inline void check_causal(const AttentionForm& form, std::int64_t length) {
    const Problem p = problem(length, length);
    const Tensor y = form(p.q, p.k, p.v, {.causal = true});
    for (const std::int64_t t : {std::int64_t{0}, length / 3, length - 2}) {
        const Problem other = problem(length, length);
        for (const Tensor& x : {other.q, other.k, other.v}) {
            Tensor future = views::slice(x, 2, t + 1, length);
            future.copy_(future.clone() * 3.0 + 1.0);
        }
        const Tensor changed = form(other.q, other.k, other.v, {.causal = true});
        CHECK_EQ(apart(views::slice(y, 2, 0, t + 1), views::slice(changed, 2, 0, t + 1)), 0);
        CHECK_GT(apart(views::slice(y, 2, t + 1, length), views::slice(changed, 2, t + 1, length)),
                 1e-3);
    }
}

// The same bits for one thread and two, forward and backward.
inline void check_threads(const AttentionForm& form, bool causal) {
    const auto gradients = [&](int threads) {
        const ThreadsGuard guard(threads);
        const Problem large = problem(150, 150, DType::f32);
        const Tensor q = large.q.clone().set_requires_grad(),
                     k = large.k.clone().set_requires_grad();
        Tape tape;
        const Tensor y = form(q, k, large.v, {.causal = causal});
        Tensors all = tape.gradient(sum(square(y)), {q, k});
        all.push_back(y);
        std::vector<std::vector<float>> numbers;
        for (const Tensor& x : all) numbers.push_back(x.to_vector<float>());
        return numbers;
    };
    CHECK(gradients(1) == gradients(2));
}

// Checks gradients by central differences, with a mask; and that the number of threads is
// irrelevant.
inline void check_form(const AttentionForm& form, std::int64_t length, bool causal) {
    const Problem p = problem(length, length);
    const AttentionOptions options{.causal = causal, .mask = some_padding(length)};
    const TensorFunction f = [&](const Tensors& x) { return form(x[0], x[1], x[2], options); };
    const auto small = [](const Tensor& x) { return views::slice(x, 1, 0, 1).clone(); };
    const Tensors inputs{small(p.q), small(p.k), small(p.v)};
    test::check_passes(gradcheck(f, inputs, test::gradcheck_options()));
    test::check_passes(gradgradcheck(f, inputs, test::gradcheck_options()));
    check_threads(form, causal);
}

}  // namespace tapestry::test
