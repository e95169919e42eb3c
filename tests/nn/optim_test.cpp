// Optimisers against plain loops over twenty steps, and their surroundings.
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/clip.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/transformer/blocks.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;
using test::random;

namespace {

constexpr int kSteps = 20;
constexpr std::int64_t kSize = 37;

using Numbers = std::vector<double>;
// One step of a plain optimiser on p and g; steps count from 1.
using PlainStep = std::function<void(Numbers& p, const Numbers& g, int step)>;

Tensor parameter(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
    return random(shape, seed, dtype).set_requires_grad();
}

// Runs both on the same gradients; step() gets them multiplied by `scale`.
void check_against(Optimizer& optimizer, Tensor p, const PlainStep& plain, double scale = 1) {
    const double tolerance = p.dtype() == DType::f64 ? 1e-13 : 1e-5;
    Numbers expected = p.to_vector<double>();
    for (int step = 1; step <= kSteps; ++step) {
        const Tensor g = random(p.shape(), 100 + static_cast<std::uint64_t>(step), p.dtype());
        p.set_grad(g);
        optimizer.step(scale);
        Numbers scaled = g.to_vector<double>();
        for (double& value : scaled) value *= scale;
        plain(expected, scaled, step);
    }
    const auto got = p.to_vector<double>();
    for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(std::abs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
    }
    CHECK_EQ(optimizer.steps(), kSteps);
}

PlainStep plain_sgd(double lr, double momentum, bool nesterov, double decay) {
    return [=, velocity = Numbers()](Numbers& p, const Numbers& g, int) mutable {
        const bool first = velocity.empty();
        velocity.resize(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double d = g[i] + decay * p[i];
            velocity[i] = first ? d : momentum * velocity[i] + d;
            p[i] -= lr * (nesterov ? d + momentum * velocity[i] : velocity[i]);
        }
    };
}

PlainStep plain_adam(const AdamConfig& c, double decay, bool decoupled) {
    return [=, m = Numbers(), v = Numbers()](Numbers& p, const Numbers& g, int t) mutable {
        m.resize(p.size());
        v.resize(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double d = decoupled ? g[i] : g[i] + decay * p[i];
            if (decoupled) p[i] -= c.lr * decay * p[i];
            m[i] = c.beta1 * m[i] + (1 - c.beta1) * d;
            v[i] = c.beta2 * v[i] + (1 - c.beta2) * d * d;
            const double mean = m[i] / (1 - std::pow(c.beta1, t));
            const double square = v[i] / (1 - std::pow(c.beta2, t));
            p[i] -= c.lr * mean / (std::sqrt(square) + c.eps);
        }
    };
}

PlainStep plain_rmsprop(const RMSpropConfig& c) {
    return [=, v = Numbers(), mean = Numbers(), b = Numbers()](Numbers& p, const Numbers& g,
                                                               int) mutable {
        for (Numbers* moment : {&v, &mean, &b}) moment->resize(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double d = g[i] + c.weight_decay * p[i];
            v[i] = c.alpha * v[i] + (1 - c.alpha) * d * d;
            mean[i] = c.alpha * mean[i] + (1 - c.alpha) * d;
            const double variance = v[i] - (c.centered ? mean[i] * mean[i] : 0);
            b[i] = c.momentum * b[i] + d / (std::sqrt(variance) + c.eps);
            p[i] -= c.lr * b[i];
        }
    };
}

PlainStep plain_lion(const LionConfig& c) {
    return [=, m = Numbers()](Numbers& p, const Numbers& g, int) mutable {
        m.resize(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double ahead = c.beta1 * m[i] + (1 - c.beta1) * g[i];
            p[i] -= c.lr * (c.weight_decay * p[i] + (ahead > 0 ? 1 : -1));
            m[i] = c.beta2 * m[i] + (1 - c.beta2) * g[i];
        }
    };
}

}  // namespace

TEST_CASE("RMSprop: plain, centred, momentum, decay; Lion") {
    for (const DType dtype : {DType::f64, DType::f32}) {
        for (const double momentum : {0.0, 0.9}) {
            for (const bool centered : {false, true}) {
                CAPTURE(dtype);
                CAPTURE(momentum);
                CAPTURE(centered);
                const RMSpropConfig config{.lr = 0.01,
                                           .alpha = 0.9,
                                           .eps = 0.1,
                                           .momentum = momentum,
                                           .centered = centered,
                                           .weight_decay = 0.1};
                const Tensor p = parameter({kSize}, dtype);
                RMSprop optimizer(Tensors{p}, config);
                check_against(optimizer, p, plain_rmsprop(config), 0.5);
            }
        }
        const LionConfig config{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1};
        const Tensor p = parameter({kSize}, dtype);
        Lion optimizer(Tensors{p}, config);
        check_against(optimizer, p, plain_lion(config), 0.5);
    }
}

TEST_CASE("SGD: plain, momentum, Nesterov, decay") {
    for (const DType dtype : {DType::f64, DType::f32}) {
        for (const double momentum : {0.0, 0.9}) {
            for (const bool nesterov : {false, true}) {
                if (nesterov && momentum == 0) continue;
                for (const double decay : {0.0, 0.1}) {
                    CAPTURE(dtype);
                    CAPTURE(momentum);
                    CAPTURE(nesterov);
                    CAPTURE(decay);
                    const Tensor p = parameter({kSize}, dtype);
                    SGD optimizer({{.parameters = {p}, .weight_decay = decay}},
                                  {.lr = 0.05, .momentum = momentum, .nesterov = nesterov});
                    check_against(optimizer, p, plain_sgd(0.05, momentum, nesterov, decay));
                }
            }
        }
    }
}

TEST_CASE("Adam and AdamW") {
    const AdamConfig config{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6};
    for (const DType dtype : {DType::f64, DType::f32}) {
        for (const double decay : {0.0, 0.1}) {
            CAPTURE(dtype);
            CAPTURE(decay);
            const Tensor p = parameter({kSize}, dtype), q = parameter({3, 5}, dtype);
            Adam adam({{.parameters = {p}, .weight_decay = decay}}, config);
            check_against(adam, p, plain_adam(config, decay, false));
            AdamW adamw({{.parameters = {q}, .weight_decay = decay}}, config);
            check_against(adamw, q, plain_adam(config, decay, true));
        }
    }
}

TEST_CASE("optimizer: the decay of the configuration; AdamW's is 0.01 unless it says otherwise") {
    const AdamConfig config{.lr = 0.02};
    const AdamConfig half{.lr = 0.02, .weight_decay = 0.5};
    const Tensor p = parameter({kSize}, DType::f64), q = parameter({kSize}, DType::f64);
    const Tensor r = parameter({kSize}, DType::f64), s = parameter({kSize}, DType::f64);
    AdamW usual(Tensors{p}, config);
    check_against(usual, p, plain_adam(config, 0.01, true));
    Adam without(Tensors{q}, config);
    check_against(without, q, plain_adam(config, 0, false));
    AdamW given({{.parameters = {r}}}, half);
    check_against(given, r, plain_adam(config, 0.5, true));
    SGD sgd({{.parameters = {s}}}, {.lr = 0.05, .weight_decay = 0.1});
    check_against(sgd, s, plain_sgd(0.05, 0, false, 0.1));
}

TEST_CASE("optimizer: the gradient's scale acts before moments and decay") {
    const AdamConfig config{.lr = 0.02};
    const Tensor p = parameter({kSize}, DType::f64), q = parameter({kSize}, DType::f64);
    AdamW adamw({{.parameters = {p}, .weight_decay = 0.1}}, config);
    check_against(adamw, p, plain_adam(config, 0.1, true), 0.01);
    SGD sgd({{.parameters = {q}, .weight_decay = 0.1}}, {.lr = 0.05, .momentum = 0.9});
    check_against(sgd, q, plain_sgd(0.05, 0.9, false, 0.1), 0.01);
}

TEST_CASE("optimizer: groups have their own rates and decays; rates may change") {
    const Tensor p = parameter({3}, DType::f64), q = parameter({3}, DType::f64);
    const auto start = p.to_vector<double>();
    SGD optimizer({{.parameters = {p}}, {.parameters = {q}, .weight_decay = 0.5, .lr_factor = 0.1}},
                  {.lr = 1});
    CHECK_EQ(optimizer.parameters().size(), 2);
    Tensor a = p, b = q;
    a.set_grad(ones({3}, DType::f64));
    b.set_grad(ones({3}, DType::f64));
    optimizer.set_lr(0.5);
    CHECK_EQ(optimizer.lr(), 0.5);
    optimizer.step();
    for (std::int64_t i = 0; i < 3; ++i) {
        const double x = start[static_cast<std::size_t>(i)];
        CHECK_EQ(p.at({i}), Approx(x - 0.5));
        CHECK_EQ(q.at({i}), Approx(x - 0.05 * (1 + 0.5 * x)));
    }
    optimizer.zero_grad();
    CHECK_FALSE(p.grad().defined());
}

TEST_CASE("optimizer: a parameter without a gradient stays as it is, and its moments stay young") {
    const AdamConfig config{.lr = 0.1};
    Tensor p = parameter({2}, DType::f64), late = parameter({2}, DType::f64);
    const Tensor alone = parameter({2}, DType::f64);
    AdamW optimizer({{.parameters = {p, late}, .weight_decay = 0.1}}, config);
    for (int step = 0; step < 5; ++step) {
        p.set_grad(random({2}, 7));
        optimizer.step();
    }
    CHECK_EQ(late.to_vector<double>(), alone.to_vector<double>());  // no decay either
    AdamW fresh({{.parameters = {alone}, .weight_decay = 0.1}}, config);
    for (Tensor x : {late, alone}) x.set_grad(random({2}, 8));
    optimizer.step();
    fresh.step();
    CHECK_EQ(late.to_vector<double>(), alone.to_vector<double>());
}

TEST_CASE("optimizer: gradients that are not dense, and a step within a tape") {
    Tensor p = parameter({2, 3}, DType::f64);
    const auto start = p.to_vector<double>();
    p.set_grad(views::transpose(tensor<double>({{1, 4}, {2, 5}, {3, 6}}), 0, 1));
    SGD optimizer({{.parameters = {p}}}, {.lr = 1});
    Tape tape;
    const Tensor y = sum(p * p);
    optimizer.step();
    CHECK_EQ(p.at({1, 2}), start[5] - 6);
    CHECK_EQ(tape.entries().size(), 2);
    CHECK_THROWS_AS(tape.backward(y), AutogradError);  // p has changed
}

TEST_CASE("optimizer: what is refused") {
    const Tensor p = parameter({2}, DType::f32);
    const Tensor copy = p;
    check_throws<ValueError>(
        [&] { SGD({{.parameters = {ones({2})}}}, {}); },
        "optimizer: parameter \"0\" [2] does not require a gradient (set_requires_grad)");
    check_throws<ValueError>(
        [&] {
            SGD({{.parameters = {p}}, {.parameters = {copy}}}, {});
        },
        "optimizer: parameter \"1\" [2] is listed twice");
    check_throws<ValueError>([&] { SGD({{.parameters = {p}}}, {.lr = -1}); },
                             "optimizer: learning rate must be finite and >= 0, got -1");
    CHECK_THROWS_AS(SGD({{.parameters = {p}}}, {.lr = NAN}), ValueError);
    check_throws<ValueError>([&] { SGD({{.parameters = {p}, .weight_decay = -1}}, {}); },
                             "optimizer: weight decay -1 and learning rate factor 1 must be finite "
                             "numbers >= 0");
    check_throws<ValueError>([&] { SGD({{.parameters = {p}}}, {.momentum = 1}); },
                             "SGD: momentum must be in [0, 1), got 1");
    check_throws<ValueError>([&] { SGD({{.parameters = {p}}}, {.nesterov = true}); },
                             "SGD: nesterov needs momentum");
    CHECK_THROWS_AS(AdamW({{.parameters = {p}}}, {.beta1 = 1}), ValueError);
    CHECK_THROWS_AS(AdamW({{.parameters = {p}}}, {.beta2 = -0.1}), ValueError);
    check_throws<ValueError>([&] { AdamW({{.parameters = {p}}}, {.eps = NAN}); },
                             "AdamW: eps must be finite and >= 0, got nan");
    check_throws<ValueError>([&] { RMSprop(Tensors{p}, {.alpha = 1}); },
                             "RMSprop: alpha must be in [0, 1), got 1");
    CHECK_THROWS_AS(RMSprop(Tensors{p}, {.momentum = -1}), ValueError);
    check_throws<ValueError>([&] { Lion(Tensors{p}, {.beta2 = 1}); },
                             "Lion: beta2 must be in [0, 1), got 1");
    AdamW optimizer({{.parameters = {p}}}, {});
    CHECK_THROWS_AS(optimizer.set_lr(INFINITY), ValueError);
    check_throws<ValueError>(
        [&] {
            SGD({{.parameters = {{"w", p}, {"w", ones({3}).set_requires_grad()}}}}, {});
        },
        "optimizer: two parameters have the name \"w\"; add a prefix to the names of each module");
}

TEST_CASE("decay_groups: matrices decay, vectors do not, ties count once") {
    EncoderLayer block({.dim = 4, .heads = 2});
    const auto groups = decay_groups(block, 0.25);
    REQUIRE_EQ(groups.size(), 2);
    CHECK_EQ(groups[0].weight_decay, 0.25);
    CHECK_EQ(groups[1].weight_decay, 0);
    CHECK_EQ(groups[0].parameters.size(), 4);
    CHECK_EQ(groups[1].parameters.size(), 8);
    for (const auto& [name, p] : groups[0].parameters) CHECK_EQ(p.rank(), 2);
    for (const auto& [name, p] : groups[1].parameters) CHECK_EQ(p.rank(), 1);
    CHECK_EQ(groups[0].parameters.front().first, "attention.qkv.weight");
}

TEST_CASE("clip_grad_norm") {
    Tensor a = parameter({2}, DType::f32), b = parameter({1}, DType::f64);
    const Tensor none = parameter({5}, DType::f32);
    a.set_grad(tensor<float>({3, 4}));
    b.set_grad(tensor<double>({12}));
    CHECK_EQ(grad_norm({a, none, b}), 13);
    CHECK_EQ(clip_grad_norm({a, none, b}, 13), 13);
    CHECK_EQ(a.grad().to_vector<double>(), Numbers{3, 4});
    CHECK_EQ(clip_grad_norm({a, none, b}, 6.5), 13);
    CHECK_EQ(a.grad().to_vector<double>(), Numbers{1.5, 2});
    CHECK_EQ(b.grad().to_vector<double>(), Numbers{6});
    CHECK_EQ(grad_norm({}), 0);
    CHECK_EQ(clip_grad_norm({none}, 1), 0);
    check_throws<ValueError>([&] { clip_grad_norm({a}, 0); },
                             "clip_grad_norm: max norm must be positive, got 0");
    CHECK_THROWS_AS(clip_grad_norm({a}, NAN), ValueError);
    CHECK_THROWS_AS(clip_grad_norm({ones({2})}, 1), AutogradError);
}

TEST_CASE("clip_grad_norm: squares outside the range of f64, infinite norms") {
    Tensor a = parameter({2}, DType::f64), b = parameter({2}, DType::f32);
    for (const double size : {1e200, 1e-200, 1e307, 1e-307}) {
        a.set_grad(tensor<double>({3 * size, -4 * size}));
        CHECK_EQ(grad_norm({a}), Approx(5 * size).epsilon(1e-14));
        CHECK_EQ(clip_grad_norm({a}, size), Approx(5 * size).epsilon(1e-14));
        CHECK_EQ(a.grad().at({0}), Approx(0.6 * size).epsilon(1e-14));
        CHECK_EQ(a.grad().at({1}), Approx(-0.8 * size).epsilon(1e-14));
    }
    b.set_grad(full({2}, 3e38));
    a.set_grad(full({2}, 4e250, DType::f64));
    CHECK_EQ(clip_grad_norm({a, b}, 1), Approx(std::sqrt(2) * 4e250).epsilon(1e-14));
    Tensor many = parameter({100000}, DType::f32);
    many.set_grad(full({100000}, 3e38));  // 1 / norm is subnormal in f32
    clip_grad_norm({many}, 1);
    CHECK_EQ(many.grad().at({7}), Approx(1 / std::sqrt(1e5)).epsilon(1e-6));

    b.set_grad(tensor<float>({1, INFINITY}));
    check_throws<ValueError>([&] { clip_grad_norm({b}, 1, true); },
                             "clip_grad_norm: the norm of the gradients must be finite, got inf");
    CHECK_EQ(b.grad().at({0}), 1);
    CHECK_EQ(clip_grad_norm({b}, 1), INFINITY);
    CHECK_EQ(b.grad().at({0}), 0);
    CHECK(std::isnan(b.grad().at({1})));
    b.set_grad(tensor<float>({1, NAN}));
    CHECK(std::isnan(clip_grad_norm({b}, 1)));
    CHECK_EQ(b.grad().at({0}), 1);
}

TEST_CASE("AdamW: after an overflow a parameter hardly moves, as docs/nan_and_limits.md says") {
    for (const double once : {1.0, 1e20, 1e21}) {
        Tensor x = parameter({1}, DType::f32);
        x.fill_(0);
        AdamW optimizer(Tensors{x}, {.lr = 1e-3});
        for (int step = 0; step <= 1000; ++step) {
            x.set_grad(full({1}, step == 0 ? once : 1));
            optimizer.step();
        }
        const double moved = -x.item();
        CHECK(std::isfinite(moved));
        if (once == 1) {
            CHECK_GT(moved, 0.9);
        } else {
            CHECK_LT(moved, 0.01);
        }
    }
}

TEST_CASE("clip_grad_value") {
    Tensor a = parameter({4}, DType::f32), b = parameter({1, 2}, DType::f64);
    const Tensor none = parameter({5}, DType::f32);
    a.set_grad(tensor<float>({3, -4, 0.25F, NAN}));
    b.set_grad(tensor<double>({{-0.5, 12}}));
    clip_grad_value({a, none, b}, 0.5);
    CHECK_EQ(b.grad().to_vector<double>(), Numbers{-0.5, 0.5});
    const auto limited = a.grad().to_vector<double>();
    CHECK_EQ(Numbers(limited.begin(), limited.begin() + 3), Numbers{0.5, -0.5, 0.25});
    CHECK(std::isnan(limited[3]));
    CHECK_FALSE(none.grad().defined());
    check_throws<ValueError>([&] { clip_grad_value({a}, 0); },
                             "clip_grad_value: max value must be positive, got 0");
}
