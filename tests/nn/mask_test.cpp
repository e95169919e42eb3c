// Masked tokens: a run learns, its directory fills masks and is measured; what is refused.
#include <tapestry/nn/io/encoder_directory.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/mask/mask_task.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_message;

namespace {

// A hundred of each letter, again and again: the others say what a masked letter is.
TrainingConfig letters(const test::RunPlace& place) {
    std::string text;
    for (int i = 0; i < 3200; ++i) text += static_cast<char>('a' + i / 100 % 8);
    test::spill(place.text, text);
    TrainingConfig config{.task = "mask", .text = place.text.string()};
    config.set_model(MaskedLanguageModelConfig{
        .max_length = 16, .dim = 32, .heads = 2, .layers = 1, .dropout = 0, .deviation = 0.1});
    config.batch = 16;
    config.steps = test::is_short() ? 30 : 300;
    config.warmup = 10;
    config.lr = 0.01;
    config.eval_every = 100;
    config.eval_batches = 4;
    return config;
}

}  // namespace

TEST_CASE("mask: a run learns, its directory fills masks and is measured") {
    const test::RunPlace place;
    Session session(letters(place));
    Generator generator(3);
    const Batch batch = session.task().next_batch(generator);
    const auto inputs = batch.inputs.to_vector<std::int64_t>();
    const auto targets = batch.targets.to_vector<std::int64_t>();
    CHECK_EQ(count_targets(batch.targets), 16 * 2);  // 15 % of 16, rounded
    CHECK(std::count(inputs.begin(), inputs.end(), 8) > 16);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == 8) CHECK(targets[i] >= 0);
    }
    CHECK_EQ(session.evaluate(), Approx(std::log(9.0)).epsilon(0.3));
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const bool has_learned = !test::is_short();
    if (has_learned) CHECK_LT(session.evaluate(), 0.5);

    CHECK(model_kind(place.out) == ModelKind::masked);
    const auto task = load_mask_task(place.out);
    const FilledText filled = task->fill("ee[MASK]eeee[MASK]e", 2);
    if (has_learned) CHECK_EQ(filled.text, "eeeeeeeee");
    REQUIRE_EQ(filled.found.size(), 2);
    REQUIRE_EQ(filled.found[0].size(), 2);
    if (has_learned) CHECK_EQ(filled.found[0][0].first, "e");
    CHECK_GT(filled.found[0][0].second, filled.found[0][1].second);
    CHECK(task->fill("[MASK]bc", 0).found[0].empty());

    const TrainingConfig config{.text = place.text.string(), .start = place.out.string()};
    const MaskScores scores = task->score(config, Split::all, {.batches = 5, .batch = 4}, 1);
    CHECK_EQ(scores.tokens, 5 * 4 * 2);
    if (has_learned) CHECK_GT(scores.right, 34);
    CHECK(to_text(scores, "x").find(" nats per masked character (perplexity ") !=
          std::string::npos);
    CHECK(to_json(scores).find("\"masked\":40") != std::string::npos);
    check_message<IoError>([&] { load_model(place.out); },
                           "the model is a model of masked tokens, expected a GPT or a Llama");
    for (Tensor p : task->model().parameters()) p.fill_(NAN);
    check_message<DivergedError>([&] { task->fill("[MASK]bc", 1); },
                                 "the model's outputs contain nan: it has diverged");
    check_message<DivergedError>(
        [&] { task->score(config, Split::all, {.batches = 1, .batch = 4}, 1); }, "diverged");
}

TEST_CASE("mask: texts that do not fit the model or each other") {
    const test::RunPlace place;
    TrainingConfig config = letters(place);
    config.steps = 1;
    Session session(config);
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto task = load_mask_task(place.out);
    check_message<ValueError>([&] { task->fill("abc", 1); },
                              "the text has no [MASK], which stands for a character to predict");
    check_message<ValueError>([&] { task->fill("abcdefghabcdefgh[MASK]", 1); },
                              "the text has 17 characters; the model reads 16");
    check_message<ValueError>([&] { task->fill("x[MASK]", 1); }, "not in the model's vocabulary");
    check_message<ValueError>([&] { task->fill("ab[MASK]x", 1); }, "'x' (U+0078) at position 3");
    check_message<ValueError>([&] { task->batch_of("a[MASK]", "abc"); },
                              "the target has 3 characters, the text with masks 2");
    check_message<ValueError>([&] { task->batch_of("a[MASK]c", "bbc"); },
                              "character 1 is 'a' in the text and 'b' in the target");
    config.sequence = 17;
    check_message<ValueError>([&] { Session{config}; },
                              "--sequence 17 is more than the model's --max-length 16");
}

TEST_CASE("mask: parameters are counted from the configuration") {
    for (const std::int64_t classes : {0, 3}) {
        const MaskedLanguageModelConfig config{.vocab = 11,
                                               .max_length = 7,
                                               .dim = 8,
                                               .heads = 2,
                                               .layers = 3,
                                               .hidden = 20,
                                               .types = 2,
                                               .classes = classes};
        CHECK_EQ(parameter_count(config),
                 static_cast<double>(MaskedLanguageModel(config).parameter_count()));
        CHECK(training_bytes(config, 2, 1, 2) > 16 * parameter_count(config));
        CHECK(step_flops(config, 2) == 2 * step_flops(config, 1));
    }
}
