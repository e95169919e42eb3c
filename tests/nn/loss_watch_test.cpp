// LossWatch: which runs get a warning, and which do not.
#include <tapestry/nn/train/early_stopping.h>
#include <tapestry/tests/nn/support.h>

#include <functional>

using namespace tapestry;

namespace {

// The warning after `steps` steps with these losses; guessing gives ln(65) = 4.1744.
std::string concern(std::int64_t steps, const std::function<double(double)>& loss,
                    std::optional<double> val_loss = {}) {
    LossWatch watch({.model = {.vocab = 65}, .steps = steps, .lr = 0.25, .warmup = 7});
    for (std::int64_t step = 1; step <= steps; ++step) {
        const double noise = step % 2 == 0 ? 0.05 : -0.05;
        StepMetrics metrics{
            .step = step,
            .loss = loss(static_cast<double>(step) / static_cast<double>(steps)) + noise};
        if (step == steps) metrics.val_loss = val_loss;
        watch.add(metrics);
    }
    return watch.concern();
}

double falling(double t) { return 4.3 - 2.5 * std::min(1.0, 2 * t); }

}  // namespace

TEST_CASE("loss watch: no warnings for a run that goes well") {
    for (const std::int64_t steps : {20, 300, 5000}) {
        INFO(steps);
        CHECK_EQ(concern(steps, falling), "");
        CHECK_EQ(concern(steps, falling, 2.5), "");
        // Learning late, slowly, or with a bump on the way is fine.
        CHECK_EQ(concern(steps, [](double t) { return 4.2 - 0.3 * t; }), "");
        CHECK_EQ(concern(steps, [](double t) { return falling(t) + (t > 0.6 && t < 0.65); }), "");
    }
    CHECK_EQ(LossWatch({.model = {.vocab = 65}}).concern(), "");
}

TEST_CASE("loss watch: above the loss of guessing") {
    CHECK_EQ(
        concern(
            200, [](double) { return 4.5; }, 4.6),
        "the validation loss is 4.6000, while guessing one of 65 tokens would give 4.1744: more "
        "than 200 steps, or another learning rate than 0.25, may help");
    CHECK(concern(200, [](double) { return 4.5; }).starts_with("the loss is 4.5"));
    const std::string by_heart = concern(
        200, [](double) { return 0.05; }, 5);
    CHECK(
        by_heart.starts_with("the validation loss is 5.0000, while guessing one of 65 tokens would "
                             "give 4.1744; on what it learns from it is 0.05"));
    CHECK(by_heart.ends_with(": more data, fewer steps or dropout may help"));
    TrainingConfig config;
    config.set_model(VisionTransformerConfig{.classes = 10});
    LossWatch watch(config);
    watch.add({.step = 1, .loss = 4});
    CHECK(watch.concern().find("guessing one of 10 classes would give 2.3026") !=
          std::string::npos);
}

TEST_CASE("loss watch: of a custom task, the first of the losses that it expects") {
    TrainingConfig config{.lr = 0.25, .warmup = 7};
    config.set_model(CustomConfig{.name = "own"});
    const auto concern_of = [&](const std::vector<ExpectedLoss>& expected, double last) {
        LossWatch watch(config, expected);
        for (std::int64_t step = 1; step <= 1000; ++step) {
            watch.add({.step = step, .loss = step < 500 ? 3 : last});
        }
        return watch.concern();
    };
    const std::vector<ExpectedLoss> expected{{"the usual price", 7.5}, {"counting", 5}};
    CHECK_EQ(concern_of({}, 3), "");
    CHECK_EQ(concern_of({}, 9), "");
    CHECK_EQ(concern_of(expected, 3), "");
    const std::string risen = concern_of(expected, 7);
    CHECK(risen.starts_with("the loss fell to 3.0000 by step "));
    CHECK(risen.find(" and has risen to ") != std::string::npos);
    CHECK(concern_of(expected, 9).find("while the usual price would give 7.5000") !=
          std::string::npos);
}

TEST_CASE("loss watch: a loss that fell and rose again") {
    const auto ruined = [](double t) { return t < 0.5 ? falling(t) : 3.3; };
    const std::string said = concern(1000, ruined, 3.3);
    CHECK(said.starts_with("the loss fell to 2.0"));
    CHECK(said.find(" by step 499 and has risen to 3.3") != std::string::npos);
    CHECK(
        said.ends_with(": a learning rate below 0.25, or a warm-up longer than 7 steps, may help"));
    const auto lost = [](double t) { return t < 0.5 ? falling(t) : 7.0; };
    const std::string worse = concern(1000, lost, 7);
    CHECK(
        worse.starts_with("the validation loss is 7.0000, while guessing one of 65 tokens would "
                          "give 4.1744; it had fallen to 2.0"));
    CHECK(
        worse.ends_with("a learning rate below 0.25, or a warm-up longer than 7 steps, may help"));
}
