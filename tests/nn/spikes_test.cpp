// Which steps are outliers, and that a report names the command to open them.
#include <tapestry/nn/inspect/training_curve.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/tests/core/support.h>

#include <nlohmann/json.hpp>

#include <cmath>

using namespace tapestry;

namespace {

// Falls from 4 to 2 with a small oscillation.
StepMetrics usual(std::int64_t step) {
    const auto s = static_cast<double>(step);
    return {.step = step,
            .loss = 2 + 2 * std::exp(-s / 100) + 0.05 * std::sin(1.7 * s),
            .grad_norm = 1 + 0.1 * std::cos(2.3 * s)};
}

}  // namespace

TEST_CASE("spikes: a run that goes well has none") {
    Spikes spikes;
    for (std::int64_t step = 1; step <= 1000; ++step) spikes.add(usual(step));
    CHECK(spikes.all().empty());
}

TEST_CASE("spikes: what stands out is found, and does not hide what follows") {
    Spikes spikes;
    for (std::int64_t step = 1; step <= 500; ++step) {
        StepMetrics m = usual(step);
        if (step == 10) m.loss += 3;  // too early to know
        if (step == 200 || step == 203) m.loss += 3;
        if (step == 300) m.grad_norm = 1e300;
        if (step == 305) m.grad_norm = 3;
        if (step == 400) m.loss = std::nan("");
        if (step == 401) m.grad_norm = INFINITY;
        spikes.add(m);
    }
    REQUIRE_EQ(spikes.all().size(), 4);
    const std::int64_t steps[] = {200, 203, 300, 305};
    const char* what[] = {"loss", "loss", "grad_norm", "grad_norm"};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK_EQ(spikes.all()[i].step, steps[i]);
        CHECK_EQ(spikes.all()[i].what, what[i]);
        CHECK_GT(spikes.all()[i].deviations, 5);
    }
    CHECK_EQ(spikes.all()[3].value, 3);
    CHECK_LT(std::abs(spikes.all()[3].mean - 1), 0.2);
}

TEST_CASE("spikes: the first steps of a run that explodes") {
    Spikes spikes;
    for (std::int64_t step = 1; step <= 40; ++step) {
        const auto s = static_cast<double>(step);
        spikes.add({.step = step,
                    .loss = step == 1 ? 4.2 : 4.2 * std::pow(30, s - 1),
                    .grad_norm = step == 21 ? 5e16 : 1});
    }
    REQUIRE_EQ(spikes.all().size(), Spikes::kMost);
    CHECK_EQ(spikes.all()[0].step, 2);  // the first is kept, and the largest
    CHECK_EQ(spikes.all()[7].step, 40);
}

TEST_CASE("spikes: of many the largest stay, in their order") {
    Spikes spikes;
    for (std::int64_t step = 1; step <= 2000; ++step) {
        StepMetrics m = usual(step);
        if (step % 100 == 0) m.loss += 10 + static_cast<double>(step % 700);
        spikes.add(m);
    }
    REQUIRE_EQ(spikes.all().size(), Spikes::kMost);
    for (std::size_t i = 1; i < Spikes::kMost; ++i) {
        CHECK_LT(spikes.all()[i - 1].step, spikes.all()[i].step);
    }
    for (const Spike& spike : spikes.all()) CHECK_GE(spike.step % 700, 300);
}

TEST_CASE("spikes: mean and deviation of numbers that come from one distribution") {
    RunningMean mean;
    for (int i = 0; i < 49; ++i) mean.add(i % 2 == 0 ? 9 : 11);
    CHECK_EQ(mean.deviations(1e9), 0);  // one too few
    for (int i = 49; i < 4000; ++i) mean.add(i % 2 == 0 ? 9 : 11);
    CHECK(std::abs(mean.mean() - 10) < 0.05);
    CHECK(std::abs(mean.deviations(14) - 4) < 0.1);
}

TEST_CASE("spikes: the report has them, with the command if there is one") {
    for (const std::string rewind : {"", "tapestry rewind m"}) {
        TrainingReport report({.rewind = rewind});
        for (std::int64_t step = 1; step <= 100; ++step) {
            StepMetrics m = usual(step);
            if (step == 90) m.loss = 12.5;
            report.add(m);
        }
        const auto spikes = nlohmann::json::parse(to_json(report, {}))["spikes"];
        REQUIRE_EQ(spikes.size(), 1);
        CHECK_EQ(spikes[0]["step"], 90);
        CHECK_EQ(spikes[0]["what"], "loss");
        CHECK_EQ(spikes[0]["value"], 12.5);
        CHECK_EQ(spikes[0]["command"],
                 rewind.empty() ? "" : "tapestry rewind m --step 90 --inspect page.html");
    }
}
