// A session in a directory, without the command: its files, its callbacks, and how it ends.
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::slurp;
using test::spill;

namespace {

namespace fs = std::filesystem;

struct ShortRunPlace : test::RunPlace {
    TrainingConfig config() const {
        TrainingConfig config = RunPlace::config();
        config.steps = 5;
        config.warmup = 0;
        config.eval_every = 2;
        return config;
    }
    // A run with an absurd learning rate.
    TrainingConfig diverging() const {
        TrainingConfig config = this->config();
        config.lr = 1000;
        config.weight_decay = 1000;
        config.steps = 500;
        return config;
    }
};

}  // namespace

TEST_CASE("training run: what is learned, saved and told") {
    const ShortRunPlace place;
    Session session(place.config());
    std::vector<StepMetrics> seen;
    TrainingRun run(session, {.out = place.out,
                              .recipe = {.command = "a command", .options = {{"--out", "m"}}},
                              .stepped = [&](const StepMetrics& m, const Speed& speed) {
                                  CHECK_GT(speed.tokens_per_second(), 0);
                                  CHECK_GT(speed.of_peak(), 0);
                                  seen.push_back(m);
                                  return true;
                              }});
    const TrainingResult result = run.to_the_end();
    CHECK_FALSE(result.interrupted);
    CHECK_EQ(result.last.step, 5);
    REQUIRE_EQ(seen.size(), 5);
    CHECK(result.val_loss == seen.back().val_loss);
    CHECK(seen[1].val_loss.has_value());
    CHECK_FALSE(seen[2].val_loss.has_value());
    const LoadedModel loaded = load_model(place.out);
    CHECK(test::numbers_of(*loaded.model) == test::numbers_of(session.model()));
    const Metrics metrics = read_metrics(place.out / kMetricsName);
    REQUIRE_EQ(metrics.losses.size(), 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK_EQ(metrics.losses[i], seen[i].loss);
    CHECK(metrics.eval_steps == std::vector<double>{2, 4, 5});
    const std::string page = slurp(place.out / "report.html");
    CHECK(page.find("a command") != std::string::npos);
    CHECK(page.find("\"finished\"") != std::string::npos);
    CHECK(result.report.starts_with("report in "));
}

TEST_CASE("training run: with files and watchers or without, the same bits") {
    const ShortRunPlace place;
    Session plain(place.config()), whole(place.config()), bare(place.config());
    while (!plain.is_finished()) plain.take_step();
    TrainingRun(whole, {.out = place.out, .trap_nan = true}).to_the_end();
    TrainingRun(bare, {.out = place.scratch / "n", .report = false}).to_the_end();
    CHECK(test::numbers_of(whole.model()) == test::numbers_of(plain.model()));
    CHECK(test::numbers_of(bare.model()) == test::numbers_of(plain.model()));
    CHECK_FALSE(fs::exists(place.scratch / "n" / "report.html"));
    CHECK_FALSE(fs::exists(place.out / "trap"));
}

TEST_CASE("training run: one that is ended early is saved as far as it came") {
    const ShortRunPlace place;
    Session session(place.config());
    const TrainingResult result =
        TrainingRun(session,
                    {.out = place.out,
                     .stepped = [](const StepMetrics& m, const Speed&) { return m.step < 3; }})
            .to_the_end();
    CHECK(result.interrupted);
    CHECK_EQ(result.last.step, 3);
    CHECK_EQ(session.steps(), 3);
    CHECK(test::numbers_of(*load_model(place.out).model) == test::numbers_of(session.model()));
    CHECK(slurp(place.out / kMetricsName).find("\"interrupted\":true") != std::string::npos);
    CHECK(slurp(place.out / "report.html").find("\"interrupted\"") != std::string::npos);
}

TEST_CASE("training run: one that is ended after its last step has finished") {
    const ShortRunPlace place;
    Session session(place.config());
    const std::int64_t steps = session.config().steps;
    const TrainingResult result =
        TrainingRun(session, {.out = place.out,
                              .report = false,
                              .stepped = [steps](const StepMetrics& m,
                                                 const Speed&) { return m.step < steps; }})
            .to_the_end();
    CHECK_FALSE(result.interrupted);
    CHECK_EQ(result.last.step, steps);
    CHECK(slurp(place.out / kMetricsName).find("\"interrupted\":false") != std::string::npos);
}

TEST_CASE("training run: a model that is there keeps its weights and metrics until a save") {
    const ShortRunPlace place;
    {
        Session first(place.config());
        TrainingRun(first, {.out = place.out}).to_the_end();
    }
    const std::string weights = slurp(place.out / "model.safetensors");
    const std::string metrics = slurp(place.out / kMetricsName);
    TrainingConfig config = place.diverging();
    config.eval_every = 0;
    Session second(config);
    const std::string said =
        message_of<DivergedError>([&] { TrainingRun(second, {.out = place.out}).to_the_end(); });
    CHECK(said.find("a lower learning rate or stronger clipping may help") != std::string::npos);
    CHECK(slurp(place.out / "model.safetensors") == weights);
    CHECK(slurp(place.out / kMetricsName) == metrics);
    CHECK(fs::exists(place.out / kNewMetricsName));
    CHECK(slurp(place.out / "report.html").find("\"diverged\"") != std::string::npos);
    Session third(place.config());
    TrainingRun(third, {.out = place.out}).to_the_end();
    CHECK(slurp(place.out / kMetricsName) != metrics);
    CHECK_FALSE(fs::exists(place.out / kNewMetricsName));
}

TEST_CASE("training run: the files of a model that is there go with it, the user's stay") {
    const ShortRunPlace place;
    const auto pairs = BytePairTokenizer::from_merges({});
    Generator generator(1);
    const GPT before({.vocab = 257, .context = 8, .layers = 1, .heads = 1, .dim = 8}, generator);
    save_model(place.out, before, pairs);
    spill(place.out / "merges.txt", "mine");
    std::string said;
    Session session(place.config());
    TrainingRun(session, {.out = place.out,
                          .report = false,
                          .warn = [&](const std::string& message) { said += message; }})
        .to_the_end();
    CHECK(fs::exists(place.out / "tokenizer.json"));
    CHECK_FALSE(fs::exists(place.out / "vocab.json"));
    CHECK_EQ(slurp(place.out / "merges.txt"), "mine");
    CHECK(said.find("merges.txt': not what was saved there; left unchanged") != said.npos);
}

TEST_CASE("training run: a trap names what was not finite and keeps the step") {
    const ShortRunPlace place;
    Session session(place.config());
    for (auto& [name, parameter] : session.model().named_parameters()) {
        if (name == "final_norm.bias") parameter.fill_(INFINITY);
    }
    TrainingRun run(session, {.out = place.out, .trap_nan = true});
    const std::string said = message_of<DivergedError>([&] { run.to_the_end(); });
    CHECK(said.find("first infinity: parameter final_norm.bias") != std::string::npos);
    CHECK(said.find("; the run started with weights that are not finite") != std::string::npos);
    RecordedOutcome then;
    const LoadedModel loaded = load_model(place.out / "trap");
    const RecordedStep step = read_step(place.out / "trap", loaded.model->model_config(), then);
    loaded.model->train();
    const ReplayedGradients again = replay_gradients(*loaded.model, step, default_generator());
    CHECK_EQ(outcome_of(step, again).loss_bits, then.loss_bits);
    CHECK(said.find(then.finding) != std::string::npos);
}

TEST_CASE("training run: what is refused before any work") {
    const ShortRunPlace place;
    TrainingConfig done = place.config();
    done.steps = 1;
    Session finished(done);
    finished.take_step();
    check_message<ValueError>([&] { TrainingRun run(finished, {.out = place.scratch / "n"}); },
                              "training run: the session has taken all of its 1 steps");
    CHECK_FALSE(fs::exists(place.scratch / "n"));
    Session session(place.config());
    spill(place.out, "a file");
    check_message<IoError>([&] { TrainingRun run(session, {.out = place.out}); },
                           "cannot create directory");
    CHECK_EQ(session.steps(), 0);
}

TEST_CASE("recipe: the final configuration, and the caller's lines") {
    const ShortRunPlace place;
    TrainingConfig config = place.config();
    config.min_lr = 0.25;
    const Session session(config);
    const TrainingRecipe recipe =
        recipe_of(session, {.command = "c", .options = {{"--min-lr", "1/4"}, {"--out", "m"}}}, 0.5);
    const auto value = [&](const std::string& name) {
        const auto found = std::find_if(recipe.options.begin(), recipe.options.end(),
                                        [&](const RecipeLine& line) { return line.name == name; });
        return found == recipe.options.end() ? "nothing" : found->value;
    };
    CHECK_EQ(recipe.command, "c");
    CHECK_EQ(value("--min-lr"), "0.25");
    CHECK_EQ(value("--out"), "m");
    CHECK_EQ(value("--vocab"), "nothing");  // no option of the command
    CHECK_EQ(value("--rotary-pairs"), "nothing");
    CHECK_EQ(value("--positions"), "learned");
    CHECK_EQ(value("--tied-head"), "yes");
    CHECK_EQ(value("--model"), "nothing");  // nothing to start from
    CHECK_EQ(recipe.step_least, 0.5);
    CHECK_EQ(recipe.steps, 5);
    REQUIRE_EQ(recipe.expected.size(), 3);
    CHECK_EQ(recipe.expected[0].loss,
             doctest::Approx(std::log(static_cast<double>(session.tokenizer().vocab_size()))));
    CHECK_LT(recipe.expected[1].loss, recipe.expected[0].loss);
}
