// The efficient forms in use: inside multi-head attention, their memory, and bad input.
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/attention/sparse_attention.h>
#include <tapestry/ops/join.h>
#include <tapestry/tests/nn/efficient_attention.h>

#include <cmath>

using namespace tapestry;
using test::apart;
using test::check_throws;
using test::kWidth;
using test::Problem;
using test::problem;
using test::random;
using test::rule_mask;

TEST_CASE("efficient attention: inside multi-head attention") {
    Generator generator(6);
    const auto make = [&](AttentionFormFactory form, bool causal) {
        Generator weights(1);
        return std::make_unique<MultiHeadAttention>(
            MultiHeadAttentionConfig{
                .dim = 8, .heads = 2, .causal = causal, .form = std::move(form)},
            weights);
    };
    const auto window = make([] { return std::make_unique<SlidingWindowAttention>(3); }, true);
    const auto softmax = make({}, false);
    const Tensor x = random({2, 50, 8}, 3, DType::f32);
    const Tensor mask =
        rule_mask(50, 50, [](std::int64_t i, std::int64_t j) { return j <= i && i - j <= 3; });
    AttentionRecord record;
    const Tensor y = (*window)(x, {.record = &record});
    CHECK_LT(apart(y, (*softmax)(x, {.mask = mask})), 1e-6);
    CHECK_FALSE(record.weights.defined());
    CHECK(record.heads.shape() == Shape{2, 2, 50, 4});

    // Token by token with a cache gives the same.
    KeyValueCache cache;
    Tensors steps;
    for (std::int64_t t = 0; t < 50; ++t) {
        steps.push_back((*window)(views::slice(x, 1, t, t + 1), {.cache = &cache}));
    }
    CHECK_LT(apart(concat(steps, 1), y), 1e-6);

    const auto linformer =
        make([&] { return std::make_unique<LinformerAttention>(64, 4, generator); }, false);
    CHECK_EQ(linformer->named_parameters().size(), 6);
    const auto performer =
        make([&] { return std::make_unique<PerformerAttention>(4, 16, generator); }, true);
    const auto linear = make([] { return std::make_unique<LinearAttention>(); }, true);
    for (const auto* attention : {linformer.get(), performer.get(), linear.get()}) {
        CHECK((*attention)(x).shape() == x.shape());
        CHECK((*attention)(x, {.mask = length_mask(tensor<std::int64_t>({50, 7}), 50)}).shape() ==
              x.shape());
    }
}

TEST_CASE("efficient attention: memory grows with T, not T^2") {
    const auto kept = [](const AttentionForm& form, std::int64_t length, bool causal) {
        const Tensor q = random({1, 2, length, 16}, 1, DType::f32).set_requires_grad();
        const Tensor k = random({1, 2, length, 16}, 2, DType::f32);
        const std::size_t before = memory_statistics().current;
        reset_peak_memory();
        Tape tape;
        const Tensor y = form(q, k, k, {.causal = causal});
        tape.backward(sum(y));
        return static_cast<double>(memory_statistics().peak - before);
    };
    const SlidingWindowAttention window(32);
    const LinearAttention linear;
    Generator generator(1);
    const PerformerAttention performer(16, 32, generator);
    const LinformerAttention linformer(4096, 32, generator);
    for (const AttentionForm* form :
         {static_cast<const AttentionForm*>(&window), static_cast<const AttentionForm*>(&linear),
          static_cast<const AttentionForm*>(&performer),
          static_cast<const AttentionForm*>(&linformer)}) {
        CAPTURE(form->kind());
        for (const bool causal : {false, true}) {
            if (causal && form == &linformer) continue;
            CHECK_LT(kept(*form, 4096, causal), 4.2 * kept(*form, 1024, causal));
            CHECK_LT(kept(*form, 4096, causal), 2 * 4096.0 * 4096 * sizeof(float) / 4);
        }
    }
    // sqrt: 4 times the length with twice the stride takes 8 times the memory, not 16.
    const double small = kept(StridedAttention(32), 1024, true);
    CHECK_LT(kept(StridedAttention(64), 4096, true), 8.4 * small);
}

TEST_CASE("efficient attention: bad input") {
    check_throws<ValueError>([] { SlidingWindowAttention(-1); },
                             "SlidingWindowAttention: the window must be >= 0, got -1");
    check_throws<ValueError>([] { StridedAttention(0); },
                             "StridedAttention: the stride must be positive, got 0");
    check_throws<ValueError>([] { LinformerAttention(0, 3); },
                             "LinformerAttention: length 0 and k 3 must be positive");
    check_throws<ValueError>([] { PerformerAttention(4, 0); },
                             "PerformerAttention: head_dim 4 and features 0 must be positive");

    Generator generator(1);
    const SlidingWindowAttention window(2);
    const StridedAttention strided(2);
    LinformerAttention linformer(8, 2, generator);
    PerformerAttention performer(kWidth, 4, generator);
    linformer.to(DType::f64);
    performer.to(DType::f64);
    const LinearAttention linear;
    const Problem p = problem(6, 6), longer = problem(6, 9), shorter = problem(9, 6);
    const auto run = [](const AttentionForm& form, const Problem& at, const AttentionOptions& o) {
        return [&form, at, o] { form(at.q, at.k, at.v, o); };
    };
    for (const AttentionForm* form :
         {static_cast<const AttentionForm*>(&window), static_cast<const AttentionForm*>(&strided),
          static_cast<const AttentionForm*>(&linformer), static_cast<const AttentionForm*>(&linear),
          static_cast<const AttentionForm*>(&performer)}) {
        const std::string& name = form->kind();
        check_throws<ValueError>(
            run(*form, p, {.mask = ones({6, 6}, DType::boolean)}),
            name +
                ": takes masks that are the same for all queries, bool [B, 1, 1, 6], got bool "
                "[6, 6]");
        check_throws<ValueError>(
            run(*form, p, {.mask = zeros({1, 6}, DType::f64)}),
            name +
                ": takes masks that are the same for all queries, bool [B, 1, 1, 6], got f64 "
                "[1, 6]");
        check_throws<ShapeError>(run(*form, {p.q, longer.k, p.v}, {}),
                                 name +
                                     ": needs q [B, H, T, D], k [B, H, S, D], v [B, H, S, E], "
                                     "got [2, 3, 6, 4], [2, 3, 9, 4], [2, 3, 6, 5]");
        check_throws<ShapeError>(run(*form, {views::reshape(p.q, {6, 6, 4}), p.k, p.v}, {}),
                                 name +
                                     ": needs q [B, H, T, D], k [B, H, S, D], v [B, H, S, E], "
                                     "got [6, 6, 4], [2, 3, 6, 4], [2, 3, 6, 5]");
        check_throws<DTypeError>(run(*form, {p.q, cast(p.k, DType::f32), p.v}, {}),
                                 name + ": element types differ: f64 and f32; convert with to()");
        check_throws<Error>(run(*form, {Tensor(), p.k, p.v}, {}),
                            name + ": got an undefined tensor");
        check_throws<ShapeError>(run(*form, problem(0, 0), {}),
                                 name + ": empty sequence: q [2, 3, 0, 4], k [2, 3, 0, 4]");
    }
    for (const AttentionForm* form : {static_cast<const AttentionForm*>(&window),
                                      static_cast<const AttentionForm*>(&strided)}) {
        const std::string end = "it only looks at nearby positions, so it needs self-attention";
        check_throws<ValueError>(run(*form, longer, {}),
                                 form->kind() + ": 6 queries for 9 keys: " + end);
        check_throws<ValueError>(run(*form, shorter, {.causal = true}),
                                 form->kind() + ": 9 queries for 6 keys: " + end);
    }
    for (const AttentionForm* form : {static_cast<const AttentionForm*>(&linear),
                                      static_cast<const AttentionForm*>(&performer)}) {
        check_throws<ValueError>(
            run(*form, p, {.dropout = 0.1}),
            form->kind() + ": it computes no weights, so dropout must be 0, got 0.1");
    }
    check_throws<ValueError>(run(linear, p, {.scale = 0.5}),
                             "LinearAttention: has no scores to scale by 0.5");
    check_throws<ValueError>(
        run(linformer, p, {.causal = true}),
        "LinformerAttention: has no causal form, because a summary mixes all keys");
    check_throws<ValueError>(run(linformer, longer, {}),
                             "LinformerAttention: 9 keys, but it was made for 8");
    check_throws<ValueError>(run(performer, p, {.scale = -1.0}),
                             "PerformerAttention: the scale must be positive, got -1");
    const Tensor x = random({1, 1, 5, 7});
    check_throws<ShapeError>(run(performer, {x, x, x}, {}),
                             "PerformerAttention: heads of size 7, but it was made for 4");
    check_throws<ValueError>(
        [&] { linear_attention(shorter.q, shorter.k, shorter.v, true); },
        "linear_attention: causal attention needs as many queries as keys, got 9 and 6");
}
