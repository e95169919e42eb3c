// LSH attention against its definition in plain loops, against softmax attention, and in use.
#include <tapestry/nn/attention/lsh_attention.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/lsh_by_loops.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using test::apart;
using test::bucket_of;
using test::by_loops;
using test::check_throws;
using test::Defined;
using test::kBatch;
using test::kHeads;
using test::kValues;
using test::kWidth;
using test::random;
using test::rule_mask;
using test::some_padding;

namespace {

LSHAttention drawn(std::int64_t chunk, std::int64_t rounds, std::uint64_t seed = 1) {
    Generator generator(seed);
    return LSHAttention(kWidth, chunk, rounds, generator);
}

Tensor unit(const Tensor& x) { return x / sqrt(sum(square(x), {-1}, true)); }

// y, and the gradients of x and v.
template <class Attention>
Tensors passes(const Attention& attention, const Tensor& x, const Tensor& v) {
    const Tensor leaf = x.clone().set_requires_grad(), values = v.clone().set_requires_grad();
    Tape tape;
    const Tensor y = attention(leaf, values);
    Tensors all = tape.gradient(y, {leaf, values}, {.cotangent = random(y.shape(), 9, y.dtype())});
    all.push_back(y);
    return all;
}

// The values by loops; the gradients as those of softmax attention to which log n is added.
void check_definition(const LSHAttention& form, std::int64_t length, std::int64_t chunk,
                      const AttentionOptions& options) {
    CAPTURE(length);
    const DType dtype = form.rotations.dtype();
    const double allowed = dtype == DType::f64 ? 1e-12 : 1e-4;
    const Tensor x = random({kBatch, kHeads, length, kWidth}, 1, dtype);
    const Tensor v = random({kBatch, kHeads, length, kValues}, 2, dtype);
    const Defined wanted = by_loops(form, x, v, chunk, options);
    const Tensors got = passes(
        [&](const Tensor& q, const Tensor& values) { return form(q, q, values, options); }, x, v);
    const auto y = got[2].to_vector<double>();
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
        worst = std::max(worst, std::abs(y[i] - wanted.y[i]));
    CHECK_LT(worst, allowed);
    const Tensor times = cast(tensor(wanted.times, {kBatch, kHeads, length, length}), dtype);
    const Tensors softmax = passes(
        [&](const Tensor& q, const Tensor& values) {
            return scaled_dot_product_attention(q, unit(q), values,
                                                {.mask = log(times), .scale = options.scale});
        },
        x, v);
    for (std::size_t i = 0; i < 3; ++i) CHECK_LT(apart(got[i], softmax[i]), allowed);
}

}  // namespace

TEST_CASE("lsh attention: its definition by loops, and the gradients of softmax attention") {
    for (const std::int64_t rounds : {1, 4}) {
        CAPTURE(rounds);
        for (const std::int64_t chunk : {1, 4, 8}) {
            CAPTURE(chunk);
            LSHAttention form = drawn(chunk, rounds);
            for (const DType dtype : {DType::f32, DType::f64}) {
                form.to(dtype);
                for (const bool causal : {false, true}) {
                    CAPTURE(causal);
                    for (const std::int64_t length : {1, 2, 5, 8, 21, 67, 130}) {
                        if (test::kAddressSanitizer && length > 21) continue;
                        check_definition(form, length, chunk, {.causal = causal});
                        check_definition(
                            form, length, chunk,
                            {.causal = causal, .mask = some_padding(length), .scale = 0.9});
                    }
                }
            }
        }
    }
}

TEST_CASE("lsh attention: hashes are the largest of products and their opposites") {
    const LSHAttention form = drawn(4, 3);
    const Tensor x = random({2, 1, 50, kWidth}, 3, DType::f32);
    const auto numbers = x.to_vector<double>(), matrices = form.rotations.to_vector<double>();
    for (const std::int64_t buckets : {2, 16, 32, 256, 1 << 20}) {
        CAPTURE(buckets);
        const Tensor hashed = angular_hash(x, form.rotations, buckets);
        REQUIRE(hashed.shape() == Shape{2, 1, 3, 50});
        std::vector<std::int64_t> wanted;
        for (std::int64_t i = 0; i < 2 * 3 * 50; ++i) {
            const std::int64_t row = i / 150 * 50 + i % 50, round = i / 50 % 3;
            wanted.push_back(bucket_of(numbers.data() + row * kWidth, kWidth,
                                       matrices.data() + round * kWidth * 40, 40, buckets));
        }
        CHECK_EQ(hashed.to_vector<std::int64_t>(), wanted);
        CHECK_EQ(angular_hash(x * 3.0, form.rotations, buckets).to_vector<std::int64_t>(), wanted);
    }
    CHECK_EQ(form.buckets(4), 2);
    CHECK_EQ(form.buckets(5), 4);
    CHECK_EQ(form.buckets(4096), 2048);
    CHECK_EQ(form.buckets(std::int64_t{1} << 40), 1 << 20);
}

TEST_CASE("lsh attention: in one chunk, softmax attention to all others") {
    for (const std::int64_t rounds : {1, 4}) {
        LSHAttention form = drawn(32, rounds);
        form.to(DType::f64);
        for (const bool causal : {false, true}) {
            CAPTURE(causal);
            const Tensor mask = rule_mask(20, 20, [causal](std::int64_t i, std::int64_t j) {
                return causal ? j < i || i + j == 0 : i != j;
            });
            const Tensor x = random({kBatch, kHeads, 20, kWidth}, 1);
            const Tensor v = random({kBatch, kHeads, 20, kValues}, 2);
            const auto hashed = [&](const Tensor& q, const Tensor& values) {
                return form(q, q, values, {.causal = causal});
            };
            const auto softmax = [&](const Tensor& q, const Tensor& values) {
                return scaled_dot_product_attention(q, unit(q), values, {.mask = mask});
            };
            const Tensors a = passes(hashed, x, v), b = passes(softmax, x, v);
            for (std::size_t i = 0; i < 3; ++i) CHECK_LT(apart(a[i], b[i]), 1e-12);
        }
    }
}

TEST_CASE("lsh attention: gradients by differences") {
    LSHAttention form = drawn(4, 2);
    form.to(DType::f64);
    for (const bool causal : {false, true}) {
        const AttentionOptions options{.causal = causal, .mask = some_padding(11)};
        const TensorFunction f = [&](const Tensors& x) { return form(x[0], x[0], x[1], options); };
        const Tensors inputs{random({2, 1, 11, kWidth}, 1), random({2, 1, 11, 3}, 2)};
        test::check_passes(gradcheck(f, inputs, test::gradcheck_options()));
        test::check_passes(gradgradcheck(f, inputs, test::gradcheck_options()));
    }
}

TEST_CASE("lsh attention: the same bits for a seed, with any number of threads") {
    const auto numbers = [](int threads, std::uint64_t seed, bool causal) {
        const ThreadsGuard guard(threads);
        const LSHAttention form = drawn(8, 3, seed);
        const Tensor x = random({kBatch, kHeads, 333, kWidth}, 1, DType::f32);
        const Tensor v = random({kBatch, kHeads, 333, kValues}, 2, DType::f32);
        std::vector<std::vector<float>> all;
        for (const Tensor& result :
             passes([&](const Tensor&q,
                        const Tensor&values) { return form(q, q, values, {.causal = causal}); },
                    x, v)) {
            all.push_back(result.to_vector<float>());
        }
        return all;
    };
    for (const bool causal : {false, true}) {
        const auto one = numbers(1, 1, causal);
        for (const int threads : {2, 3, 4}) CHECK(numbers(threads, 1, causal) == one);
        CHECK(numbers(1, 2, causal) != one);
    }
}

TEST_CASE("lsh attention: the last queries of a cache, and dropout") {
    LSHAttention form = drawn(8, 2);
    form.to(DType::f64);
    const Tensor x = random({kBatch, kHeads, 45, kWidth}, 1);
    const Tensor v = random({kBatch, kHeads, 45, kValues}, 2);
    const Tensor y = form(x, x, v, {.causal = true});
    for (const std::int64_t queries : {1, 7, 44}) {
        const auto last = [&](const Tensor& of) { return views::slice(of, 2, 45 - queries, 45); };
        CHECK_LT(apart(form(last(x), x, v, {.causal = true}), last(y)), 1e-13);
        CHECK_LT(apart(form(last(x).clone(), x, v, {.causal = true}), last(y)), 1e-13);
    }
    Generator generator(5);
    Tensor mean = zeros_like(y);
    for (int i = 0; i < 200; ++i) {
        mean =
            mean + form(x, x, v, {.causal = true, .dropout = 0.5, .generator = &generator}) / 200;
    }
    CHECK_GT(generator.offset(), 0);
    CHECK_LT(sum(square(mean - y)).item(), 2e-2 * static_cast<double>(y.numel()));
    const Tensor nothing = zeros({1, 45}, DType::boolean);
    CHECK_EQ(max(abs(form(x, x, v, {.mask = nothing}))).item(), 0);
}

TEST_CASE("lsh attention: memory and operations grow with n log n, not n^2") {
    const auto costs = [](std::int64_t length, bool causal) {
        Generator generator(1);
        const LSHAttention form(16, 32, 2, generator);
        const Tensor x = random({1, 2, length, 16}, 1, DType::f32).set_requires_grad();
        const std::size_t before = memory_statistics().current;
        reset_peak_memory();
        Tape tape;
        const Tensor loss = sum(form(x, x, x, {.causal = causal}));
        double flops = 0;
        for (const auto& op : tape.entries()) flops += op->flops();
        tape.backward(loss);
        return std::pair{static_cast<double>(memory_statistics().peak - before), flops};
    };
    for (const bool causal : {false, true}) {
        const auto less = costs(1024, causal), more = costs(4096, causal);
        CHECK_LT(more.first, 4.3 * less.first);
        CHECK_LT(more.second, 4.2 * less.second);
        CHECK_GT(more.second, 4 * less.second);  // log n: the columns of the hash
    }
}

TEST_CASE("lsh attention: a MultiHeadAttention has one projection for queries and keys") {
    const auto made = [](MultiHeadAttentionConfig config, std::uint64_t seed, std::int64_t chunk) {
        Generator generator(seed);
        config.dim = 8;
        config.heads = 2;
        config.form = [&] { return std::make_unique<LSHAttention>(4, chunk, 2, generator); };
        return std::make_unique<MultiHeadAttention>(config, generator);
    };
    const Tensor x = random({2, 12, 8}, 3, DType::f32);
    for (const Positions positions : {Positions::none, Positions::rotary}) {
        for (const QKNorm norm : {QKNorm::none, QKNorm::rms}) {
            const auto attention =
                made({.causal = true, .positions = positions, .qk_norm = norm}, 1, 16);
            CHECK_EQ(attention->qkv->weight.shape(), Shape{16, 8});
            CHECK_EQ(attention->named_parameters().size(), norm == QKNorm::none ? 4 : 5);
            Tape tape;
            const Tensor y = (*attention)(x);
            tape.backward(sum(square(y)));
            for (const Tensor& parameter : attention->parameters()) {
                CHECK_GT(max(abs(parameter.grad())).item(), 0);
            }
            // Token by token the same, because all positions fit into one chunk.
            KeyValueCache cache;
            Tensors steps;
            const NoGradGuard no_grad;
            for (std::int64_t t = 0; t < 12; ++t) {
                steps.push_back((*attention)(views::slice(x, 1, t, t + 1), {.cache = &cache}));
            }
            CHECK_LT(apart(concat(steps, 1), y), 1e-6);
        }
    }
    const auto one = made({}, 1, 4), other = made({}, 2, 4);
    CHECK_GT(apart((*one)(x), (*other)(x)), 1e-3);
    other->load_state_dict(one->state_dict());  // with the random matrices
    CHECK_EQ(apart((*one)(x), (*other)(x)), 0);
    check_throws<ValueError>(
        [&] { (*one)(x, {.keys = x}); },
        "MultiHeadAttention: the queries of LSHAttention are its keys, but separate keys were "
        "given");
    check_throws<ValueError>(
        [&] { made({.kv_heads = 1}, 1, 4); },
        "MultiHeadAttention: the queries of LSHAttention are its keys, so kv_heads, key_dim and "
        "value_dim must be 2, 8 and 8, got 1, 8 and 8");
    check_throws<ValueError>(
        [&] { made({.value_dim = 3}, 1, 4); },
        "MultiHeadAttention: the queries of LSHAttention are its keys, so kv_heads, key_dim and "
        "value_dim must be 2, 8 and 8, got 2, 8 and 3");
}

TEST_CASE("lsh attention: bad input") {
    check_throws<ValueError>([] { LSHAttention(4, 0, 2); },
                             "LSHAttention: head_dim 4, chunk 0 and rounds 2 must be positive");
    LSHAttention form = drawn(4, 2);
    form.to(DType::f64);
    const Tensor x = random({1, 1, 6, kWidth}, 1), other = random({1, 1, 6, kWidth}, 2);
    const Tensor longer = random({1, 1, 9, kWidth}, 1), wide = random({1, 1, 5, 7}, 1);
    const auto run = [&](const Tensor& q, const Tensor& k, const AttentionOptions& o) {
        return [&form, q, k, o] { form(q, k, k, o); };
    };
    const std::string same =
        "LSHAttention: queries and keys must be the same vectors, because positions are sorted by "
        "them, but q and k differ";
    check_throws<ValueError>(run(x, other, {}), same);
    check_throws<ValueError>(run(x, longer, {.causal = true}), same);
    check_throws<ValueError>(run(x, longer, {}),
                             "LSHAttention: 6 queries for 9 keys: it only looks at nearby "
                             "positions, so it needs self-attention");
    check_throws<ShapeError>(run(wide, wide, {}),
                             "LSHAttention: heads of size 7, but it was made for 4");
    check_throws<ValueError>(run(x, x, {.mask = ones({6, 6}, DType::boolean)}),
                             "LSHAttention: takes masks that are the same for all queries, bool "
                             "[B, 1, 1, 6], got bool [6, 6]");
    check_throws<ShapeError>(run(x, views::reshape(x, {1, 6, 4}), {}),
                             "LSHAttention: needs q [B, H, T, D], k [B, H, S, D], v [B, H, S, E], "
                             "got [1, 1, 6, 4], [1, 6, 4], [1, 6, 4]");
    check_throws<DTypeError>(run(cast(x, DType::f32), x, {}),
                             "LSHAttention: element types differ: f32 and f64; convert with to()");
    for (const std::int64_t buckets : {0, 1, 3, -2, 1 << 21}) {
        check_throws<ValueError>(
            [&] { angular_hash(x, form.rotations, buckets); },
            fmt::format("angular_hash: buckets must be a power of 2 that needs at most 40 columns, "
                        "got {}",
                        buckets));
    }
}
