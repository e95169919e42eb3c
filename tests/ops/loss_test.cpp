// Losses and activations outside the table: no elements, large logits, certainty, kinks and
// infinities.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/softmax.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using namespace tapestry;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Loss = Tensor (*)(const Tensor& x, const Tensor& y);

Tensor with_logits(const Tensor& x, const Tensor& y) {
    return binary_cross_entropy_with_logits(x, y, {.reduction = Reduction::none});
}
Tensor with_logits_and_weight(const Tensor& x, const Tensor& y) {
    return binary_cross_entropy_with_logits(
        x, y, {.pos_weight = ones({1}), .reduction = Reduction::none});
}

struct Pair {
    double loss, slope;
};

Pair at(const std::function<Tensor(const Tensor&)>& f, double x) {
    Tape tape;
    const Tensor leaf = full({1}, x).set_requires_grad();
    const Tensor y = f(leaf);
    return {y.item(), tape.gradient(y, {leaf})[0].item()};
}

Pair at(Loss loss, double x, double y) {
    return at([&](const Tensor& leaf) { return loss(leaf, full({1}, y)); }, x);
}

}  // namespace

TEST_CASE("losses: a mean over nothing is NaN") {
    const Tensor none = ones({0, 3});
    for (const Tensor& mean :
         {mse_loss(none, none), l1_loss(none, none), huber_loss(none, none),
          smooth_l1_loss(none, none), smooth_l1_loss(none, none, Reduction::mean, 0),
          binary_cross_entropy(none, none), binary_cross_entropy_with_logits(none, none),
          kl_div(none, none), kl_div(none, none, {.reduction = KlReduction::batchmean}),
          nll_loss(none, zeros({0}, DType::i64)),
          nll_loss(ones({1, 3}), zeros({1}, DType::i64), {.ignore_index = 0})}) {
        CHECK(std::isnan(mean.item()));
    }
}

TEST_CASE("binary_cross_entropy_with_logits: no overflow, and no small loss lost next to a logit") {
    for (const Loss loss : {with_logits, with_logits_and_weight}) {
        CHECK_EQ(at(loss, 1e4, 1).loss, 0);
        CHECK_EQ(at(loss, 1e4, 0).loss, 1e4);
        CHECK_EQ(at(loss, -1e4, 0).loss, 0);
        CHECK_EQ(at(loss, -1e4, 1).loss, 1e4);
        CHECK_EQ(at(loss, -1e4, 1).slope, -1);
        CHECK_EQ(at(loss, 1e4, 0).slope, 1);
        const double small = std::exp(-20.0);
        CHECK(at(loss, 20, 1).loss == doctest::Approx(small).epsilon(1e-6));
        CHECK(at(loss, -20, 0).loss == doctest::Approx(small).epsilon(1e-6));
        CHECK(at(loss, -20, 0).slope == doctest::Approx(small).epsilon(1e-6));
    }
}

TEST_CASE("binary_cross_entropy: certain and right, certain and wrong") {
    const auto loss = [](const Tensor& x, const Tensor& y) { return binary_cross_entropy(x, y); };
    CHECK_EQ(at(loss, 1, 1).loss, 0);
    CHECK_EQ(at(loss, 0, 0).loss, 0);
    CHECK_EQ(at(loss, 0, 1).loss, 100);
    CHECK_EQ(at(loss, 1, 0).loss, 100);
    CHECK(at(loss, 0, 1).slope == doctest::Approx(-1e12));
    CHECK_EQ(at(loss, 1, 1).slope, 0);
    CHECK(std::isnan(at(loss, 1.5, 1).loss));
    CHECK(std::isnan(at(loss, -0.5, 1).loss));
}

TEST_CASE("cross_entropy: with class weights, a class that is masked costs nothing") {
    const Tensor x = tensor<double>({1, 2, -kInf, 0.5, 1, -kInf}, {2, 3}).set_requires_grad();
    const Tensor y = tensor<std::int64_t>({0, 1});
    Tape tape;
    const Tensor loss = cross_entropy(x, y, {.weight = ones({3}, DType::f64)});
    const Tensor plain = cross_entropy(x, y);
    CHECK_EQ(loss.item(), doctest::Approx(plain.item()));
    const auto slopes = tape.gradient(loss, {x}, {.retain = true})[0].to_vector<double>();
    const auto wanted = tape.gradient(plain, {x})[0].to_vector<double>();
    for (std::size_t i = 0; i < slopes.size(); ++i) {
        CHECK_EQ(slopes[i], doctest::Approx(wanted[i]));
    }
}

TEST_CASE("kl_div: what cannot happen costs nothing") {
    const auto loss = [](const Tensor& x, const Tensor& y) { return kl_div(x, y); };
    CHECK_EQ(at(loss, -3, 0).loss, 0);
    CHECK_EQ(at(loss, -3, 0).slope, 0);
    CHECK_EQ(kl_div(full({1}, -kInf), zeros({1})).item(), 0);
    Generator generator(3);
    const Tensor p = softmax(randn({4, 7}, generator, DType::f64));
    const Tensor log_q = log_softmax(randn({4, 7}, generator, DType::f64));
    CHECK_EQ(kl_div(log_softmax(log(p)), p, {.reduction = KlReduction::sum}).item(),
             doctest::Approx(0));
    CHECK_EQ(kl_div(log_q, log(p), {.log_target = true}).item(),
             doctest::Approx(kl_div(log_q, p).item()));
}

TEST_CASE("huber_loss: one value and one slope where the pieces meet; outliers pull with delta") {
    const auto loss = [](const Tensor& x, const Tensor& y) {
        return huber_loss(x, y, Reduction::mean, 0.5);
    };
    CHECK_EQ(at(loss, 2.5, 2).loss, 0.125);
    CHECK_EQ(at(loss, 2.5, 2).slope, 0.5);
    CHECK_EQ(at(loss, 1e30, 0).slope, 0.5);
    CHECK_EQ(at(loss, -1e30, 0).slope, -0.5);
    CHECK(std::isnan(at(loss, kNaN, 0).loss));
    CHECK(std::isnan(at(loss, kNaN, 0).slope));
    CHECK_EQ(at([](const Tensor& x, const Tensor& y) { return l1_loss(x, y); }, 2, 2).slope, 0);
}

TEST_CASE("nll_loss of log_softmax is cross_entropy") {
    Generator generator(4);
    const Tensor logits = randn({5, 9}, generator, DType::f64);
    const Tensor targets = tensor<std::int64_t>({0, 8, -100, 3, 3});
    CHECK_EQ(nll_loss(log_softmax(logits), targets).item(),
             doctest::Approx(cross_entropy(logits, targets).item()));
}

TEST_CASE("activations: NaN stays NaN, and no large x makes one") {
    for (const auto& f : std::vector<Tensor (*)(const Tensor&)>{
             [](const Tensor& x) { return leaky_relu(x); }, [](const Tensor& x) { return elu(x); },
             relu6, logsigmoid, mish, softsign}) {
        CHECK(std::isnan(f(full({1}, kNaN)).item()));
        for (const double x : {-1e4, 1e4}) {
            const Pair found = at(f, x);
            CHECK(std::isfinite(found.loss));
            CHECK(std::isfinite(found.slope));
        }
    }
    CHECK_EQ(elu(full({1}, -kInf)).item(), -1);
    CHECK_EQ(logsigmoid(full({1}, -1e4)).item(), -1e4);
    CHECK_EQ(elu(full({1}, 1e-6)).item<float>(), 1e-6F);
    CHECK_EQ(elu(full({1}, -1e-6)).item<float>(), doctest::Approx(-1e-6F));
}

TEST_CASE("elu: the second derivative at a large x is 0, not the NaN of 0 times e^x") {
    Tape tape;
    const Tensor x = full({1}, 1e4).set_requires_grad();
    const Tensor slope = tape.gradient(elu(x), {x}, {.create_graph = true})[0];
    CHECK_EQ(slope.item(), 1);
    CHECK_EQ(tape.gradient(slope, {x})[0].item(), 0);
}
