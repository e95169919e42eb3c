// The training report: curves, gradient flow and counts against results computed by hand; its
// bounded memory; and the contents of the page.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/data/ngram_baseline.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scarce_memory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/skip.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using namespace tapestry;
using Json = nlohmann::json;

namespace {

class Numbers : public Module {
public:
    Tensor w = tensor<float>({1, -2, 4, 0});
    Tensor idle = tensor<float>({3, 3});
    Numbers() : Module("Numbers") {
        register_parameter("w", w);
        register_parameter("idle", idle);
    }
};

Json data_of(const std::string& page) { return Json::parse(test::data_of_page(page)); }

TrainingReport long_report() {
    TrainingReport report({.title = "t", .options = {{"a", "b", "c"}, {"d", "e", "f"}}});
    for (std::int64_t step = 1; step <= 500; ++step) {
        report.add({.step = step, .loss = 1.0 / static_cast<double>(step), .lr = 0.1});
    }
    for (std::int64_t step = 1; step <= 10; ++step) {
        ParameterFlow flow{.name = "w", .shape = {3}};
        flow.values.counts.assign(20, 7);
        report.add({.step = step, .val_loss = 1, .sample = "text", .flow = {flow, flow}});
    }
    return report;
}

}  // namespace

TEST_CASE("training curve: neighbours are merged when there is no more room") {
    TrainingCurve curve(4);
    for (int step = 1; step <= 4; ++step) curve.add(step, 10 * step);
    REQUIRE_EQ(curve.points().size(), 4);
    CHECK_EQ(curve.points()[2].mean, 30);
    curve.add(5, 50);  // {1 2} {3 4} {5 .}
    REQUIRE_EQ(curve.points().size(), 3);
    CHECK_EQ(curve.points()[0].first, 1);
    CHECK_EQ(curve.points()[0].last, 2);
    CHECK_EQ(curve.points()[0].mean, 15);
    CHECK_EQ(curve.points()[0].low, 10);
    CHECK_EQ(curve.points()[0].high, 20);
    CHECK_EQ(curve.points()[2].count, 1);
    curve.add(6, std::nan(""));  // is skipped
    curve.add(7, 90);            // {5 7}
    REQUIRE_EQ(curve.points().size(), 3);
    CHECK_EQ(curve.points()[2].last, 7);
    CHECK_EQ(curve.points()[2].mean, 70);
    for (int step = 8; step <= 9; ++step) curve.add(step, 0);
    curve.add(10, 100);  // {1 2 3 4} {5 7 8 9} {10 . . .}
    REQUIRE_EQ(curve.points().size(), 3);
    CHECK_EQ(curve.points()[1].mean, 35);
    CHECK_EQ(curve.points()[1].count, 4);
    CHECK_THROWS_AS(TrainingCurve(3), ValueError);
}

TEST_CASE("training curve: every value counts once, for any number of values") {
    TrainingCurve curve;
    double sum = 0;
    for (int step = 1; step <= 100000; ++step) {
        const double value = std::sin(step);
        sum += value;
        curve.add(step, value);
    }
    CHECK_LE(curve.points().size(), TrainingCurve::kMost);
    CHECK_GE(curve.points().size(), TrainingCurve::kMost / 2);
    double total = 0;
    std::int64_t count = 0, last = 0;
    for (const TrainingPoint& p : curve.points()) {
        CHECK_EQ(p.first, last + 1);
        last = p.last;
        count += p.count;
        total += p.mean * static_cast<double>(p.count);
        CHECK_LE(p.low, p.mean);
        CHECK_GE(p.high, p.mean);
    }
    CHECK_EQ(count, 100000);
    CHECK_EQ(last, 100000);
    CHECK_EQ(total, doctest::Approx(sum).epsilon(1e-9));
}

TEST_CASE("training curve: the latest and lowest values are exact, and nothing is lost to NaN") {
    TrainingCurve curve(4);
    for (int step = 1; step <= 1000; ++step) {
        curve.add(step, step == 700 ? -1 : step == 1000 ? 2.5 : step % 2);
    }
    curve.add(1001, std::nan(""));
    curve.add(1002, -std::numeric_limits<double>::infinity());
    CHECK_EQ(curve.latest().step, 1000);
    CHECK_EQ(curve.latest().value, 2.5);
    CHECK_EQ(curve.lowest().step, 700);
    CHECK_EQ(curve.lowest().value, -1);
    REQUIRE_EQ(curve.not_finite().size(), 2);
    CHECK_EQ(curve.not_finite()[0].step, 1001);
    CHECK(std::isnan(curve.not_finite()[0].value));
    CHECK_EQ(curve.points()[0].square, doctest::Approx(0.25));  // of 0 and 1 in turn
    TrainingReport report({.steps = 3});
    report.add(StepMetrics{.step = 1, .loss = std::nan(""), .grad_norm = INFINITY});
    const Json data = Json::parse(to_json(report, {}));
    CHECK_EQ(data["curves"]["loss"]["notFinite"], Json({{{"step", 1}, {"value", "NaN"}}}));
    CHECK_EQ(data["curves"]["norm"]["notFinite"], Json({{{"step", 1}, {"value", "Infinity"}}}));
}

TEST_CASE("gradient flow: one step of gradient descent by hand") {
    Numbers numbers;
    SGD optimizer({{.parameters = {numbers.w}}}, {.lr = 0.5});
    GradientFlow flow(numbers);
    CHECK_THROWS_AS(flow.after_update(), ValueError);
    {
        Tape tape;
        const Tensor w = numbers.w;
        tape.backward(sum(w * w));  // gradient 2 w: {2, -4, 8, 0}
    }
    flow.before_update();
    optimizer.step();  // w - 0.5 2 w = 0
    const std::vector<ParameterFlow> all = flow.after_update();
    REQUIRE_EQ(all.size(), 2);
    const ParameterFlow& w = all[0];
    CHECK_EQ(w.name, "w");
    CHECK_EQ(w.shape, Shape{4});
    CHECK_EQ(w.value_rms, doctest::Approx(std::sqrt(21.0 / 4)));
    CHECK_EQ(w.gradient_rms, doctest::Approx(std::sqrt(84.0 / 4)));
    CHECK_EQ(w.update_rms, doctest::Approx(std::sqrt(21.0 / 4)));
    CHECK_EQ(w.ratio(), doctest::Approx(1));
    CHECK_EQ(w.values.first, 0);  // 1, 2, 4
    CHECK_EQ(w.values.counts, std::vector<std::int64_t>{1, 1, 1});
    CHECK_EQ(w.gradients.first, 1);  // 2, 4, 8
    CHECK_EQ(w.gradients.counts, std::vector<std::int64_t>{1, 1, 1});
    CHECK_EQ(w.updates.first, 0);
    const ParameterFlow& idle = all[1];  // no gradient, and unchanged
    CHECK_EQ(idle.value_rms, 3);
    CHECK_EQ(idle.gradient_rms, 0);
    CHECK_EQ(idle.ratio(), 0);
    CHECK(idle.gradients.counts.empty());
    CHECK_THROWS_AS(flow.after_update(), ValueError);
    flow.before_update();  // all values of w are now 0
    CHECK(std::isnan(flow.after_update()[0].ratio()));
}

TEST_CASE("log2 histogram: every power a double has") {
    const double infinity = std::numeric_limits<double>::infinity();
    const Log2Histogram h = log2_histogram(tensor<double>(
        {0x1p-1074, -0x1.8p-1070, 0x1p-1022, 0, -0.0, 1, 1.5, 0x1.fp1023, infinity, -infinity}));
    CHECK_EQ(h.first, -1074);
    REQUIRE_EQ(h.counts.size(), 1074 + 1024);
    const auto at = [&](int power) { return h.counts[static_cast<std::size_t>(power + 1074)]; };
    CHECK_EQ(at(-1074), 1);
    CHECK_EQ(at(-1070), 1);
    CHECK_EQ(at(-1022), 1);
    CHECK_EQ(at(0), 2);
    CHECK_EQ(at(1023), 1);
    CHECK_EQ(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}), 6);
    CHECK(log2_histogram(zeros({3})).counts.empty());
    CHECK(log2_histogram(Tensor()).counts.empty());
}

TEST_CASE("train: before_update sees the gradients and the parameters before the step") {
    Numbers numbers;
    SGD optimizer({{.parameters = {numbers.w}}}, {.lr = 0.5});
    std::vector<std::int64_t> seen;
    const TrainOptions options{.steps = 3,
                               .accumulate = 2,
                               .clip = 0,
                               .schedule = constant_schedule(0.5),
                               .eval_every = 2};
    train(optimizer, options,
          {.loss = [&] { return sum(numbers.w * 1.0); },  // gradient 1: each step takes 0.5
           .evaluate = {},
           .before_update =
               [&](std::int64_t step) {
                   seen.push_back(step);
                   CHECK_EQ(numbers.w.grad().to_vector<float>(), std::vector<float>{1, 1, 1, 1});
                   CHECK_EQ(numbers.w.to_vector<float>()[3], -0.5F * static_cast<float>(step - 1));
               },
           .report = {}});
    CHECK_EQ(seen, std::vector<std::int64_t>{1, 2, 3});
    CHECK_FALSE(options.evaluates_after(1));
    CHECK(options.evaluates_after(2));
    CHECK(options.evaluates_after(3));  // the last
    CHECK_FALSE(TrainOptions{.steps = 3, .schedule = {}}.evaluates_after(3));
}

TEST_CASE("counting losses by hand") {
    // 0 1 0 1 2 | 0 1 1: n = 5, counts 2 2 1 of 3 ids; the targets are 1 and 1.
    const auto ids = [](const std::vector<std::int64_t>& numbers) { return TokenIds(numbers); };
    const TokenIds training = ids({0, 1, 0, 1, 2}), held_out = ids({0, 1, 1});
    const CountingLosses losses = counting_losses(training, held_out, 3);
    CHECK_EQ(losses.uniform, doctest::Approx(std::log(3.0)));
    CHECK_EQ(losses.unigram, doctest::Approx(-std::log(3.0 / 8)));
    // p(1 | 0) = (2 + 1 p(1)) / (2 + 1); p(1 | 1) = (0 + 2 p(1)) / (2 + 2): 1 was followed by 0, 2
    const double p = 3.0 / 8;
    REQUIRE(losses.bigram.has_value());
    CHECK_EQ(*losses.bigram, doctest::Approx(-(std::log((2 + p) / 3) + std::log(2 * p / 4)) / 2));
    // 2 was never followed by anything: treated as unknown
    CHECK_EQ(*counting_losses(training, ids({2, 1}), 3).bigram, doctest::Approx(-std::log(p)));
    CHECK_FALSE(
        counting_losses(training, held_out, CountingLosses::kMostForPairs + 1).bigram.has_value());
    CHECK_THROWS_AS(counting_losses(training, held_out, 2), IndexError);
    CHECK_THROWS_AS(counting_losses(training, ids({-1, 0}), 3), IndexError);
    CHECK_THROWS_AS(counting_losses(ids({}), held_out, 3), ValueError);
    CHECK_THROWS_AS(counting_losses(training, ids({0}), 3), ValueError);
}

TEST_CASE("counting losses of a long text: pieces from all over it") {
    // Half of it 0, the rest alternating between 1 and 2, or the other way round.
    std::vector<std::byte> bytes(25'000'000);
    for (std::size_t i = bytes.size() / 2; i < bytes.size(); ++i) bytes[i] = std::byte(1 + i % 2);
    const TokenIds ids(bytes, IdType::u8);
    const CountingLosses losses = counting_losses(ids, ids, 3);
    CHECK_EQ(losses.unigram, doctest::Approx(1.5 * std::log(2.0)).epsilon(1e-3));
    CHECK_EQ(*losses.bigram, doctest::Approx(0).epsilon(1e-3));
    CHECK_THROWS_AS(counting_losses(ids, ids, 2), IndexError);
}

TEST_CASE("report: of many evaluations the first, the latest, and others evenly between") {
    for (const int count : {1, 2, 24, 25, 26, 48, 49, 1000}) {
        TrainingReport report({.steps = 100000});
        for (int i = 1; i <= count; ++i) report.add({.step = 100 * i, .sample = "x"});
        const auto& kept = report.evaluations();
        INFO(count);
        CHECK_LE(kept.size(), TrainingReport::kMostEvaluations);
        CHECK_GE(kept.size(), std::min<std::size_t>(static_cast<std::size_t>(count), 12));
        CHECK_EQ(kept.front().step, 100);
        CHECK_EQ(kept.back().step, 100 * count);
        if (kept.size() < 3) continue;
        const std::int64_t gap = kept[1].step - kept[0].step;
        for (std::size_t i = 2; i + 1 < kept.size(); ++i) {
            CHECK_EQ(kept[i].step - kept[i - 1].step, gap);
        }
        CHECK_LE(kept.back().step - kept[kept.size() - 2].step, gap);
    }
}

TEST_CASE("report: a hundred thousand steps make a page of bounded size") {
    TrainingReport report({.title = "long", .steps = 100000});
    for (int step = 1; step <= 100000; ++step) {
        report.add(StepMetrics{.step = step,
                               .loss = 2 + std::sin(step) / 3,
                               .lr = 1e-3 / step,
                               .grad_norm = 1 + std::cos(step) / 7,
                               .seconds = step * 0.01,
                               .step_seconds = 0.01 + 1e-5 * std::sin(step)});
        if (step % 10 == 0) {
            report.add({.step = step, .val_loss = 2.0, .sample = std::string(300, 'x')});
        }
    }
    CHECK_LT(to_json(report, {}).size(), 400000);
}

TEST_CASE("report: the contents of the page") {
    TrainingReport report({.title = "</script><b>\u732b",
                           .command = "tapestry train",
                           .options = {{"--steps", "3", "Steps"}},
                           .expected = {{"guessing", std::log(65.0), "ln(65)"}},
                           .steps = 3,
                           .tokens_per_step = 10,
                           .step_least = 0.25,
                           .clip = 1});
    report.add(
        StepMetrics{.step = 1, .loss = 4.25, .lr = 1e-3, .grad_norm = 2, .step_seconds = 0.5});
    report.add(StepMetrics{.step = 2,
                           .loss = 4,
                           .val_loss = 4.125,
                           .lr = 2e-3,
                           .grad_norm = 1.5,
                           .seconds = 1.5,
                           .step_seconds = 1});
    ParameterFlow w{.name = "w", .shape = {2}, .value_rms = 2, .gradient_rms = 3, .update_rms = 1};
    w.values = {.first = -1, .counts = {1, 1}};
    report.add({.step = 2, .val_loss = 4.125, .sample = "<i>\xe4\xb8", .flow = {w}});
    const std::string page = to_html(report, {.state = TrainingState::diverged,
                                              .message = "too far",
                                              .cost_seconds = 0.015,
                                              .started = 7,
                                              .written = 8});
    CHECK_NE(page.find("frame-src 'self' file:"), std::string::npos);
    CHECK_EQ(page.find("connect-src"), std::string::npos);
    const Json data = data_of(page);
    CHECK_EQ(data["title"], "</script><b>\u732b");
    CHECK_EQ(data["status"], Json({{"state", "diverged"},
                                   {"message", "too far"},
                                   {"step", 2},
                                   {"seconds", 1.5},
                                   {"cost", 0.015},
                                   {"total", 1.5},
                                   {"started", 7.0},
                                   {"written", 8.0}}));
    const auto at = [](int step, double value) { return Json({{"step", step}, {"value", value}}); };
    CHECK_EQ(
        data["curves"]["loss"],
        Json(
            {{"last", {1, 2}}, {"mean", {4.25, 4.0}}, {"latest", at(2, 4)}, {"lowest", at(2, 4)}}));
    CHECK_EQ(data["curves"]["val"], Json({{"last", {2}},
                                          {"mean", {4.125}},
                                          {"latest", at(2, 4.125)},
                                          {"lowest", at(2, 4.125)}}));
    CHECK_EQ(data["curves"]["seconds"]["mean"], Json({0.5, 1.0}));
    CHECK_EQ(data["recipe"]["expected"][0]["loss"], 4.17439);
    CHECK_EQ(data["recipe"]["tokens"], 10);
    CHECK_EQ(data["parameters"], Json::array({{{"name", "w"}, {"shape", {2}}}}));
    const Json& evaluation = data["evaluations"][0];
    CHECK_EQ(evaluation["sample"], "<i>\uFFFD");  // invalid UTF-8
    CHECK_EQ(evaluation["flow"][0]["ratio"], 0.5);
    CHECK_EQ(evaluation["flow"][0]["values"], Json({{"first", -1}, {"counts", {1, 1}}}));
}

TEST_CASE("report: LoRA's second matrix, which begins at 0, does not count as changed too much") {
    TrainingReport report({.steps = 20, .clip = 1});
    const auto ratio_with = [&](double of_a) {
        report.add(ReportedEvaluation{
            .step = 20,
            .lr = 1e-3,
            .flow = {
                {.name = "q.lora_query.a", .shape = {2, 4}, .value_rms = 1, .update_rms = of_a},
                {.name = "q.lora_query.b", .shape = {4, 2}, .value_rms = 1, .update_rms = 0.5},
                {.name = "q.lora_key.b", .shape = {4, 2}, .value_rms = 1, .update_rms = 0.5}}});
        return report.facts(TrainingState::finished).ratio;
    };
    CHECK_EQ(ratio_with(0.001), 0.001);
}

TEST_CASE("pages: six digits are those that a person would write") {
    Generator generator(3);
    const std::vector<double> x = randn({2000}, generator, DType::f64).to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double value = x[i] * std::pow(10.0, static_cast<double>(i % 60) - 30);
        CHECK_EQ(six_digits(value), std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr));
    }
    CHECK_EQ(six_digits(0), 0);
    CHECK_EQ(six_digits(999999.5), 1e6);
    CHECK_EQ(six_digits(0.1), 0.1);
    CHECK(std::isinf(six_digits(std::numeric_limits<double>::infinity())));
}

// nlohmann's tree allocates in its destructor: out of memory there means std::terminate.
TEST_CASE("report: where memory ends its data cannot be written, and nothing worse" *
          doctest::skip(test::kAddressSanitizer)) {
    const TrainingReport report = long_report();
    const int failures = test::failures_before_success([&] { to_json(report, {}); });
    if (failures == -2) return test::skip("the address space cannot be limited here");
    CHECK_GT(failures, 10);
    CHECK_LT(failures, 250);
}
