// What makes training fast? The fast recipe without each of its ingredients, and with each that was
// rejected: the loss after the same number of steps, and the time per step.
#include <tapestry/core/clock.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/nn/train/training_config.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace tapestry::experiments::speedrun {
namespace {

// ---- training runs: a configuration's steps on a text, its loss on a part that was used to
// develop the recipe and on one that was not, and the time per step

constexpr std::size_t kStories = 1000000;  // bytes
constexpr std::size_t kPieces = 40;        // points per curve

// The text's characters as ids. The last twentieth is the test part, the one before it validation.
struct SpeedrunText {
    std::int64_t vocab;
    TextData data;
};

// A session without files.
class Training {
public:
    Training(const SpeedrunText& text, const TrainingConfig& config, std::uint64_t seed)
        : text_(text),
          config_(config),
          seed_(seed),
          weights_(stream(seed, Stream::weights)),
          batches_(stream(seed, Stream::batches)),
          model_(with_vocab(config.model, text.vocab), weights_),
          optimizer_(make_optimizer(model_, config)),
          loop_(*optimizer_, without_evaluations(config),
                {.loss =
                     [this] {
                         const Batch batch =
                             text_.data.batch(config_.order, Split::train, config_.batch,
                                              config_.model.context, batches_);
                         return model_.loss(batch.inputs, batch.targets);
                     },
                 .evaluate = {},
                 .report = {}}) {}

    StepMetrics step() { return loop_.next(); }

    double loss(Split split) {
        Generator generator = stream(seed_, Stream::evaluation);
        return evaluate(model_, text_.data, split,
                        {.batches = config_.eval_batches, .batch = config_.batch}, generator);
    }

private:
    static GPTConfig with_vocab(GPTConfig config, std::int64_t vocab) {
        config.vocab = vocab;
        return config;
    }
    static TrainOptions without_evaluations(const TrainingConfig& config) {
        TrainOptions options = config.loop();
        options.eval_every = 0;
        return options;
    }

    const SpeedrunText& text_;
    TrainingConfig config_;
    std::uint64_t seed_;
    Generator weights_, batches_;
    GPT model_;
    std::unique_ptr<Optimizer> optimizer_;
    TrainLoop loop_;
};

// The text in the file, or generated stories if there is none.
std::shared_ptr<const SpeedrunText> speedrun_text(const Setting& setting) {
    const std::string text =
        setting.text.empty() ? examples::write_stories(1, kStories).text : read_text(setting.text);
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    return std::make_shared<const SpeedrunText>(SpeedrunText{
        tokenizer.vocab_size(), TextData(tokenizer.encode(text), {.test_fraction = 0.05})});
}

// All steps, as in `tapestry train --seed SEED`. Numbers: "validation" and "test", the final
// losses. Curve: "loss", the training loss averaged over each fortieth of the steps.
Measured train_on(const SpeedrunText& text, TrainingConfig config, std::uint64_t seed) {
    Training training(text, config, seed);
    Measured m;
    std::vector<double>& curve = m.curves["loss"];
    const std::int64_t piece = std::max<std::int64_t>(1, config.steps / std::int64_t{kPieces});
    double sum = 0;
    for (std::int64_t step = 1; step <= config.steps; ++step) {
        sum += training.step().loss;
        if (step % piece != 0) continue;
        curve.push_back(sum / static_cast<double>(piece));
        sum = 0;
    }
    m.numbers = {{"validation", training.loss(Split::validation)},
                 {"test", training.loss(Split::test)}};
    return m;
}

// Only the first steps. Numbers: "ms", the median time of a step.
Measured time_steps(const SpeedrunText& text, TrainingConfig config, std::int64_t steps,
                    std::uint64_t seed) {
    Training training(text, config, seed);
    std::vector<double> ms;
    for (std::int64_t i = 0; i < steps + 5; ++i) {
        const double seconds = training.step().step_seconds;
        if (i >= 5) ms.push_back(1000 * seconds);  // the first ones allocate memory
    }
    const auto middle = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2);
    std::nth_element(ms.begin(), middle, ms.end());
    Measured m;
    m.numbers["ms"] = *middle;
    return m;
}

// All steps and the final evaluation. Numbers: "seconds" for both, "validation".
Measured time_training(const SpeedrunText& text, TrainingConfig config, std::uint64_t seed) {
    Training training(text, config, seed);
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < config.steps; ++i) training.step();
    const double loss = training.loss(Split::validation);
    Measured m;
    m.numbers = {{"seconds", seconds_since(start)}, {"validation", loss}};
    return m;
}

// ---- recipes

constexpr const char *kFast = "the recipe", *kStandard = "the standard recipe, all its steps";
constexpr const char* kClock = "the recipe by the clock";

// A row: the recipe with one change.
struct Row {
    const char* name;
    void (*change)(TrainingConfig&);
    const char* claim = nullptr;     // of an ingredient: that it helps
    const char* sentence = nullptr;  // the sentence of that claim
};

const std::vector<Row>& ingredients() {
    using C = TrainingConfig;
    static const std::vector<Row> all{
        {"AdamW instead of Muon", [](C& c) { c.optimizer = "adamw"; }, "muon_helps",
         "Muon helps, at the same rate."},
        {"Muon with a momentum of 0.95", [](C& c) { c.muon_momentum = 0.95; }, "momentum_helps",
         "A shorter memory than Muon's usual one helps."},
        {"rate 1e-3, cosine to a tenth", [](C& c) { c.lr = 1e-3, c.min_lr = 1e-4; }, "rate_helps",
         "A rate six times the usual one, falling to nothing, helps."},
        {"learned positions instead of rotary",
         [](C& c) { c.model.positions = Positions::learned; }, "rotary_helps",
         "Rotary positions help."},
        {"no tables of earlier tokens", [](C& c) { c.model.earlier = 0; }, "earlier_helps",
         "Tables of earlier tokens help."},
        {"no norms of queries and keys", [](C& c) { c.model.qk_norm = QKNorm::none; },
         "qk_norm_helps", "Norms of queries and keys help."},
        {"a head that is the token embedding", [](C& c) { c.model.tied_head = true; },
         "own_head_helps", "Its own head helps."},
        {"outputs that begin as usual", [](C& c) { c.model.zero_outputs = false; },
         "zero_outputs_help", "Outputs that begin as zeros help."},
        {"gelu instead of relu squared", [](C& c) { c.model.activation = Activation::gelu_tanh; },
         "relu_squared_helps", "relu squared helps."}};
    return all;
}

// Ingredients that were tried and rejected.
const std::vector<Row>& left_out() {
    using C = TrainingConfig;
    static const std::vector<Row> all{
        {"with five iterations of Muon", [](C& c) { c.muon_iterations = 5; }},
        {"with logits bent at 15", [](C& c) { c.model.softcap = 15; }},
        {"with two earlier tokens more", [](C& c) { c.model.earlier += 2; }},
        {"with batches of 8, half as many steps more", [](C& c) {
             c.batch = c.batch * 2 / 3;
             c.steps = c.steps * 3 / 2;
         }}};
    return all;
}

std::vector<Row> rows() {
    std::vector<Row> all = ingredients();
    all.insert(all.end(), left_out().begin(), left_out().end());
    return all;
}

// The quick form uses a smaller model and fewer steps, which do not predict the full verdicts.
TrainingConfig sized(const Setting& setting, TrainingConfig config) {
    if (!setting.quick) return config;
    config.model.context = 16;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.dim = 32;
    config.batch = 4;
    config.steps = config.recipe == Recipe::fast ? 30 : 60;
    config.warmup = 5;
    config.eval_batches = 4;
    return config;
}

TrainingConfig standard(const Setting& setting) {
    TrainingConfig config = settings_of(Recipe::standard);
    config.eval_batches = settings_of(Recipe::fast).eval_batches;
    return sized(setting, config);
}

TrainingConfig fast_but(const Setting& setting, void (*change)(TrainingConfig&)) {
    TrainingConfig config = sized(setting, settings_of(Recipe::fast));
    if (change != nullptr) change(config);
    return config;
}

std::string step_of(const std::string& name) { return name + ", a step"; }

std::vector<Trial> trials(const Setting& setting) {
    const auto text = speedrun_text(setting);
    std::vector<Trial> all;
    const auto add = [&](const std::string& name, const TrainingConfig& config) {
        all.push_back({name, [=](std::uint64_t seed) { return train_on(*text, config, seed); }});
        const std::int64_t steps = setting.pick(20, 3);
        all.push_back({step_of(name),
                       [=](std::uint64_t seed) { return time_steps(*text, config, steps, seed); },
                       true});
    };
    add(kStandard, standard(setting));
    add(kFast, fast_but(setting, nullptr));
    for (const Row& row : rows()) add(row.name, fast_but(setting, row.change));
    all.push_back({kClock,
                   [=, config = fast_but(setting, nullptr)](std::uint64_t seed) {
                       return time_training(*text, config, seed);
                   },
                   true});
    return all;
}

// The difference between without and with, per seed.
Interval lead(const Outcomes& o, const char* without, const char* with, const char* part) {
    return student(differences(o.values(without, part), o.values(with, part)));
}

Table rows_table(const Setting& setting, const Outcomes& o) {
    Table table{fmt::format("Nats after {} steps", fast_but(setting, nullptr).steps),
                {"recipe", "validation", "more than the recipe", "test", "ms a step"},
                {}};
    const auto add = [&](const char* name, bool is_other) {
        table.rows.push_back({name, fixed(o.of(name, "validation"), 4),
                              is_other ? fixed(lead(o, name, kFast, "validation"), 4) : Cell(""),
                              fixed(o.of(name, "test"), 4),
                              timed(fixed(o.of(step_of(name), "ms").mean, 2))});
    };
    add(kFast, false);
    for (const Row& row : rows()) add(row.name, true);
    return table;
}

Table both_table(const Setting& setting, const Outcomes& o) {
    Table table{"Both recipes to their ends", {"recipe", "steps", "validation", "test", "s"}, {}};
    const auto add = [&](const char* name, std::int64_t steps) {
        const double ms = o.of(step_of(name), "ms").mean;
        table.rows.push_back({name, steps, fixed(o.of(name, "validation"), 4),
                              fixed(o.of(name, "test"), 4),
                              timed(fixed(ms * static_cast<double>(steps) / 1000, 2))});
    };
    add(kStandard, standard(setting).steps);
    add(kFast, fast_but(setting, nullptr).steps);
    return table;
}

Table clock_table(const Outcomes& o) {
    const std::vector<double> seconds = o.values(kClock, "seconds");
    return {"The fast recipe and the evaluation at its end, on all threads, s",
            {"", "mean", "slowest"},
            {{kClock, timed(fixed(o.of(kClock, "seconds"), 2)),
              timed(fixed(*std::max_element(seconds.begin(), seconds.end()), 2))}}};
}

Plot plot_of(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = "The loss as it is learned, mean of the seeds",
              .x = {.label = "share of the recipe's steps"},
              .y = {.label = "loss, nats"}};
    for (const auto& [name, line] :
         {std::pair{kFast, "the fast recipe"}, {kStandard, "the standard recipe"}}) {
        Series s = curve_of(o, name, "loss");
        s.name = line;
        s.dashed = name == kStandard;
        for (double& step : s.x) step /= static_cast<double>(s.y.size());
        plot.series.push_back(s);
    }
    plot.title += fmt::format(" ({} and {} steps)", fast_but(setting, nullptr).steps,
                              standard(setting).steps);
    return plot;
}

Design against_recipe(const std::string& other) {
    return Design::compared({.arms = {kFast, other},
                             .untuned = "the recipe's, chosen on other seeds",
                             .control = "the loss of guessing for both, a difference of 0"});
}

std::vector<Claim> claims() {
    std::vector<Claim> all{
        {"as_good", "The fast recipe ends no higher than the standard one after all its steps.",
         "validation loss of the standard recipe less the fast one's", above(0),
         against_recipe(kStandard)},
        {"on_new_text", "So it does on text that was never looked at while it was made.",
         "test loss of the standard recipe less the fast one's", above(0),
         against_recipe(kStandard)},
        {"below_1_88", "On Tiny Shakespeare it ends below 1.88.", "validation loss", below(1.88),
         Design::trained({.untuned = "the recipe's", .control = "4.2 nats, guessing"})}};
    for (const Row& row : ingredients()) {
        all.push_back({row.claim, row.sentence,
                       fmt::format("validation loss with {}, less the recipe's", row.name),
                       above(0), against_recipe(row.name)});
    }
    return all;
}

Report report(const Setting& setting, const Outcomes& o) {
    Report report{
        .tables = {both_table(setting, o), rows_table(setting, o), clock_table(o)},
        .figures = {{"loss", "both recipes, each over its own steps", svg(plot_of(setting, o))}}};
    report.decided = {
        {"as_good", lead(o, kStandard, kFast, "validation")},
        {"on_new_text", lead(o, kStandard, kFast, "test")},
        {"below_1_88", setting.text.empty() ? unmeasured() : o.of(kFast, "validation")}};
    for (const Row& row : ingredients()) {
        report.decided[row.claim] = lead(o, row.name, kFast, "validation");
    }
    return report;
}

}  // namespace

Experiment experiment() {
    Experiment experiment{
        "speedrun",
        "What makes training fast?",
        "People wait for a loss, not for a step. A step can be made cheaper, or teach more: "
        "by a rate as high as the model bears, by directions that are all used (Muon), by a "
        "model that is told what it would first have to find out (where a token stands, what "
        "stood before it), and by one that begins as if its layers were not there, so that "
        "none has to be undone. Each row leaves one of them out, or adds one that was left "
        "out.\n\n"
        "Chosen on the validation part, of Tiny Shakespeare; the test part was not looked at.",
        claims(),
        trials,
        report};
    experiment.takes_text = true;
    return experiment;
}

}  // namespace tapestry::experiments::speedrun
