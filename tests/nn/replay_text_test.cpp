// The text about replayed steps, word for word except for the training's numbers.
#include <tapestry/core/create.h>
#include <tapestry/nn/terminal/replay_text.h>
#include <tapestry/nn/train/bisect.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>

#include <fmt/core.h>

using namespace tapestry;
using test::slurp;
using test::spill;

namespace {

// A run of ten steps; every other one has a checksum.
struct Trained : test::RunPlace {
    Trained() {
        TrainingConfig learned = config();
        learned.batch = 13;
        learned.accumulate = 2;
        learned.steps = 10;
        learned.warmup = 0;
        Session session(learned);
        TrainingRun run(session, {.out = out, .report = false, .hash_every = 2});
        run.to_the_end();
    }
};

// The text about step `number`.
std::string told_of(const RunHistory& history, std::int64_t number) {
    const Replayer replayer(history);
    const auto session = replayer.session_before(number);
    const ReplayedStep step = replay_step(*session, false);
    return to_text(step, history, replayer.start_of(number), session->tokenizer(), 40);
}

bool has(const std::string& text, const std::string& words) {
    INFO(text);
    return text.find(words) != std::string::npos;
}

// Changes the loss of step 4 in the run's file.
void change_loss(const std::filesystem::path& metrics) {
    std::string lines = slurp(metrics);
    const auto begin = lines.find("\"loss\":", lines.find("\"step\":4,")) + 7;
    lines.replace(begin, lines.find(',', begin) - begin, "1.5");
    spill(metrics, lines);
}

}  // namespace

TEST_CASE("rewind text: numbers, the largest update, where from, and what it learned from") {
    const Trained trained;
    const RunHistory history(trained.out);
    const std::string text = told_of(history, 4);
    const StepMetrics& m = history.step(4);
    CHECK(text.starts_with(fmt::format(
        "step 4: loss {}, grad_norm {}, lr {}\ngrad_xxh3 {}\nthe same bits as metrics.jsonl\n",
        m.loss, m.grad_norm, m.lr, m.grad_xxh3)));
    CHECK(has(text, "\nlargest update: "));
    CHECK(has(text,
              " of its size\nreplayed from the beginning, 3 steps away; it learned from\n"
              "   1  '"));
    CHECK(has(text, "\n  24  '"));
    CHECK(text.ends_with("\n      and 2 more\n"));  // of 2 x 13
    CHECK(has(told_of(history, 1), "replayed from the beginning; it learned from\n"));
    CHECK(has(told_of(history, 3), ", which metrics.jsonl does not have\n"));
}

TEST_CASE("rewind text: what differs is named, and all steps are counted") {
    const Trained trained;
    change_loss(trained.out / "metrics.jsonl");
    const RunHistory history(trained.out);
    CHECK(has(told_of(history, 4), "\nmetrics.jsonl differs: loss was 1.5 and is "));
    std::vector<std::int64_t> differ;
    const RunComparison all =
        compare_all(history, Replayer(history), [&](std::int64_t step, const std::string& what) {
            differ.push_back(step);
            CHECK(what.starts_with("loss was 1.5 and is "));
        });
    CHECK_EQ(differ, std::vector<std::int64_t>{4});
    CHECK_EQ(all.steps, 10);
    CHECK_EQ(all.same, 9);
    CHECK_EQ(all.with_gradients, 4);  // of steps 2, 6, 8 and 10
}

TEST_CASE("rewind text: a long wait is announced") {
    CHECK_EQ(wait_text({.state = 1000, .steps = 250, .seconds = 31.4}),
             "replaying 250 steps from step 1000; in the run they took 31 s\n");
    CHECK_EQ(wait_text({.state = 1000, .steps = 2, .seconds = 2.9}), "");
}

TEST_CASE("rewind text: a recorded step, its outcome then and now, its page") {
    Generator generator(1);
    const CharTokenizer tokenizer = CharTokenizer::from_text("abcd");
    GPT model({.vocab = 4, .context = 4, .layers = 1, .heads = 2, .dim = 8}, generator);
    const Tensor ids = tensor<std::int64_t>({0, 1, 2, 3, 3, 2, 1, 0}, {2, 4});
    const RecordedStep step{.step = 7, .batches = {{.batch = {ids, ids}}, {.batch = {ids, ids}}}};
    const ReplayedGradients replayed = replay_gradients(model, step, generator);
    const RecordedOutcome now = outcome_of(step, replayed);
    CHECK_EQ(
        to_text(step, replayed, now),
        fmt::format("step 7: loss {}, the same bits as then\n{}\n", replayed.loss, now.finding));
    const RecordedOutcome other{.finding = "first NaN", .loss_bits = 0, .built = "elsewhere"};
    CHECK_EQ(to_text(step, replayed, other),
             fmt::format("step 7: loss {}, then 0 (elsewhere; now {})\n{}\nthen: first NaN\n",
                         replayed.loss, now.built, now.finding));

    const PageOptions page = page_of(step, replayed, model, tokenizer, "m/trap");
    CHECK_EQ(page.title, "Step 7, replayed");
    CHECK(page.subtitle.starts_with("m/trap; "));
    CHECK(has(page.subtitle, " parameters; batch 2 of 2, 2 sequences of 4; loss "));
    REQUIRE_EQ(page.texts.size(), 1);
    CHECK_EQ(page.texts[0].queries, std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("bisect: how much an answer is worth") {
    const Trained trained;
    const RunHistory history(trained.out);
    CHECK_EQ(looked_at({}, history), "looked at all 10 steps, in metrics.jsonl");
    CHECK_EQ(looked_at({.probed = {1}}, history), "looked at step 1");
    CHECK_EQ(looked_at({.probed = {1}, .walk_first = 2, .walk_last = 10}, history),
             "looked at step 1, then at each from 2 to 10");
    CHECK_EQ(looked_at({.probed = {1, 5}, .walk_first = 2, .walk_last = 4}, history),
             "looked at steps 1, 5, then at each from 2 to 4; a short excursion between them may "
             "have been missed");
    FoundStep many;
    for (std::int64_t step = 1; step <= 20; ++step) many.probed.push_back(step);
    CHECK_EQ(looked_at(many, history),
             "looked at steps 1, 2, 3, 4, 5, 6, 7, 8, ..., 20 (20 of them); a short excursion "
             "between them may have been missed");
}
