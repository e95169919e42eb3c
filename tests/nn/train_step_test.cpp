// The phases of a step: in order, combined and separately.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/floating_point_state.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <thread>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;
using test::random;

namespace {

struct Fitting {
    Fitting() : model(3, 1, false) {
        model.to(DType::f64);
        model.weight.fill_(0);
    }
    Tensor loss() const { return mse_loss(model(inputs), targets); }
    BatchLoss batch_loss() const {
        return [this] { return loss(); };
    }
    std::vector<double> weights() const { return model.weight.to_vector<double>(); }

    Linear model;
    Tensor inputs = random({8, 3}, 1);
    Tensor targets = random({8, 1}, 2);
};

}  // namespace

TEST_CASE("train step: its phases in order, each told when it has ended") {
    Fitting fitting;
    SGD optimizer({{.parameters = fitting.model.parameters()}}, {});
    std::vector<StepPhase> phases;
    TrainStep step(optimizer, {.accumulate = 2, .ended = [&](StepPhase phase) {
                                   phases.push_back(phase);
                                   CHECK_EQ(is_recording(), phase == StepPhase::backward);
                                   const bool updated = phase == StepPhase::update;
                                   CHECK_EQ(fitting.weights() == std::vector<double>(3, 0),
                                            !updated);
                               }});
    step.take(1, 0.1, fitting.batch_loss());
    CHECK(phases == std::vector{StepPhase::zero_grad, StepPhase::backward, StepPhase::backward,
                                StepPhase::gradients, StepPhase::reduce, StepPhase::check,
                                StepPhase::update});
    CHECK_EQ(optimizer.lr(), 0.1);
}

TEST_CASE("train step: one phase after the other is the step") {
    Fitting whole, parts;
    SGD of_whole({{.parameters = whole.model.parameters()}}, {.momentum = 0.9});
    SGD of_parts({{.parameters = parts.model.parameters()}}, {.momentum = 0.9});
    TrainStep together(of_whole, {.clip = 0.1}), apart(of_parts, {.clip = 0.1});
    for (std::int64_t number = 1; number <= 5; ++number) {
        const StepResult result = together.take(number, 0.2, whole.batch_loss());
        apart.zero_grad();
        double loss = apart.gradients(parts.batch_loss());
        apart.reduce(loss);
        CHECK_EQ(loss, result.loss);
        CHECK_EQ(apart.norm(), result.grad_norm);
        apart.update(0.2, apart.norm());
        CHECK_EQ(whole.weights(), parts.weights());
    }
}

TEST_CASE("train step: without zero_grad the gradients of all steps add up") {
    Fitting fitting;
    SGD optimizer({{.parameters = fitting.model.parameters()}}, {});
    TrainStep step(optimizer);
    step.gradients(fitting.batch_loss());
    const double once = step.norm();
    step.gradients(fitting.batch_loss());
    CHECK_EQ(step.norm(), Approx(2 * once));
}

TEST_CASE("train step: what is reduced is what is clipped, checked and taken") {
    Fitting alone;
    SGD of_alone({{.parameters = alone.model.parameters()}}, {});
    TrainStep one(of_alone, {.clip = 0});
    const StepResult before = one.take(1, 0.1, alone.batch_loss());
    // Of two processes, the second has three times the loss and the gradients.
    run_in_threads(2, [&](Communicator& c) {
        const bool second = c.rank() == 1;
        for (const double clip : {0.0, before.grad_norm}) {
            Fitting shared;
            SGD of_shared({{.parameters = shared.model.parameters()}}, {});
            TrainStep two(of_shared, {.micro_batches = 2, .clip = clip, .communicator = &c});
            const StepResult result =
                two.take(1, 0.1, [&] { return shared.loss() * (second ? 3.0 : 1.0); });
            CHECK_EQ(result.loss, Approx(2 * before.loss));
            CHECK_EQ(result.grad_norm, Approx(2 * before.grad_norm));
            const double factor = clip > 0 ? 1 : 2;
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK_EQ(shared.weights()[i], Approx(factor * alone.weights()[i]));
            }
            // One process with a loss that is not finite stops all, before the update.
            const std::vector<double> last = shared.weights();
            check_throws<DivergedError>(
                [&] {
                    two.take(2, 0.1, [&] { return shared.loss() * 0.0 + (second ? NAN : 0.0); });
                },
                "train: step 2: the loss is nan and the gradient's norm 0; a lower learning "
                "rate or stronger clipping may help");
            CHECK_EQ(shared.weights(), last);
        }
    });
}

TEST_CASE("train step: gradients of a batch, and a look at them while the tape is there") {
    Fitting fitting;
    double seen = 0;
    const double loss = add_gradients(fitting.batch_loss(), 4, [&] {
        CHECK(is_recording());
        seen = fitting.model.weight.grad().to_vector<double>()[0];
    });
    CHECK_FALSE(is_recording());
    const NoGradGuard no_grad;
    CHECK_EQ(loss, fitting.loss().item());  // not its quarter
    fitting.model.zero_grad();
    add_gradients(fitting.batch_loss());
    CHECK_EQ(fitting.model.weight.grad().to_vector<double>()[0], Approx(4 * seen));
}

TEST_CASE("train step: what is refused") {
    Fitting fitting;
    SGD optimizer({{.parameters = fitting.model.parameters()}}, {});
    check_throws<ValueError>([&] { TrainStep(optimizer, {.accumulate = 0}); },
                             "train: accumulate must be at least 1, got 0");
    check_throws<ValueError>([&] { TrainStep(optimizer, {.clip = -1}); },
                             "train: clip must be >= 0, got -1");
}

TEST_CASE("train step: the caller's rounding and flushing change no bit") {
    const auto trained = [](unsigned caller) {
        Generator g(2);
        Linear model(40, 30, g);
        AdamW optimizer({{.parameters = model.parameters()}}, AdamConfig{.lr = 1e-3});
        TrainStep step(optimizer, {.micro_batches = 2, .clip = 0.5});
        const Tensor x = random({50, 40}, 3, DType::f32), y = random({50, 30}, 4, DType::f32);
        const test::FloatingPointState state(caller);
        std::vector<double> numbers;
        for (std::int64_t n = 1; n <= 4; ++n) {
            const StepResult result = step.take(n, 1e-3, [&] { return mse_loss(model(x), y); });
            numbers.push_back(result.loss);
            numbers.push_back(result.grad_norm);
        }
        for (const Tensor& p : model.parameters()) {
            for (const double number : p.to_vector<double>()) numbers.push_back(number);
        }
        return numbers;
    };
    const std::vector<double> usual = trained(0);
    for (const int threads : {1, 3}) {
        const ThreadsGuard guard(threads);
        CHECK(trained(test::kHostile) == usual);
    }
}

TEST_CASE("train step: a second step of the same parameters is refused until the first ends") {
    Fitting fitting;
    SGD optimizer({{.parameters = fitting.model.parameters()}}, {});
    SGD other({{.parameters = fitting.model.parameters()}}, {});
    TrainStep first(optimizer), second(other);
    const std::vector<double> before = fitting.weights();
    first.take(1, 0.1, [&] {
        std::thread([&] {
            check_throws<AutogradError>([&] { second.take(1, 0.1, fitting.batch_loss()); },
                                        "train: another step of the same parameters has not ended; "
                                        "threads must train separate models, or take turns");
        }).join();
        CHECK_EQ(fitting.weights(), before);
        return fitting.loss();
    });
    second.take(1, 0.1, fitting.batch_loss());
}

TEST_CASE("train step: gradients of threads that share a parameter add up") {
    constexpr int kThreads = 4, kRounds = 200;
    Tensor shared = tensor(std::vector<double>(64, 1.0), {64}).set_requires_grad();
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&shared] {
            for (int n = 0; n < kRounds; ++n) {
                Tape tape;
                tape.backward(sum(shared));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(shared.grad().to_vector<double>() == std::vector<double>(64, kThreads * kRounds));
}

TEST_CASE("train step: a first step that is not finite blames weights or data, not the rate") {
    const auto message_of_step = [](Fitting& fitting, std::int64_t number) {
        SGD optimizer({{.parameters = fitting.model.parameters()}}, {});
        TrainStep step(optimizer, {});
        return test::message_of<DivergedError>(
            [&] { step.take(number, 0.1, fitting.batch_loss()); });
    };
    Fitting data;
    data.inputs.fill_(NAN);
    CHECK_EQ(message_of_step(data, 1),
             "train: step 1: the loss is nan and the gradient's norm nan; no update was made yet "
             "and the weights are finite, so look for NaN or infinity in the batch, or for a "
             "division or logarithm of 0 in the loss");
    CHECK(message_of_step(data, 2).ends_with(
        "; a lower learning rate or stronger clipping may help"));
    Fitting weights;
    weights.model.weight.fill_(INFINITY);
    CHECK(message_of_step(weights, 1)
              .ends_with("; the weights had NaN or infinity at the start, weight"));
}
