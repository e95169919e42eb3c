// Modules for images: initialization, errors, and when batch norm updates its running statistics.
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/layers/convolution.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;
using test::random;

namespace {

using Numbers = std::vector<double>;

// The statistics that a BatchNorm keeps, as numbers.
struct Kept {
    explicit Kept(const BatchNorm& norm)
        : mean(norm.running_mean.to_vector<double>()),
          var(norm.running_var.to_vector<double>()),
          count(norm.num_batches_tracked.item<std::int64_t>()) {}
    bool operator==(const Kept&) const = default;
    Numbers mean, var;
    std::int64_t count;
};

Tensor images(std::uint64_t seed, std::int64_t batch = 6) {
    return random({batch, 3, 4, 5}, seed, DType::f32);
}

// The statistics after training on these batches, one after another.
Kept after(const Tensors& batches) {
    const BatchNorm2d norm(3);
    for (const Tensor& x : batches) norm(x);
    return Kept(norm);
}

Tensor loss_of(const BatchNorm2d& norm, const Tensor& x) { return sum(square(norm(x)) * x); }

}  // namespace

TEST_CASE("Conv1d, Conv2d: how they begin, and how they are described") {
    Generator generator(1);
    const Conv2d images_of(12, 8, {3, 5}, {.stride = 2, .groups = 4}, generator);
    const double bound = 1 / std::sqrt(3 * 3 * 5.0);
    for (const Tensor& p : {images_of.weight, images_of.bias}) {
        const double most = max(abs(p)).item(), mean_size = mean(abs(p)).item();
        CHECK_LE(most, bound);
        CHECK_GT(most, 0.7 * bound);
        CHECK(mean_size == Approx(bound / 2).epsilon(0.4));
    }
    CHECK_EQ(images_of.settings(), "12 -> 8, 3 x 5, stride 2, groups 4");
    CHECK_EQ(Conv2d(1, 2, 3, {.padding = {0, 1}, .dilation = 2}, false).settings(),
             "1 -> 2, 3 x 3, padding 0 x 1, dilation 2, no bias");
    const Conv1d rows_of(2, 3, 4, {}, generator);
    CHECK_EQ(rows_of.settings(), "2 -> 3, 4");
    CHECK_EQ(rows_of.weight.shape(), Shape{3, 2, 4});
    CHECK_EQ(max(abs(rows_of.weight)).item() <= 1 / std::sqrt(8.0), true);
    CHECK_EQ(Conv1d(1, 1, 1, {}, false).parameters().size(), 1);
}

TEST_CASE("a network for images, by Sequential") {
    Generator generator(1);
    Sequential network;
    network.add<Conv2d>(1, 4, 3, Conv2dOptions{.padding = 1}, generator);
    network.add<BatchNorm2d>(4);
    network.add<MaxPool2d>(2);
    network.add<AvgPool2d>(3, Pool2dOptions{.stride = 1, .padding = 1}, false);
    network.add<GroupNorm>(2, 4);
    network.add<Flatten>();
    CHECK_EQ(network(random({2, 1, 8, 6}, 1, DType::f32)).shape(), Shape{2, 48});
    CHECK_EQ(network[2].settings(), "2");
    CHECK_EQ(network[3].settings(), "3, stride 1, padding 1, padding does not count");
    CHECK_EQ(network[4].settings(), "2 groups, 4");
}

TEST_CASE("modules for images: what they refuse") {
    const Tensor row = random({2, 3}, 1, DType::f32);
    check_throws<ValueError>([] { Conv2d(0, 2, 3); },
                             "Conv2d: sizes and kernel must be positive, got 0 -> 2, kernel 3");
    check_throws<ValueError>([] { Conv2d(4, 6, 3, {.groups = 4}); },
                             "Conv2d: 4 groups do not divide 4 -> 6 channels");
    check_throws<ValueError>(
        [] {
            Conv2d(4, 6, 3, {.stride = {1, 0}});
        },
        "Conv2d: stride must be positive, got 1 x 0");
    check_throws<ValueError>([] { Conv1d(4, 6, 3, {.padding = -1}); },
                             "Conv1d: padding must be >= 0, got -1");
    check_throws<ValueError>([] { Conv1d(4, 6, 3, {.dilation = 0}); },
                             "Conv1d: dilation must be positive, got 0");
    check_throws<ValueError>([] { BatchNorm2d(0); },
                             "BatchNorm2d: channels must be positive, got 0");
    check_throws<ValueError>([] { BatchNorm1d(2, {.momentum = 2}); },
                             "BatchNorm1d: momentum must be in [0, 1], got 2");
    check_throws<ValueError>([] { BatchNorm1d(2, {.eps = -1}); },
                             "BatchNorm1d: eps must be >= 0, got -1");
    check_throws<ShapeError>([&] { BatchNorm2d(3)(row); },
                             "BatchNorm2d: needs an input [N, C, H, W], got [2, 3]");
    check_throws<ShapeError>([&] { BatchNorm1d(3)(images(1)); },
                             "BatchNorm1d: needs an input [N, C] or [N, C, L], got [6, 3, 4, 5]");
    check_throws<ValueError>([] { GroupNorm(2, 3); },
                             "GroupNorm: 2 groups do not divide 3 channels");
    check_throws<ValueError>([] { GroupNorm(1, 3, -1); }, "GroupNorm: eps must be >= 0, got -1");
    check_throws<ShapeError>([] { Flatten()(random({3}, 1)); },
                             "Flatten: needs an input [N, C, ...], got [3]");
}

// ---- running statistics -------------------------------------------------------------------------

TEST_CASE("BatchNorm: running statistics are a share of each batch's, the variance unbiased") {
    BatchNorm2d norm(3, {.momentum = 0.25});
    norm.to(DType::f64);
    Numbers mean_wanted(3, 0), var_wanted(3, 1);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const Tensor x = random({4, 3, 2, 5}, seed);
        norm(x);
        const auto mean_of = mean(x, {0, 2, 3}).to_vector<double>();
        const auto var_of = var(x, {0, 2, 3}).to_vector<double>();
        for (std::size_t c = 0; c < 3; ++c) {
            mean_wanted[c] = 0.75 * mean_wanted[c] + 0.25 * mean_of[c];
            var_wanted[c] = 0.75 * var_wanted[c] + 0.25 * var_of[c];
        }
    }
    const Kept kept(norm);
    CHECK_EQ(kept.count, 3);
    for (std::size_t c = 0; c < 3; ++c) {
        CHECK(kept.mean[c] == Approx(mean_wanted[c]).epsilon(1e-12));
        CHECK(kept.var[c] == Approx(var_wanted[c]).epsilon(1e-12));
    }
}

TEST_CASE("BatchNorm: evaluation uses the running statistics and leaves them") {
    BatchNorm2d norm(3);
    norm(images(1));
    const Kept kept(norm);
    norm.eval();
    const Tensor one = images(2, 1), many = images(2, 6);
    norm(many);
    CHECK(Kept(norm) == kept);
    // An image gives the same result by itself, even with one pixel, as within a batch.
    const auto alone = norm(one).to_vector<float>(), among = norm(many).to_vector<float>();
    CHECK(std::equal(alone.begin(), alone.end(), among.begin()));
    const Numbers pixel = norm(random({1, 3, 1, 1}, 3, DType::f32)).to_vector<double>();
    CHECK(std::isfinite(pixel[0]));
    norm.train();
    norm(many);
    CHECK(Kept(norm).count == 2);
}

TEST_CASE("BatchNorm: statistics move once per forward pass, not again under recompute") {
    const Tensor x = images(1);
    const BatchNorm2d plain(3), again(3);
    Tape tape;
    tape.backward(loss_of(plain, x));
    tape.backward(recompute([&](const Tensor& h) { return loss_of(again, h); }, x));
    CHECK(Kept(again) == Kept(plain));
    CHECK_EQ(Kept(again).count, 1);
    CHECK_EQ(again.weight.grad().to_vector<float>(), plain.weight.grad().to_vector<float>());
}

TEST_CASE("BatchNorm: gradcheck and compare_precisions leave the statistics") {
    BatchNorm2d norm(3);
    norm.to(DType::f64);
    const Kept before(norm);
    const Tensor x = random({2, 3, 2, 2}, 1).set_requires_grad();
    NamedTensors leaves = norm.named_parameters();
    leaves.emplace_back("x", x);
    CHECK(gradcheck([&] { return norm(x); }, leaves));
    CHECK(gradgradcheck([&] { return norm(x); }, leaves));
    CHECK(Kept(norm) == before);
    norm(x);
    CHECK_EQ(Kept(norm).count, 1);
}

TEST_CASE("BatchNorm: micro-batches and batches of a step move the statistics in their order") {
    const Tensors leaves{images(1), images(2), images(3), images(4), images(5), images(6)};
    const Kept wanted = after(leaves);
    for (const int threads : {1, 2, 3}) {
        const ThreadsGuard guard(threads);
        BatchNorm2d norm(3);
        SGD optimizer(norm.parameters(), {.lr = 0});
        TrainStep step(optimizer, {.accumulate = 2, .micro_batches = 3});
        std::size_t next = 0;
        step.take(1, 0, [&] { return loss_of(norm, leaves[next++]); });
        CHECK(Kept(norm) == wanted);
        CHECK_EQ(Kept(norm).count, 6);
    }
    const Tensors turned{leaves.rbegin(), leaves.rend()};
    CHECK_FALSE(after(turned) == wanted);
}

TEST_CASE("BatchNorm: statistics are saved and loaded, and shared with who holds the buffers") {
    const test::Scratch scratch;
    BatchNorm1d norm(3), other(3);
    const NamedTensors held = other.named_buffers();
    norm(random({5, 3}, 1, DType::f32));
    save(scratch / "norm.safetensors", norm);
    load(scratch / "norm.safetensors", other);
    CHECK(Kept(other) == Kept(norm));
    CHECK_EQ(held.size(), 3);
    CHECK_EQ(held[0].second.to_vector<double>(), Kept(norm).mean);
    CHECK_EQ(other.parameters().size(), 2);
}
