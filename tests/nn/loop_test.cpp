// The training loop, on a model small enough to follow by hand: y = x w.
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/early_stopping.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;
using test::random;

namespace {

// 8 examples of 3 numbers, served in order, `size` at a time.
struct Regression {
    explicit Regression(std::int64_t size) : batch(size), model(3, 1, false) {
        model.to(DType::f64);
        model.weight.fill_(0);
    }
    Tensor next() {
        const Tensor x = slice(inputs, 0, at, at + batch), y = slice(targets, 0, at, at + batch);
        at = (at + batch) % 8;
        return mse_loss(model(x), y);
    }
    std::function<Tensor()> loss() {
        return [this] { return next(); };
    }
    std::vector<double> weights() const { return model.weight.to_vector<double>(); }
    SGD optimizer() const { return SGD({{.parameters = model.parameters()}}, {}); }

    std::int64_t batch;
    std::int64_t at = 0;
    Linear model;
    Tensor inputs = random({8, 3}, 1);
    Tensor targets = random({8, 1}, 2);
};

}  // namespace

TEST_CASE("train: accumulating small batches is the big batch") {
    for (const double clip : {0.0, 0.1}) {
        Regression whole(8), parts(2);
        SGD of_whole({{.parameters = whole.model.parameters()}}, {.momentum = 0.9});
        SGD of_parts({{.parameters = parts.model.parameters()}}, {.momentum = 0.9});
        std::vector<StepMetrics> one, four;
        const auto keep = [](std::vector<StepMetrics>& to) {
            return [&to](const StepMetrics& m) {
                to.push_back(m);
                return true;
            };
        };
        TrainOptions options{.steps = 20, .clip = clip, .schedule = constant_schedule(0.1)};
        train(of_whole, options, {.loss = whole.loss(), .evaluate = {}, .report = keep(one)});
        options.accumulate = 4;
        train(of_parts, options, {.loss = parts.loss(), .evaluate = {}, .report = keep(four)});
        REQUIRE_EQ(one.size(), four.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
            CHECK_EQ(one[i].loss, Approx(four[i].loss).epsilon(1e-12));
            CHECK_EQ(one[i].grad_norm, Approx(four[i].grad_norm).epsilon(1e-12));
        }
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK_EQ(whole.weights()[i], Approx(parts.weights()[i]).epsilon(1e-12));
        }
        CHECK(one.back().loss < one.front().loss);
    }
}

TEST_CASE("train: the gradient is clipped to the norm, and only then") {
    Regression far(8), near(8);
    const double norm = [&] {
        Tape tape;
        tape.backward(far.next());
        double squares = 0;
        for (const double g : far.model.weight.grad().to_vector<double>()) squares += g * g;
        return std::sqrt(squares);
    }();
    const auto length_of_step = [&](Regression& r, double clip) {
        SGD optimizer({{.parameters = r.model.parameters()}}, {});
        StepMetrics seen;
        train(optimizer, {.steps = 1, .clip = clip, .schedule = constant_schedule(1)},
              {.loss = r.loss(), .evaluate = {}, .report = [&](const StepMetrics& m) {
                   seen = m;
                   return true;
               }});
        CHECK_EQ(seen.grad_norm, Approx(norm));
        double squares = 0;
        for (const double w : r.weights()) squares += w * w;
        return std::sqrt(squares);
    };
    CHECK_EQ(length_of_step(far, norm / 3), Approx(norm / 3));
    CHECK_EQ(length_of_step(near, norm * 3), Approx(norm));
}

TEST_CASE("train: evaluations, metrics, rates") {
    Regression r(4);
    SGD optimizer({{.parameters = r.model.parameters()}}, {});
    std::vector<StepMetrics> seen;
    int evaluations = 0;
    const TrainCallbacks callbacks{.loss =
                                       [&] {
                                           CHECK(is_recording());
                                           return r.next();
                                       },
                                   .evaluate =
                                       [&] {
                                           CHECK_FALSE(is_recording());
                                           return static_cast<double>(++evaluations);
                                       },
                                   .report =
                                       [&](const StepMetrics& m) {
                                           CHECK_FALSE(is_recording());
                                           seen.push_back(m);
                                           return true;
                                       }};
    const TrainOptions options{
        .steps = 7, .schedule = linear_schedule(0.1, 0.03, 7), .eval_every = 3};
    CHECK_EQ(train(optimizer, options, callbacks), 7);
    REQUIRE_EQ(seen.size(), 7);
    CHECK_EQ(optimizer.steps(), 7);
    for (std::size_t i = 0; i < 7; ++i) {
        CHECK_EQ(seen[i].step, static_cast<std::int64_t>(i) + 1);
        CHECK_EQ(seen[i].lr, Approx(0.1 - 0.01 * static_cast<double>(i)));
        CHECK_EQ(seen[i].val_loss.has_value(), i == 2 || i == 5 || i == 6);
        CHECK(seen[i].step_seconds >= 0);
        CHECK(seen[i].seconds >= seen[i].step_seconds);
    }
    CHECK_EQ(seen[6].val_loss.value(), 3);
    CHECK_EQ(evaluations, 3);
    train(optimizer, {.steps = 2}, callbacks);  // eval_every 0: none
    CHECK_EQ(evaluations, 3);
    CHECK_EQ(train(optimizer, {.steps = 2}, {.loss = r.loss(), .evaluate = {}, .report = {}}), 2);
}

TEST_CASE("train: from a step on, and one step at a time") {
    Regression r(8);
    SGD optimizer({{.parameters = r.model.parameters()}}, {});
    std::vector<StepMetrics> seen;
    TrainOptions options{
        .steps = 5, .schedule = linear_schedule(0.5, 0, 5), .eval_every = 4, .first_step = 3};
    const TrainCallbacks callbacks{.loss = r.loss(),
                                   .evaluate = [] { return 7.0; },
                                   .report =
                                       [&](const StepMetrics& m) {
                                           seen.push_back(m);
                                           return true;
                                       }};
    CHECK_EQ(train(optimizer, options, callbacks), 5);
    REQUIRE_EQ(seen.size(), 2);
    CHECK_EQ(seen[0].step, 4);
    CHECK_EQ(seen[0].lr, Approx(0.2));
    CHECK_EQ(seen[0].val_loss.value(), 7);
    CHECK_EQ(seen[1].step, 5);

    options.first_step = 0;
    TrainLoop loop(optimizer, options, callbacks);
    for (std::int64_t step = 1; step <= 5; ++step) {
        CHECK_FALSE(loop.is_finished());
        const StepMetrics m = loop.next();
        CHECK_EQ(m.step, step);
        CHECK_EQ(loop.steps(), step);
        CHECK_EQ(m.val_loss.has_value(), step >= 4);
        CHECK_GE(m.seconds, m.step_seconds);
    }
    CHECK(loop.is_finished());
    CHECK_EQ(seen.size(), 2);
}

TEST_CASE("train: a report that returns false stops after its step") {
    Regression r(8);
    SGD optimizer({{.parameters = r.model.parameters()}}, {});
    const TrainCallbacks callbacks{.loss = r.loss(),
                                   .evaluate = {},
                                   .report = [](const StepMetrics& m) { return m.step < 4; }};
    CHECK_EQ(train(optimizer, {.steps = 100}, callbacks), 4);
    CHECK_EQ(optimizer.steps(), 4);
}

TEST_CASE("train: divergence is an error, and the parameters are those of the last good step") {
    for (const bool infinite_gradient : {false, true}) {
        Regression r(8);
        SGD optimizer({{.parameters = r.model.parameters()}}, {});
        std::vector<double> last;
        int batches = 0;
        const TrainCallbacks callbacks{.loss =
                                           [&] {
                                               const Tensor good = r.next();
                                               if (++batches <= 6) return good;
                                               // A finite loss whose gradient is not: 0 at the kink
                                               // of x^0.5.
                                               return infinite_gradient ? pow(good * 0.0, 0.5)
                                                                        : good * NAN;
                                           },
                                       .evaluate = {},
                                       .report =
                                           [&](const StepMetrics&) {
                                               last = r.weights();
                                               return true;
                                           }};
        try {
            train(optimizer, {.steps = 10, .accumulate = 2}, callbacks);
            FAIL_CHECK("nothing thrown");
        } catch (const DivergedError& error) {
            const std::string message = error.what();
            CHECK_EQ(message.substr(0, message.find(" the loss")), "train: step 4:");
        }
        CHECK_EQ(r.weights(), last);
        CHECK_EQ(optimizer.steps(), 3);
        CHECK_FALSE(is_recording());
    }
}

TEST_CASE("train: what is refused") {
    Regression r(8);
    SGD optimizer({{.parameters = r.model.parameters()}}, {});
    const TrainCallbacks callbacks{.loss = r.loss(), .evaluate = {}, .report = {}};
    const auto with = [&](const TrainOptions& options) {
        return [&, options] { train(optimizer, options, callbacks); };
    };
    check_throws<ValueError>(with({.steps = 0}), "train: steps must be at least 1, got 0");
    check_throws<ValueError>(with({.accumulate = 0}),
                             "train: accumulate must be at least 1, got 0");
    check_throws<ValueError>(with({.clip = -1}), "train: clip must be >= 0, got -1");
    CHECK_THROWS_AS(with({.clip = NAN})(), ValueError);
    CHECK_THROWS_AS(with({.eval_every = -1})(), ValueError);
    check_throws<ValueError>(with({.first_step = -1}), "train: first step must be >= 0, got -1");
    CHECK_THROWS_AS(with({.schedule = nullptr})(), ValueError);
    CHECK_THROWS_AS(train(optimizer, {}, {}), ValueError);
    CHECK_THROWS_AS(with({.schedule = [](std::int64_t) { return -1.0; }})(), ValueError);
    CHECK_EQ(optimizer.steps(), 0);
    CHECK_EQ(r.weights(), std::vector<double>(3, 0));
}

TEST_CASE("train: the same seeds give the same bits") {
    std::vector<std::int64_t> ids;
    Generator source(4);
    for (int i = 0; i < 400; ++i) ids.push_back(static_cast<std::int64_t>(source.below(9)));
    const auto trained = [&](int threads) {
        const ThreadsGuard with(threads);
        Generator generator(1), batches(2), validation(3);
        GPT model({.vocab = 9, .context = 8, .layers = 1, .heads = 2, .dim = 16, .dropout = 0.1},
                  generator);
        const TextData data(ids);
        AdamW optimizer(decay_groups(model, 0.1), {});
        std::vector<double> numbers;
        train(optimizer, {.steps = 5, .accumulate = 2, .eval_every = 2},
              {.loss =
                   [&] {
                       const Batch b = data.random_batch(Split::train, 4, 8, batches);
                       return model.loss(b.inputs, b.targets);
                   },
               .evaluate =
                   [&] {
                       return evaluate(model, data, Split::validation, {.batches = 2, .batch = 4},
                                       validation);
                   },
               .report =
                   [&](const StepMetrics& m) {
                       CHECK(model.is_training());
                       numbers.insert(numbers.end(), {m.loss, m.grad_norm, m.val_loss.value_or(0)});
                       return true;
                   }});
        return numbers;
    };
    const auto first = trained(1);
    CHECK_EQ(first.size(), 15);
    CHECK(first == trained(1));
    CHECK(first == trained(3));
}

TEST_CASE("evaluate: the mean over its batches, without dropout, in the mode it found") {
    Generator generator(1);
    GPT model({.vocab = 5, .context = 4, .layers = 1, .heads = 1, .dim = 8, .dropout = 0.5},
              generator);
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 60; ++i) ids.push_back(i * i % 5);
    const TextData data(ids);
    Generator one(7), two(7);
    Tape tape;
    const double loss = evaluate(model, data, Split::all, {.batches = 3, .batch = 2}, one);
    CHECK(tape.entries().empty());
    CHECK(model.is_training());
    model.eval();
    double total = 0;
    for (int i = 0; i < 3; ++i) {
        const Batch b = data.random_batch(Split::all, 2, 4, two);
        total += model.loss(b.inputs, b.targets).item();
    }
    CHECK_EQ(loss, total / 3);
    evaluate(model, data, Split::all, {.batches = 1, .batch = 2}, one);
    CHECK_FALSE(model.is_training());
    model.train();
    CHECK_THROWS_AS(evaluate(model, data, Split::all, {.batches = 0}, one), ValueError);
    CHECK_THROWS_AS(evaluate(model, data, Split::all, {.batches = 1, .batch = 0}, one), ValueError);
    CHECK(model.is_training());
}

TEST_CASE("early stopping: ends after evaluations without a gain, and puts the best back") {
    Linear model(1, 1, false);
    SGD optimizer(model, {});
    // w falls by 0.1 per step, and the held-out optimum is 0.7: best after the third step.
    model.weight.fill_(1);
    EarlyStopping stop(model, {.patience = 2, .min_delta = 1e-4});
    const auto evaluate = [&] { return std::abs(model.weight.item() - 0.7); };
    const std::int64_t steps = train(
        optimizer, {.steps = 100, .clip = 0, .schedule = constant_schedule(0.1), .eval_every = 1},
        {.loss =
             [&] {
                 return reshape(model(ones({1, 1})), {});
             },
         .evaluate = evaluate,
         .report = std::ref(stop)});
    CHECK_EQ(steps, 5);
    CHECK_EQ(stop.best_step(), 3);
    CHECK(stop.best_loss() < 1e-6);
    CHECK_EQ(model.weight.item(), Approx(0.5));
    stop.restore_best();
    CHECK_EQ(model.weight.item(), Approx(0.7));
}

TEST_CASE("early stopping: what counts as better, and what is refused") {
    Linear model(1, 1, false);
    EarlyStopping stop(model, {.patience = 2, .min_delta = 0.5});
    const auto after = [&](std::int64_t step, std::optional<double> loss) {
        return stop({.step = step, .val_loss = loss});
    };
    stop.restore_best();  // nothing stored yet
    CHECK(std::isinf(stop.best_loss()));
    CHECK(after(1, {}));
    CHECK(after(2, 3.0));
    CHECK(after(3, 2.75));  // too small an improvement
    CHECK(after(4, {}));    // no evaluation
    CHECK(after(5, 2.0));   // in time
    CHECK(after(6, NAN));
    CHECK_FALSE(after(7, 2.0));
    CHECK_EQ(stop.best_step(), 5);
    check_throws<ValueError>([&] { EarlyStopping(model, {.patience = 0}); },
                             "EarlyStopping: patience must be positive, got 0");
    check_throws<ValueError>([&] { EarlyStopping(model, {.min_delta = NAN}); },
                             "EarlyStopping: min_delta must be finite and >= 0, got nan");
}
