// Runs that end after a time: rates by progress, an end in time, and the recorded progress repeated
// to the same bits.
#include <tapestry/core/clock.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/early_stopping.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/small_run.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <optional>
#include <thread>

using namespace tapestry;
using test::check_message;
using test::check_throws;

namespace {

struct TimedPlace : test::RunPlace {
    TrainingConfig config(double seconds) const {
        TrainingConfig config = RunPlace::config();
        config.model.dropout = 0.1;
        config.minutes = seconds / 60;
        config.steps = TrainingConfig::kNoStepLimit;
        config.warmup = 3;
        config.eval_every = 50;
        config.min_lr = 0;
        return config;
    }
    // Steps of about 5 ms, so that there are not too many of them.
    TrainingResult train(const RunRequest& request, std::int64_t last = INT64_MAX) {
        BegunRun begun = begin_run(request);
        TrainingRunOptions options{.report = false, .earlier = std::move(begun.earlier)};
        options.checkpoints.every_steps = 20;
        auto stepped = Clock::now();
        options.stepped = [&](const StepMetrics& m, const Speed&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            longest_step = std::max(longest_step, seconds_since(stepped));
            stepped = Clock::now();
            return m.step < last;
        };
        return TrainingRun(*begun.session, *begun.directory, options).to_the_end();
    }

    double longest_step = 0;  // in seconds: long ones had to wait for a processor
};

void check_replays(const std::filesystem::path& directory) {
    const RunHistory history(directory);
    const RunComparison all =
        compare_all(history, Replayer(history), [](std::int64_t step, const std::string& what) {
            CAPTURE(step);
            CHECK_EQ(what, "");
        });
    CHECK_EQ(all.same, history.last_step());
}

}  // namespace

TEST_CASE("timed schedules: a warm-up in steps, times a fall over progress") {
    const TimedSchedule cosine =
        timed_cosine_schedule({.rate = 2, .min_rate = 0.5, .warmup = 4, .steps = 10});
    for (const double p : {0.0, 0.25, 0.5, 0.9, 1.0}) {
        const double expected = 0.5 + 0.75 * (1 + std::cos(std::numbers::pi * p));
        CHECK_EQ(cosine(100, p), doctest::Approx(expected));
        CHECK_EQ(cosine(0, p), doctest::Approx(expected / 4));
        CHECK_EQ(cosine(2, p), doctest::Approx(expected * 3 / 4));
    }
    const TimedSchedule trapezoid = timed_trapezoid_schedule(
        {.rate = 2, .min_rate = 0.5, .warmup = 4, .steps = 10, .cooldown = 0.4});
    CHECK_EQ(trapezoid(100, 0.6), doctest::Approx(2));
    CHECK_EQ(trapezoid(100, 0.8), doctest::Approx(1.25));
    CHECK_EQ(trapezoid(100, 1), doctest::Approx(0.5));
    CHECK_EQ(trapezoid(1, 0.8), doctest::Approx(0.625));
    const TimedSchedule flat =
        timed_trapezoid_schedule({.rate = 2, .min_rate = 0.5, .warmup = 0, .cooldown = 0});
    CHECK_EQ(flat(0, 1), doctest::Approx(2));
    check_throws<ValueError>([] { timed_trapezoid_schedule({.cooldown = 2}); },
                             "trapezoid_schedule: cooldown must be in [0, 1], got 2");
}

TEST_CASE("timed loop: recorded progress decides rates and the last step") {
    Tensor w = test::random({2}, 1, DType::f32);
    w.set_requires_grad(true);
    SGD optimizer(ParameterList({w}), {.lr = 1});
    std::int64_t evaluated = 0;
    const std::vector<double> progress{0, 0.5, 0.75, 1.5, 2};
    TrainLoop loop(
        optimizer,
        {.steps = 100,
         .eval_every = 100,
         .seconds = 3600,
         .timed_schedule = [](std::int64_t, double p) { return 1 - p; },
         .progress = [&](std::int64_t step) { return progress[static_cast<std::size_t>(step)]; }},
        {.loss = [&] { return sum(w * w); },
         .evaluate =
             [&] {
                 ++evaluated;
                 return 1.0;
             },
         .report = {}});
    std::vector<double> rates;
    while (!loop.is_finished()) {
        const StepMetrics metrics = loop.next();
        rates.push_back(metrics.lr);
        CHECK_EQ(metrics.val_loss.has_value(), metrics.step == 4);
        CHECK_EQ(*metrics.progress, std::min(1.0, progress[rates.size() - 1]));
    }
    CHECK_EQ(rates, std::vector<double>{1, 0.5, 0.25, 0});
    CHECK_EQ(evaluated, 1);
    check_throws<ValueError>(
        [&] {
            TrainLoop(optimizer, {.seconds = 1},
                      {.loss = [&] { return sum(w); }, .evaluate = {}, .report = {}});
        },
        "train: a time limit needs a timed_schedule");
}

TEST_CASE("timed run: ends in time with the schedule at its end, and replays to the same bits") {
    std::optional<TimedPlace> quiet;
    TrainingResult result;
    for (int tries = 0; tries < 20 && (!quiet || quiet->longest_step > 0.2); ++tries) {
        quiet.emplace();
        result = quiet->train({.config = quiet->config(0.8), .out = quiet->out.string()});
    }
    const TimedPlace& place = *quiet;
    CHECK_FALSE(result.interrupted);
    CHECK_GT(result.last.seconds, 0.4);
    CHECK_LT(result.last.seconds, 1.6);
    CHECK_EQ(result.last.lr, 0);  // min_lr
    CHECK_EQ(result.last.progress, 1.0);
    CHECK(result.last.val_loss.has_value());
    CHECK_EQ(result.steps, result.last.step);
    const auto steps = read_steps(place.out / kMetricsName, 1);
    REQUIRE_GE(steps.size(), 5);
    for (std::size_t i = 1; i < steps.size(); ++i) {
        REQUIRE(steps[i].progress.has_value());
        CHECK_GE(*steps[i].progress, *steps[i - 1].progress);
    }
    CHECK_LT(*steps[steps.size() / 2].progress, 1);
    check_replays(place.out);
    // It is done: resuming takes no step.
    RunDirectory directory(place.out);
    const auto session = directory.resume({});
    REQUIRE(session != nullptr);
    CHECK(session->is_finished());
}

TEST_CASE(
    "timed run: interrupted and resumed, extended, forked: each step is recorded and repeats") {
    std::optional<TimedPlace> begun;
    RunRequest request;
    TrainingResult first;
    for (int tries = 0; tries < 20 && !first.interrupted; ++tries) {  // its time may end before
        begun.emplace();
        request = {.config = begun->config(1.5), .out = begun->out.string()};
        first = begun->train(request, 30);
    }
    TimedPlace& place = *begun;
    CHECK(first.interrupted);
    request.resume = true;
    const TrainingResult second = place.train(request);
    CHECK_GT(second.last.step, 30);
    CHECK_EQ(second.last.progress, 1.0);
    const auto steps = read_steps(place.out / kMetricsName, 1);
    CHECK_GT(*steps[30].progress, *steps[2].progress);  // the clock goes on
    check_replays(place.out);

    request.config = place.config(second.last.seconds + 0.5);
    request.given = request.overrides = {"minutes"};
    const TrainingResult third = place.train(request);
    CHECK_GT(third.last.step, second.last.step);
    check_replays(place.out);

    const RunRequest fork{.config = place.config(steps[9].seconds + 0.5),
                          .given = {"minutes"},
                          .out = (place.scratch / "fork").string(),
                          .fork = place.out.string(),
                          .step = 10};
    const TrainingResult forked = place.train(fork);
    CHECK_EQ(forked.last.progress, 1.0);
    CHECK_GT(forked.last.step, 10);
    check_replays(place.scratch / "fork");
}

TEST_CASE("timed run: more steps without more time are refused, also by a fork") {
    TimedPlace place;
    RunRequest request{.config = place.config(0.3), .out = place.out.string()};
    const std::int64_t last = place.train(request).last.step;
    request.config.steps = last + 100;
    request.given = {"steps"};
    RunRequest fork = request;
    fork.fork = place.out.string();
    fork.out = (place.scratch / "fork").string();
    fork.step = last;
    request.resume = true;
    request.overrides = {"steps", "minutes"};
    const auto check_refused = [&] {
        for (const RunRequest& one : {request, fork}) {
            check_message<ValueError>([&] { begin_run(one); },
                                      "which leaves no time for more steps; give it more");
        }
    };
    check_refused();
    request.config.minutes = fork.config.minutes = 0.1 / 60;  // less than it has taken
    request.given.emplace_back("minutes");
    fork.given.emplace_back("minutes");
    check_refused();
    request.config.minutes = fork.config.minutes = 0;
    request.config.steps = fork.config.steps = last + 3;
    for (const RunRequest& one : {fork, request}) CHECK_EQ(place.train(one).last.step, last + 3);
}

TEST_CASE("timed run: one that its steps ended has time for more") {
    TimedPlace place;
    RunRequest request{.config = place.config(3600), .out = place.out.string()};
    request.config.steps = 4;
    CHECK_EQ(place.train(request).last.step, 4);
    request.resume = true;
    request.config.steps = 8;
    request.given = request.overrides = {"steps"};
    CHECK_EQ(place.train(request).last.step, 8);
}

TEST_CASE("timed run: several processes need steps") {
    const TimedPlace place;
    RunRequest request{.config = place.config(1), .out = place.out.string()};
    request.config.micro_batches = 2;
    std::string message;
    run_in_threads(2, [&](Communicator& c) {
        const std::string said =
            test::message_of<AgreedError>([&] { begin_shared_run(c, request); });
        if (c.rank() == 0) message = said;
    });
    CHECK_EQ(message,
             "train: --minutes is measured by one process's clock; 2 processes need --steps");
}

TEST_CASE("loss watch: of a run that only time limits, more time may help") {
    const auto concern = [](std::int64_t steps) {
        LossWatch watch({.model = {.vocab = 10}, .steps = steps});
        for (std::int64_t i = 1; i <= 30; ++i) watch.add({.step = i, .loss = 3});
        return watch.concern();
    };
    CHECK(concern(TrainingConfig::kNoStepLimit).find(": more time, or another learning rate") !=
          std::string::npos);
    CHECK(concern(30).find(
              ": more than 30 steps (the warm-up takes 100), or another learning rate") !=
          std::string::npos);
}
