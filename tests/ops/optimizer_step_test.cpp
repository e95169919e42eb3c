// Optimiser steps against plain loops, f32 and f64, on every ISA and for several thread counts.
#include <doctest/doctest.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/optimizer_step.h>

#include <cmath>

using namespace tapestry;

namespace {

// Runs f(dtype) with every ISA and dtype.
template <class F>
void everywhere(F f) {
    const Isa isa_before = current_isa();
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        for (const DType dtype : {DType::f32, DType::f64}) {
            CAPTURE(name_of(isa));
            CAPTURE(name_of(dtype));
            f(dtype);
        }
    }
    set_isa(isa_before);
}

void check_close(const Tensor& x, const std::vector<double>& expected) {
    const auto got = x.to_vector<double>();
    REQUIRE(got.size() == expected.size());
    const double allowed = x.dtype() == DType::f32 ? 2e-6 : 1e-14;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        wrong +=
            !(std::abs(got[i] - expected[i]) <= allowed * std::max(1.0, std::abs(expected[i])));
    }
    CHECK(wrong == 0);
}

// The paper's loop, with PyTorch's weight_decay.
struct PlainAdam {
    std::vector<double> p, m, v;
    void step(const std::vector<double>& grad, const AdamUpdate& u) {
        for (std::size_t i = 0; i < p.size(); ++i) {
            double g = grad[i] * u.grad_scale;
            if (u.decoupled) {
                p[i] -= u.lr * u.weight_decay * p[i];
            } else {
                g += u.weight_decay * p[i];
            }
            m[i] = u.beta1 * m[i] + (1 - u.beta1) * g;
            v[i] = u.beta2 * v[i] + (1 - u.beta2) * g * g;
            const auto t = static_cast<double>(u.step);
            const double m_hat = m[i] / (1 - std::pow(u.beta1, t));
            const double v_hat = v[i] / (1 - std::pow(u.beta2, t));
            p[i] -= u.lr * m_hat / (std::sqrt(v_hat) + u.eps);
        }
    }
};

void check_adam(DType dtype, const Shape& shape, AdamUpdate update) {
    Generator generator(5);
    Tensor p = randn(shape, generator, dtype);
    Tensor m = zeros(shape, dtype);
    Tensor v = zeros(shape, dtype);
    PlainAdam plain{p.to_vector<double>(), m.to_vector<double>(), v.to_vector<double>()};
    for (int step = 1; step <= 3; ++step) {
        const Tensor grad = randn(shape, generator, dtype);
        update.step = step;
        adamw_update_(p, grad, m, v, update);
        plain.step(grad.to_vector<double>(), update);
    }
    check_close(p, plain.p);
    check_close(m, plain.m);
    check_close(v, plain.v);
}

struct PlainSgd {
    std::vector<double> p, b;
    void step(const std::vector<double>& grad, const SgdUpdate& u) {
        for (std::size_t i = 0; i < p.size(); ++i) {
            double g = grad[i] * u.grad_scale + u.weight_decay * p[i];
            if (u.momentum != 0) {
                b[i] = u.first ? u.momentum * b[i] + g : u.momentum * b[i] + (1 - u.dampening) * g;
                g = u.nesterov ? g + u.momentum * b[i] : b[i];
            }
            p[i] -= u.lr * g;
        }
    }
};

void check_sgd(DType dtype, const Shape& shape, SgdUpdate update) {
    Generator generator(6);
    Tensor p = randn(shape, generator, dtype);
    Tensor b = zeros(shape, dtype);
    PlainSgd plain{p.to_vector<double>(), b.to_vector<double>()};
    for (int step = 1; step <= 3; ++step) {
        const Tensor grad = randn(shape, generator, dtype);
        update.first = step == 1;
        sgd_update_(p, grad, b, update);
        plain.step(grad.to_vector<double>(), update);
    }
    check_close(p, plain.p);
    check_close(b, plain.b);
}

struct PlainRmsprop {
    std::vector<double> p, v, a, b;
    void step(const std::vector<double>& grad, const RmspropUpdate& u) {
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double g = grad[i] * u.grad_scale + u.weight_decay * p[i];
            v[i] = u.alpha * v[i] + (1 - u.alpha) * g * g;
            double under_root = v[i];
            if (u.centered) {
                a[i] = u.alpha * a[i] + (1 - u.alpha) * g;
                under_root -= a[i] * a[i];
            }
            const double d = g / (std::sqrt(under_root) + u.eps);
            if (u.momentum != 0) b[i] = u.momentum * b[i] + d;
            p[i] -= u.lr * (u.momentum != 0 ? b[i] : d);
        }
    }
};

void check_rmsprop(DType dtype, const Shape& shape, const RmspropUpdate& update) {
    Generator generator(7);
    Tensor p = randn(shape, generator, dtype);
    Tensor v = zeros(shape, dtype), a = zeros(shape, dtype), b = zeros(shape, dtype);
    const auto none = a.to_vector<double>();
    PlainRmsprop plain{p.to_vector<double>(), none, none, none};
    for (int step = 1; step <= 3; ++step) {
        const Tensor grad = randn(shape, generator, dtype);
        rmsprop_update_(p, grad, v, a, b, update);
        plain.step(grad.to_vector<double>(), update);
    }
    check_close(p, plain.p);
    check_close(v, plain.v);
    check_close(a, plain.a);
    check_close(b, plain.b);
}

void check_lion(DType dtype, const Shape& shape, const LionUpdate& u) {
    Generator generator(8);
    Tensor p = randn(shape, generator, dtype);
    Tensor m = zeros(shape, dtype);
    auto plain = p.to_vector<double>(), mean = m.to_vector<double>();
    for (int step = 1; step <= 3; ++step) {
        const Tensor grad = randn(shape, generator, dtype);
        lion_update_(p, grad, m, u);
        const auto numbers = grad.to_vector<double>();
        for (std::size_t i = 0; i < plain.size(); ++i) {
            const double g = numbers[i] * u.grad_scale;
            const double ahead = u.beta1 * mean[i] + (1 - u.beta1) * g;
            plain[i] *= 1 - u.lr * u.weight_decay;
            plain[i] -= u.lr * (ahead > 0 ? 1 : ahead < 0 ? -1 : 0);
            mean[i] = u.beta2 * mean[i] + (1 - u.beta2) * g;
        }
    }
    check_close(p, plain);
    check_close(m, mean);
}

const std::vector<Shape> kShapes{{7}, {3, 65}, {1}, {}, {0, 4}, {33, 2000}};

}  // namespace

TEST_CASE("adamw_update_: as the plain loop") {
    everywhere([](DType dtype) {
        for (const Shape& shape : kShapes) {
            check_adam(dtype, shape, {});
            check_adam(dtype, shape, {.lr = 0.01, .weight_decay = 0.1});
            check_adam(dtype, shape, {.lr = 0.01, .weight_decay = 0.1, .decoupled = false});
            check_adam(dtype, shape,
                       {.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .grad_scale = 0.25});
        }
    });
}

TEST_CASE("sgd_update_: as the plain loop") {
    everywhere([](DType dtype) {
        for (const Shape& shape : kShapes) {
            check_sgd(dtype, shape, {.lr = 0.1});
            check_sgd(dtype, shape, {.lr = 0.1, .weight_decay = 0.01, .grad_scale = 0.5});
            check_sgd(dtype, shape, {.lr = 0.1, .momentum = 0.9});
            check_sgd(dtype, shape, {.lr = 0.1, .momentum = 0.9, .dampening = 0.3});
            check_sgd(dtype, shape, {.lr = 0.1, .momentum = 0.9, .nesterov = true});
        }
    });
}

TEST_CASE("sgd_update_: without momentum no buffer is needed") {
    Tensor p = ones({3});
    Tensor none;
    sgd_update_(p, ones({3}), none, {.lr = 0.5});
    CHECK(p.to_vector<double>() == std::vector<double>{0.5, 0.5, 0.5});
}

TEST_CASE("rmsprop_update_: as the plain loop") {
    everywhere([](DType dtype) {
        for (const Shape& shape : kShapes) {
            // eps as large as the rounding error of a difference of squares in f32
            check_rmsprop(dtype, shape, {.lr = 0.01, .eps = 1e-2});
            check_rmsprop(dtype, shape, {.lr = 0.01, .eps = 1e-2, .weight_decay = 0.1});
            check_rmsprop(dtype, shape, {.lr = 0.01, .alpha = 0.5, .eps = 1e-2, .momentum = 0.9});
            check_rmsprop(dtype, shape,
                          {.lr = 1e-3, .alpha = 0.5, .eps = 1, .centered = true, .grad_scale = 2});
            check_rmsprop(dtype, shape,
                          {.lr = 1e-3, .alpha = 0.5, .eps = 1, .momentum = 0.5, .centered = true});
        }
    });
}

TEST_CASE("rmsprop_update_: buffers that are not needed; equal gradients, centred") {
    Tensor none;
    everywhere([&](DType dtype) {
        Tensor p = ones({3}, dtype), v = zeros({3}, dtype);
        rmsprop_update_(p, ones({3}, dtype), v, none, none, {.lr = 0.5, .alpha = 0.75, .eps = 0});
        check_close(p, {0, 0, 0});  // 1 - 0.5 / sqrt(0.25)
        // Equal gradients have variance 0, and rounding must not make it negative.
        Tensor q = zeros({100}, dtype), w = zeros({100}, dtype), mean = zeros({100}, dtype);
        const Tensor grad = full({100}, 0.1, dtype);
        for (int step = 0; step < 200; ++step) {
            rmsprop_update_(q, grad, w, mean, none,
                            {.lr = 1e-3, .alpha = 0.1, .eps = 1e-3, .centered = true});
        }
        for (const double x : q.to_vector<double>()) CHECK(std::isfinite(x));
    });
}

TEST_CASE("lion_update_: as the plain loop; NaN is not lost in a sign") {
    everywhere([](DType dtype) {
        for (const Shape& shape : kShapes) {
            check_lion(dtype, shape, {.lr = 0.01});
            check_lion(dtype, shape, {.lr = 0.01, .weight_decay = 0.5, .grad_scale = 0.25});
            check_lion(dtype, shape, {.lr = 0.01, .beta1 = 0.5, .beta2 = 0.75});
        }
        Tensor p = ones({2}, dtype), m = zeros({2}, dtype);
        Tensor grad = zeros({2}, dtype);
        lion_update_(p, grad, m, {.lr = 1});
        CHECK(p.to_vector<double>() == std::vector<double>{1, 1});
        grad.fill_(NAN);
        lion_update_(p, grad, m, {.lr = 1});
        CHECK(std::isnan(p.at({1})));
    });
}

TEST_CASE("updates: a strided gradient, and the version of the parameter") {
    everywhere([](DType dtype) {
        Tensor a = ones({2, 3}, dtype);
        Tensor b = ones({2, 3}, dtype);
        const Tensor grad = cast(tensor<double>({{1, 2, 3}, {4, 5, 6}}), dtype);
        const Tensor laid_out_otherwise =
            views::transpose(views::transpose(grad, 0, 1).clone(), 0, 1);
        Tensor none;
        const auto version = a.storage()->version();
        sgd_update_(a, grad, none, {.lr = 1});
        sgd_update_(b, laid_out_otherwise, none, {.lr = 1});
        CHECK(a.to_vector<double>() == b.to_vector<double>());
        CHECK(a.storage()->version() > version);
    });
}

TEST_CASE("sum_of_squares and scale_: values, and the same bits for any number of threads") {
    const int threads_before = num_threads();
    everywhere([](DType dtype) {
        Generator generator(7);
        const Tensor big = randn({150000}, generator, dtype);
        const Tensor small = views::transpose(randn({3, 5}, generator, dtype), 0, 1);
        double expected = 0;
        for (const Tensor& x : {big, small}) {
            for (const double value : x.to_vector<double>()) expected += value * value;
        }
        set_num_threads(1);
        const double one = sum_of_squares({big, Tensor(), small, zeros({0}, dtype)});
        CHECK(one == doctest::Approx(expected).epsilon(1e-12));
        set_num_threads(3);
        CHECK(sum_of_squares({big, Tensor(), small}) == one);

        Tensor strided = views::slice(cast(arange(10), dtype), 0, 0, 10, 2);
        scale_(strided, 0.5);
        CHECK(strided.to_vector<double>() == std::vector<double>{0, 1, 2, 3, 4});
        Tensor dense_one = ones({3, 3}, dtype);
        scale_(dense_one, -2);
        CHECK(dense_one.to_vector<double>() == std::vector<double>(9, -2.0));
    });
    set_num_threads(threads_before);
}

TEST_CASE("sum_of_squares: f32 values whose squares overflow f32") {
    CHECK(sum_of_squares({full({4}, 1e30)}) == doctest::Approx(4e60).epsilon(1e-6));
}

TEST_CASE("updates: wrong use") {
    Tensor p = ones({2, 3});
    Tensor m = zeros({2, 3});
    Tensor v = zeros({2, 3});
    const Tensor g = ones({2, 3});
    Tensor wrong = zeros({3});
    Tensor other_type = zeros({2, 3}, DType::f64);
    Tensor gaps = views::transpose(zeros({3, 2}), 0, 1);
    Tensor none;
    CHECK_THROWS_WITH_AS(adamw_update_(p, ones({3}), m, v, {}),
                         "adamw_update_: the gradient is [3] for a parameter [2, 3]", ShapeError);
    CHECK_THROWS_WITH_AS(adamw_update_(p, g, wrong, v, {}),
                         "adamw_update_: m is [3] for a parameter [2, 3]", ShapeError);
    CHECK_THROWS_AS(adamw_update_(p, g, m, other_type, {}), DTypeError);
    CHECK_THROWS_WITH_AS(adamw_update_(p, g, m, gaps, {}),
                         "adamw_update_: v [2, 3] is not contiguous", ShapeError);
    CHECK_THROWS_AS(adamw_update_(p, g, none, v, {}), Error);
    CHECK_THROWS_AS(adamw_update_(p, none, m, v, {}), Error);
    CHECK_THROWS_AS(adamw_update_(p, g, m, v, {.beta1 = 1}), ValueError);
    CHECK_THROWS_AS(adamw_update_(p, g, m, v, {.step = 0}), ValueError);
    CHECK_THROWS_AS(adamw_update_(p, g, p, v, {}), ValueError);
    CHECK_THROWS_AS(sgd_update_(p, g, none, {.momentum = 0.9}), Error);
    CHECK_THROWS_AS(sgd_update_(p, g, m, {.nesterov = true}), ValueError);
    CHECK_THROWS_WITH_AS(rmsprop_update_(p, g, v, none, none, {.alpha = 1}),
                         "rmsprop_update_: alpha must be in [0, 1), got 1", ValueError);
    CHECK_THROWS_WITH_AS(rmsprop_update_(p, g, v, none, none, {.eps = -1}),
                         "rmsprop_update_: eps must be >= 0, got -1", ValueError);
    CHECK_THROWS_WITH_AS(rmsprop_update_(p, g, v, wrong, none, {.centered = true}),
                         "rmsprop_update_: the mean is [3] for a parameter [2, 3]", ShapeError);
    CHECK_THROWS_AS(rmsprop_update_(p, g, v, none, none, {.momentum = 0.9}), Error);
    CHECK_THROWS_WITH_AS(lion_update_(p, g, m, {.beta1 = 1}),
                         "lion_update_: beta1 and beta2 must be in [0, 1), got 1 and 0.99",
                         ValueError);
    CHECK_THROWS_WITH_AS(lion_update_(p, g, p, {}), "lion_update_: m is the parameter itself",
                         ValueError);
    CHECK_THROWS_AS(sum_of_squares({arange(3)}), DTypeError);
    Tensor whole = arange(3);
    CHECK_THROWS_AS(scale_(whole, 2), DTypeError);
    CHECK(p.to_vector<double>() == std::vector<double>(6, 1.0));
}
