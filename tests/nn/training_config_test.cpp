// TrainingConfig: to JSON and back, and how the loop uses it; streams of random numbers: keys that
// never change, and no two alike.
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_config.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

#include <set>

using namespace tapestry;
using doctest::Approx;
using test::check_message;
using test::check_throws;

TEST_CASE("training config: what JSON keeps is the configuration") {
    TrainingConfig given{.recipe = Recipe::fast,
                         .task = "classify",
                         .text = "a \"b\".txt",
                         .data = "d",
                         .test_fraction = 0.01,
                         .start = "m",
                         .model = {.vocab = 5,
                                   .context = 7,
                                   .layers = 1,
                                   .dropout = 0.1,
                                   .deviation = 0.3,
                                   .zero_outputs = true},
                         .train_only = {"blocks.0", "final_norm"},
                         .batch = 3,
                         .order = BatchOrder::epoch,
                         .accumulate = 2,
                         .micro_batches = 3,
                         .steps = 11,
                         .optimizer = "muon",
                         .lr = 1.0 / 3,
                         .min_lr = 0.01,
                         .warmup = 4,
                         .schedule = RateCurve::trapezoid,
                         .cooldown = 0.3,
                         .muon_lr = 2,
                         .muon_momentum = 0.7,
                         .muon_iterations = 3,
                         .weight_decay = 0.2,
                         .beta1 = 0.8,
                         .beta2 = 0.95,
                         .eps = 1e-6,
                         .momentum = 0.6,
                         .nesterov = true,
                         .alpha = 0.7,
                         .centered = true,
                         .clip = 0.5,
                         .eval_every = 6,
                         .eval_batches = 8,
                         .seed = ~std::uint64_t{0}};
    const std::string json = to_json(given);
    const TrainingConfig read = training_config_from_json(json, "c");
    for_each_field<TrainingConfig>([&](const auto& one) {
        INFO(one.name);
        CHECK(read.*one.member == given.*one.member);
    });
    CHECK_EQ(to_json(read), json);
    for_each_field<GPTConfig>([&](const auto& one) {
        INFO(one.name);
        CHECK(read.model.*one.member == given.model.*one.member);
    });
    const auto parsed = nlohmann::json::parse(json);
    CHECK_EQ(parsed.at("lr"), 1.0 / 3);
    CHECK_EQ(parsed.at("model").at("context"), 7);
    const TrainingConfig usual = training_config_from_json(
        R"({"model": {"vocab": 2, "context": 4, "layers": 1, "heads": 1, "dim": 4, "dropout": 0,)"
        R"( "bias": true, "tied_head": true}, "steps": 5})",
        "c");
    CHECK_EQ(usual.steps, 5);
    CHECK_EQ(usual.lr, 1e-3);
    check_throws<IoError>([] { training_config_from_json("{}", "c"); }, "c: \"model\" is missing");
    check_throws<IoError>([] { training_config_from_json(R"({"steps": "many"})", "c"); },
                          "c: \"steps\" has an invalid value: \"many\"");
}

TEST_CASE(
    "training config: every member except the model, which has a separate list, has a field") {
    const TrainingConfig config;
    [[maybe_unused]] const auto& [recipe, task, text, data, chat_template, chat_system,
                                  chat_system_empty, test_fraction, start, start_hash, start_place,
                                  model, other_model, start_dropout, sequence, train_only, lora,
                                  lora_alpha, lora_dropout, lora_targets, lora_rank_stabilized,
                                  frozen_weights, batch, order, accumulate, micro_batches, steps,
                                  minutes, optimizer, lr, min_lr, warmup, schedule, cooldown,
                                  muon_lr, muon_momentum, muon_iterations, weight_decay, beta1,
                                  beta2, eps, momentum, nesterov, alpha, centered, clip, eval_every,
                                  eval_batches, seed] = config;
    int fields = 0;
    for_each_field<TrainingConfig>([&](const auto&) { ++fields; });
    CHECK_EQ(fields, 49 - 3);
}

TEST_CASE("training config: a name that JSON cannot keep is refused, not altered") {
    TrainingConfig config{.text = "caf\xE9.txt"};
    const std::string words =
        "training: text 'caf\\xE9.txt' is not UTF-8, so a checkpoint cannot store it";
    check_message<ValueError>([&] { to_json(config); }, words);
    check_message<ValueError>([&] { Session session(config); }, words);
    config = {.text = "caf\u00E9.txt", .start = "\xFF"};
    check_message<ValueError>([&] { to_json(config); }, "training: start '\\xFF' is not UTF-8");
    config.start = "";
    CHECK_EQ(training_config_from_json(to_json(config), "c").text, config.text);
}

TEST_CASE("training config: the loop it asks for") {
    const TrainingConfig config{.model = {.context = 8},
                                .batch = 3,
                                .accumulate = 2,
                                .micro_batches = 3,
                                .steps = 10,
                                .lr = 0.5,
                                .min_lr = 0.1,
                                .warmup = 2,
                                .clip = 0.25,
                                .eval_every = 4};
    CHECK_EQ(config.tokens_per_step(), 3 * 8 * 2);
    const TrainOptions loop = config.loop();
    CHECK_EQ(loop.steps, 10);
    CHECK_EQ(loop.accumulate, 2);
    CHECK_EQ(loop.micro_batches, 3);
    CHECK_EQ(config.micro_batch_size(), 1);
    CHECK_EQ(loop.clip, 0.25);
    CHECK(loop.evaluates_after(8));
    CHECK(loop.evaluates_after(10));
    CHECK_EQ(loop.schedule(0), Approx(0.25));
    CHECK_EQ(loop.schedule(2), Approx(0.5));
    CHECK_EQ(loop.schedule(10), Approx(0.1));
    TrainingConfig level = config;
    level.schedule = RateCurve::trapezoid;
    level.cooldown = 0.5;
    CHECK_EQ(level.loop().schedule(5), Approx(0.5));
    CHECK_EQ(level.loop().schedule(8), Approx(0.26));
}

TEST_CASE("training config: a recipe is all fields but those that are given") {
    TrainingConfig config{
        .recipe = Recipe::fast, .text = "t.txt", .model = {.layers = 2}, .lr = 0.5};
    fill_in_recipe(config, {"text", "layers", "lr"});
    CHECK_EQ(config.text, "t.txt");
    CHECK_EQ(config.lr, 0.5);
    CHECK_EQ(config.model.layers, 2);
    const TrainingConfig fast = settings_of(Recipe::fast);
    CHECK(fast.recipe == Recipe::fast);
    CHECK_EQ(config.steps, fast.steps);
    CHECK(config.model.positions == fast.model.positions);
    CHECK_EQ(to_json(settings_of(Recipe::standard)), to_json(TrainingConfig()));
    fill_in_recipe(config = {.text = "t.txt"}, {"text"});
    CHECK_EQ(to_json(config), to_json(TrainingConfig{.text = "t.txt"}));
    // The usual end of the rate, 1e-4, would be above this one.
    fill_in_recipe(config = {.lr = 1e-5}, {"lr"});
    CHECK_EQ(config.min_lr, Approx(1e-6));
    fill_in_recipe(config = {.lr = 3e-4}, {"lr"});
    CHECK_EQ(config.min_lr, 1e-4);
}

TEST_CASE("streams: those that every run has keep their keys") {
    CHECK_EQ(stream(1337, Stream::weights).seed(), 4 * 1337);
    CHECK_EQ(stream(1337, Stream::batches).seed(), 4 * 1337 + 1);
    CHECK_EQ(stream(1337, Stream::evaluation).seed(), 4 * 1337 + 2);
    CHECK_EQ(stream(1337, Stream::samples).seed(), 4 * 1337 + 3);
    CHECK_EQ(stream(~std::uint64_t{0}, Stream::weights).seed(), ~std::uint64_t{0} - 3);
}

TEST_CASE("streams: names, steps and indices have different keys, fixed for ever") {
    std::set<std::uint64_t> keys;
    std::size_t count = 0;
    for (const std::uint64_t seed : {0U, 1U, 1337U}) {
        for (const Stream name :
             {Stream::weights, Stream::batches, Stream::evaluation, Stream::samples}) {
            keys.insert(stream(seed, name).seed());
            ++count;
        }
        for (const char* name : {"", "dropout", "dropouts", "tuodpor"}) {
            for (std::uint64_t step = 0; step < 5; ++step) {
                for (std::uint64_t index = 0; index < 5; ++index, ++count) {
                    const Generator generator = stream(seed, name, step, index);
                    CHECK_EQ(generator.offset(), 0);
                    keys.insert(generator.seed());
                }
            }
        }
    }
    CHECK_EQ(keys.size(), count);
    CHECK_EQ(stream(1337, "dropout", 3, 2).seed(), stream(1337, "dropout", 3, 2).seed());
    // Another number here would change training for the same seed.
    CHECK_EQ(stream(1337, "dropout", 3, 2).seed(), 8275948223501694007U);
}
