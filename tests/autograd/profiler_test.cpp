// The profiler: its counts match the computation, sums add up, and time is charged to the right op.
#include <tapestry/autograd/op.h>
#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/autograd/support.h>

#include <chrono>
#include <thread>

using namespace tapestry;
using test::leaf;

namespace {

// 1 GFLOP/s, and 1 GB/s beyond 1 KB.
const MachinePeak kPeak{.flops_per_second = 1e9, .levels = {{512, 4e9}, {1024, 1e9}}};

ProfileRow row_of(const Profiler& profiler, const std::string& op) {
    for (const ProfileRow& row : by_op(profiler.rows())) {
        if (row.op == op) return row;
    }
    FAIL("no row of " << op);
    return {};
}

Tensor random_leaf(const Shape& shape) {
    Generator generator(7);
    return randn(shape, generator).set_requires_grad();
}

void sleep_for(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("roofline: what is slower, computing or moving, is the least time") {
    CHECK_EQ(kPeak.least_seconds(3e9, 1e9), 3);
    CHECK_EQ(kPeak.least_seconds(1e9, 2e9), 2);
    // Up to 512 B of numbers read and written, the cache's rate applies.
    CHECK_EQ(kPeak.bytes_per_second(0), 4e9);
    CHECK_EQ(kPeak.bytes_per_second(2047), 4e9);
    CHECK_EQ(kPeak.bytes_per_second(2048), 1e9);
    CHECK_EQ(MachinePeak{}.least_seconds(1, 1), 0);
}

TEST_CASE("profiler: a product's FLOPs and bytes, and twice as many FLOPs on the way back") {
    const Tensor x = random_leaf({6, 5, 10});
    const Tensor weight = random_leaf({20, 10});
    Profiler profiler(kPeak);
    Tape tape;
    const Tensor y = linear(x, weight);
    tape.gradient(y, {x, weight}, {.cotangent = ones_like(y)});
    const ProfileRow row = row_of(profiler, "linear");
    CHECK_EQ(row.forward.calls, 1);
    CHECK_EQ(row.forward.flops, 2 * 30 * 10 * 20);
    CHECK_EQ(row.forward.bytes, 4 * (300 + 200 + 600));
    CHECK_EQ(row.forward.least, doctest::Approx(12000 / 1e9));
    CHECK_EQ(row.backward.calls, 1);
    CHECK_EQ(row.backward.flops, 2 * row.forward.flops);
    CHECK_EQ(row.backward.bytes, 4 * (600 + 300 + 200 + 300 + 200));  // g, x, W; dx, dW
    CHECK_EQ(row.total().flops, 3 * row.forward.flops);
}

TEST_CASE("profiler: a product with one gradient to find is one product on the way back") {
    Generator generator(1);
    const Tensor data = randn({6, 10}, generator);
    const Tensor weight = random_leaf({20, 10});
    const Tensor bias = random_leaf({20});
    Profiler profiler(kPeak);
    Tape tape;
    const Tensor y = linear(data, weight, bias);
    tape.gradient(y, {weight, bias}, {.cotangent = ones_like(y)});
    const ProfileRow row = row_of(profiler, "linear");
    CHECK_EQ(row.backward.flops, row.forward.flops);
}

TEST_CASE("profiler: attention is two products over the pairs that are seen, and four back") {
    const Shape shape{2, 3, 8, 4};
    const Tensor q = random_leaf(shape), k = random_leaf(shape), v = random_leaf(shape);
    Profiler profiler(kPeak);
    Tape tape;
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
    tape.gradient(y, {q, k, v}, {.cotangent = ones_like(y)});
    const ProfileRow row = row_of(profiler, "attention");
    const double pairs = 8 * 9 / 2 * 2 * 3;
    CHECK_EQ(row.forward.flops, 4 * pairs * 4);
    CHECK_EQ(row.backward.flops, 8 * pairs * 4);
    const double size = 4 * 2 * 3 * 8 * 4;
    CHECK_EQ(row.forward.bytes, 4 * size);
    // g, and at most q, k, v, y again (and a scalar for the absent mask), and three gradients;
    // stored probabilities do not count.
    CHECK_GE(row.backward.bytes, 4 * size);
    CHECK_LE(row.backward.bytes, 8 * size + 4);
}

TEST_CASE("profiler: views move nothing, rows looked up only themselves") {
    const Tensor table = random_leaf({1000, 8});
    const Tensor ids = tensor<std::int64_t>({5, 999});
    Profiler profiler(kPeak);
    Tape tape;
    const Tensor rows = embedding(table, ids);
    const Tensor turned = transpose(rows, 0, 1);
    const Tensor y = turned * turned;
    CHECK_EQ(row_of(profiler, "embedding").forward.bytes, 4 * 16 + 4 * 16);
    CHECK_EQ(row_of(profiler, "transpose").forward.bytes, 0);
    CHECK_EQ(row_of(profiler, "mul").forward.bytes, 4 * 2 * 16);  // read once
    tape.gradient(y, {table}, {.cotangent = ones_like(y)});
    CHECK_EQ(row_of(profiler, "transpose").backward.bytes, 0);
    CHECK_GE(row_of(profiler, "embedding").backward.bytes, 4 * 8000);  // the whole gradient
}

TEST_CASE("profiler: sums over operations and over modules are the same whole") {
    const Tensor x = leaf({1, 2, 3});
    Profiler profiler(kPeak);
    {
        Tape tape;
        Tensor y = x;
        for (const char* layer : {"0", "1"}) {
            const ModuleScope blocks("blocks");
            const ModuleScope number(layer);
            const ModuleScope part("norm");
            y = exp(y) * x;
        }
        tape.backward(sum(y));
    }
    profiler.mark("end");
    const ProfiledWork all = sum_of(profiler.rows()).total();
    CHECK_GT(all.seconds, 0);
    for (const auto& rows : {by_op(profiler.rows()), by_module(profiler.rows()),
                             by_module(profiler.rows(), 1), by_module(profiler.rows(), 2)}) {
        const ProfiledWork sum = sum_of(rows).total();
        CHECK_EQ(sum.calls, all.calls);
        CHECK_EQ(sum.flops, all.flops);
        CHECK_EQ(sum.bytes, all.bytes);
        CHECK_EQ(sum.seconds, doctest::Approx(all.seconds));
        CHECK_EQ(sum.least, doctest::Approx(all.least));
    }
    for (const ProfileRow& row : by_module(profiler.rows())) {
        if (row.module == "blocks.*.norm") CHECK_EQ(row.forward.calls, 4);
        CHECK(row.op.empty());
    }
    CHECK_EQ(row_of(profiler, "exp").forward.calls, 2);
    CHECK_EQ(row_of(profiler, "exp").backward.calls, 2);
    CHECK_EQ(row_of(profiler, "accumulate").backward.calls, 5);  // before each rule
    REQUIRE_EQ(profiler.outside().size(), 1);
    CHECK_EQ(profiler.outside()[0].op, "end");
}

TEST_CASE("profiler: layers fold, and deeper parts are cut") {
    CHECK_EQ(folded_path("blocks.3.attention.qkv"), "blocks.*.attention.qkv");
    CHECK_EQ(folded_path("blocks.12.attention.qkv", 3), "blocks.*.attention");
    CHECK_EQ(folded_path("blocks.3", 1), "blocks");
    CHECK_EQ(folded_path("h2.0.1x", 9), "h2.*.1x");
    CHECK_EQ(folded_path("", 3), "");
}

TEST_CASE("profiler: time goes to whom it was spent on") {
    constexpr double kNap = 0.02;
    const Tensor x = leaf({1});
    const auto start = std::chrono::steady_clock::now();
    Profiler profiler(kPeak);
    sleep_for(kNap);
    profiler.mark("data", 5, 7);
    Tape tape;
    const auto sleepy = [&](const Tensor& t) {
        sleep_for(kNap);
        return t * 2.0;
    };
    const auto rule = [](const Tensor& g, const Tensor&) {
        sleep_for(3 * kNap);
        return Tensors{g * 2.0};
    };
    const Tensor y = test::with_rule(x, sleepy, rule);
    tape.backward(sum(y));
    profiler.mark("end");
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    const ProfileRow row = row_of(profiler, "rule");
    CHECK_GE(row.forward.seconds, kNap);
    CHECK_GE(row.backward.seconds, 3 * kNap);
    const auto outside = profiler.outside();
    REQUIRE_EQ(outside.size(), 2);
    CHECK_EQ(outside[0].op, "data");
    CHECK_GE(outside[0].forward.seconds, kNap);
    CHECK_EQ(outside[0].forward.flops, 5);
    CHECK_EQ(outside[0].forward.bytes, 7);
    // In total, no more time is charged than has passed.
    CHECK_LE(sum_of(profiler.rows()).total().seconds + sum_of(outside).total().seconds,
             passed.count());

    profiler.restart();
    CHECK(profiler.rows().empty());
    CHECK(profiler.outside().empty());
    exp(x);
    CHECK_EQ(row_of(profiler, "exp").forward.calls, 1);
}

TEST_CASE("profiler: what is recomputed is seen again") {
    const Tensor x = leaf({1, 2});
    Profiler profiler(kPeak);
    Tape tape;
    const Tensor y = recompute([](const Tensor& t) { return sin(exp(t)); }, x);
    tape.backward(sum(y));
    CHECK_EQ(row_of(profiler, "exp").forward.calls, 2);
    CHECK_EQ(row_of(profiler, "exp").backward.calls, 1);
}
