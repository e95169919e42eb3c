// What if training goes wrong? Deliberate mistakes in training a small language model of stories,
// compared with the same run without them, each at its best rate unless the rate is the mistake;
// and a missing warm-up of a deep model, at its best rate and at twice the rate that is best with
// one.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

#include <cmath>

namespace tapestry::experiments::what_goes_wrong {
namespace {

/// A training run, with or without a mistake.
struct Recipe {
    std::string name;
    double rate = 0;
    std::int64_t warmup = 20;
    bool causal = true;
    bool zero_grad = true;
    std::int64_t layers = 2;
    bool norm_first = true;
    std::int64_t steps = 200;
};

// The loss on the next word when the model gets only the words before it, as in generation. For a
// causal model this is the ordinary loss.
double loss_alone(const StoryReader& model, const StoryText& text) {
    const NoGradGuard no_grad;
    Generator generator(1);
    const Batch batch =
        text.data.random_batch(Split::validation, 32, StoryReader::kContext, generator);
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t length = 4; length <= StoryReader::kContext; length += 4, ++count) {
        const Tensor logits = model(slice(batch.inputs, 1, 0, length));
        sum += cross_entropy(slice(logits, 1, length - 1, length),
                             slice(batch.targets, 1, length - 1, length))
                   .item();
    }
    return sum / static_cast<double>(count);
}

// The loss on the next word as in training: without a mask the model sees the answer.
double loss_held_out(const StoryReader& model, const StoryText& text) {
    const NoGradGuard no_grad;
    Generator generator(1);
    const Batch batch =
        text.data.random_batch(Split::validation, 32, StoryReader::kContext, generator);
    return cross_entropy(model(batch.inputs), batch.targets).item();
}

Measured train_as(const Recipe& recipe, const StoryText& text, std::int64_t dim,
                  std::uint64_t seed) {
    Generator weights(seed), data(seed + 1000);
    StoryReader model(
        text, {.dim = dim, .heads = 4, .norm_first = recipe.norm_first, .causal = recipe.causal},
        recipe.layers, weights);
    AdamW optimizer(decay_groups(model, 0), {.lr = recipe.rate, .beta2 = 0.99});
    const auto batch_loss = [&] {
        const Batch batch = text.data.random_batch(Split::train, 16, StoryReader::kContext, data);
        return cross_entropy(model(batch.inputs), batch.targets);
    };
    TrainStep train_step(optimizer, {.clip = 0});
    std::vector<double> losses;
    double norm = 0;
    for (std::int64_t step = 0; step < recipe.steps; ++step) {  // explicit phases, to skip some
        if (recipe.zero_grad) train_step.zero_grad();
        const double loss = train_step.gradients(batch_loss);
        norm = train_step.norm();
        if (!std::isfinite(loss) || !std::isfinite(norm)) break;
        losses.push_back(loss);
        const double rise = static_cast<double>(step + 1) / static_cast<double>(recipe.warmup);
        train_step.update(recipe.rate * std::min(1.0, rise), norm);
    }
    double trained = 0;
    const std::size_t last = std::min<std::size_t>(10, losses.size());
    for (std::size_t i = losses.size() - last; i < losses.size(); ++i) {
        trained += losses[i] / static_cast<double>(last);
    }
    return {{{"trained", trained},
             {"loss", loss_held_out(model, text)},
             {"alone", loss_alone(model, text)},
             {"norm", norm},
             {"steps", static_cast<double>(losses.size())}},
            {{"losses", losses}}};
}

constexpr double kTimes[] = {10, 100};

std::string times_name(double times) { return fmt::format("rate {:g} times as high", times); }

// The right run, and the same at rates that are a multiple of its own: the multiple is the mistake.
Measured train_right(const Recipe& recipe, const StoryText& text, std::int64_t dim,
                     std::uint64_t seed) {
    Measured right = train_as(recipe, text, dim, seed);
    if (seed >= kTuningSeeds) return right;
    for (const double times : kTimes) {
        Recipe high = recipe;
        high.rate *= times;
        const Measured wrong = train_as(high, text, dim, seed);
        const std::string name = times_name(times) + ": ";
        for (const auto& [what, value] : wrong.numbers) right.numbers[name + what] = value;
        right.curves[name + "losses"] = wrong.curves.at("losses");
    }
    return right;
}

/// A row of the table: the trial, and the beginning of its numbers' names.
struct Row {
    std::string name, trial, prefix;
};

std::vector<Row> mistakes() {
    std::vector<Row> rows{{"right", "right", ""}};
    for (const double times : kTimes) {
        rows.push_back({times_name(times), "right", times_name(times) + ": "});
    }
    for (const char* name : {"no mask", "no zero_grad"}) rows.push_back({name, name, ""});
    return rows;
}

std::int64_t deep(const Setting& setting) { return setting.pick(6, 3); }

std::int64_t warmup_steps(const Setting& setting) { return setting.pick(60, 10); }

std::string deep_name(const Setting& setting, bool norm_first, bool warmup) {
    return fmt::format("{} layers, norm {}, {}", deep(setting), norm_first ? "before" : "after",
                       warmup ? "warm-up" : "no warm-up");
}

Recipe deep_recipe(const Setting& setting, bool norm_first, bool warmup, double rate) {
    return {.name = {},
            .rate = rate,
            .warmup = warmup ? warmup_steps(setting) : 1,
            .layers = deep(setting),
            .norm_first = norm_first,
            .steps = setting.pick(200, 30)};
}

// Numbers of runs at twice the rate, with a warm-up and without, in the trial whose rate it is.
constexpr const char* kHigh = "twice the rate: ";
constexpr const char* kHighCold = "twice the rate, no warm-up: ";

Measured train_deep(const Setting& setting, bool norm_first, const StoryText& text,
                    std::int64_t dim, double rate, std::uint64_t seed) {
    const auto run = [&](bool warmup, double times) {
        return train_as(deep_recipe(setting, norm_first, warmup, times * rate), text, dim, seed);
    };
    Measured all = run(true, 1);
    if (seed >= kTuningSeeds) return all;
    all.numbers[std::string(kHigh) + "trained"] = run(true, 2).numbers.at("trained");
    all.numbers[std::string(kHighCold) + "trained"] = run(false, 2).numbers.at("trained");
    return all;
}

std::vector<Trial> trials(const Setting& setting) {
    const auto text = std::make_shared<const StoryText>(story_text(200'000));
    const std::int64_t dim = setting.pick(64, 32), steps = setting.pick(200, 80);
    const auto at = [](Recipe recipe, double rate) {
        recipe.rate = rate;
        return recipe;
    };
    using Rates = std::vector<double>;
    // Fewer steps need a larger rate.
    const Rates quick{5e-3, 1e-2, 2e-2}, rates = setting.pick<Rates>({6e-3, 1.2e-2, 2.4e-2}, quick);
    // Gradients that pile up over the steps need a far lower one.
    const Rates piled = setting.pick<Rates>({9.375e-5, 1.875e-4, 3.75e-4}, quick);
    std::vector<Trial> all{swept(setting, "right", rates, [=](std::uint64_t seed, double rate) {
        return train_right({.name = "right", .rate = rate, .steps = steps}, *text, dim, seed);
    })};
    for (const Recipe& recipe :
         {Recipe{.name = "no mask", .causal = false, .steps = steps},
          Recipe{.name = "no zero_grad", .zero_grad = false, .steps = steps}}) {
        all.push_back(swept(setting, recipe.name, recipe.zero_grad ? rates : piled,
                            [=](std::uint64_t seed, double rate) {
                                return train_as(at(recipe, rate), *text, dim, seed);
                            }));
    }
    const Rates few{1e-3, 2e-3, 4e-3}, after = setting.pick<Rates>({2e-3, 4e-3, 8e-3}, few),
                                       before = setting.pick<Rates>({4e-3, 8e-3, 1.6e-2}, few);
    for (const bool norm_first : {false, true}) {
        all.push_back(swept(setting, deep_name(setting, norm_first, true),
                            norm_first ? before : after, [=](std::uint64_t seed, double rate) {
                                return train_deep(setting, norm_first, *text, dim, rate, seed);
                            }));
    }
    all.push_back(swept(setting, deep_name(setting, false, false), after,
                        [=](std::uint64_t seed, double rate) {
                            const Recipe cold = deep_recipe(setting, false, false, rate);
                            return train_as(cold, *text, dim, seed);
                        }));
    return all;
}

Table mistakes_table(const Outcomes& o) {
    Table table{"Mistakes, loss in nats per word",
                {"training", "last ten steps", "held out, later words hidden",
                 "gradient norm at the end", "finite steps"},
                {}};
    for (const Row& row : mistakes()) {
        const auto of = [&](const char* what) { return o.of(row.trial, row.prefix + what); };
        table.rows.push_back({row.name, fixed(of("trained"), 2), fixed(of("alone"), 2),
                              significant(of("norm"), 2), fixed(of("steps"), 0)});
    }
    return table;
}

Table warmup_table(const Setting& setting, const Outcomes& o) {
    Table table{fmt::format("Warm-up over {} steps or none: loss of the last ten steps, nats per "
                            "word",
                            warmup_steps(setting)),
                {"training", "warm-up", "no warm-up", "no warm-up less warm-up"},
                {}};
    const auto add = [&](const char* rate, bool norm_first, const std::vector<double>& with,
                         const std::vector<double>& without) {
        table.rows.push_back({fmt::format("{} layers, norm {}, {}", deep(setting),
                                          norm_first ? "before" : "after", rate),
                              fixed(student(with), 2), fixed(student(without), 2),
                              fixed(student(differences(without, with)), 2)});
    };
    add("best rate of each", false, o.values(deep_name(setting, false, true), "trained"),
        o.values(deep_name(setting, false, false), "trained"));
    for (const bool norm_first : {false, true}) {
        const std::string trial = deep_name(setting, norm_first, true);
        add("twice the best rate", norm_first, o.values(trial, std::string(kHigh) + "trained"),
            o.values(trial, std::string(kHighCold) + "trained"));
    }
    return table;
}

Plot plot_of(const Outcomes& o) {
    Plot plot{.title = "Mistakes, mean of the seeds",
              .x = {.label = "step"},
              .y = {.label = "loss, nats per word", .low = 0, .high = 8}};
    for (const Row& row : mistakes()) {
        Series s = curve_of(o, row.trial, row.prefix + "losses");
        s.name = row.name;
        s.dashed = row.name == "right";
        for (double& loss : s.y) loss = std::min(loss, 10.0);  // above the picture
        plot.series.push_back(s);
    }
    return plot;
}

// Designs of the claims.
constexpr const char* kGuessing = "the loss of guessing for both, a difference of 0";
Design mistake(const char* name) {
    return Design::compared({.arms = {name, "right"}, .control = kGuessing});
}
// Both are in one trial.
const Design kTooHigh = Design::compared(
    {.arms = {"right"},
     .rates = "the right run at its best rate and the other at 100 times the right run's best rate",
     .control = kGuessing});
// Both are in the trial with a warm-up.
Design cold_start(bool norm_first) {
    return Design::compared({.arms = {deep_name({}, norm_first, true)},
                             .rates = "both at twice the rate that is best with a warm-up",
                             .control = kGuessing});
}
const Design kColdAtBest = Design::compared(
    {.arms = {deep_name({}, false, false), deep_name({}, false, true)}, .control = kGuessing});

Report report(const Setting& setting, const Outcomes& o) {
    // Compared with another run, per seed.
    const auto more = [&](const std::string& name, const std::string& than, const char* what) {
        return student(differences(o.values(name, what), o.values(than, what)));
    };
    // Three layers are not deep, and a rate that was not tuned is not the best one.
    const auto cold = [&](bool norm_first) {
        if (setting.quick) return unmeasured();
        const std::string trial = deep_name(setting, norm_first, true);
        return student(differences(o.values(trial, std::string(kHighCold) + "trained"),
                                   o.values(trial, std::string(kHigh) + "trained")));
    };
    return {.tables = {mistakes_table(o), warmup_table(setting, o)},
            .figures = {{"losses", "the loss of five runs", svg(plot_of(o))}},
            .decided = {{"rate_too_high",
                         student(differences(o.values("right", times_name(100) + ": trained"),
                                             o.values("right", "trained")))},
                        {"cold_start_high_rate", cold(false)},
                        {"cold_start_tuned", more(deep_name(setting, false, false),
                                                  deep_name(setting, false, true), "trained")},
                        {"norm_before_needs_none", cold(true)},
                        {"no_mask_cheats", more("no mask", "right", "trained")},
                        {"no_mask_cannot_write", more("no mask", "right", "alone")},
                        {"no_zero_grad", more("no zero_grad", "right", "trained")}}};
}

std::vector<Claim> claims() {
    const std::string more = "loss less that of the right training, nats per word";
    const std::string cold = "loss without warm-up less that with it, nats per word";
    return {
        {"rate_too_high", "With a rate 100 times as high the loss stays high.", more, above(0.5),
         kTooHigh},
        {"cold_start_high_rate", "A deep model with the norm after needs a warm-up at a high rate.",
         cold + ", at twice the best rate", above(0.3), cold_start(false)},
        {"cold_start_tuned",
         "A deep model with the norm after also needs a warm-up at its best rate.",
         cold + ", each at its best rate", above(0.1), kColdAtBest},
        {"norm_before_needs_none", "A deep model with the norm before needs no warm-up.",
         cold + ", at twice the best rate", below(0.1), cold_start(true)},
        {"no_mask_cheats", "Without a mask the loss in training is lower.", more, below(-0.3),
         mistake("no mask")},
        {"no_mask_cannot_write", "Without a mask the model cannot write.",
         "loss where later words are hidden, less the right training's", above(0.5),
         mistake("no mask")},
        {"no_zero_grad", "A forgotten zero_grad spoils the run.", more, above(0.3),
         mistake("no zero_grad")}};
}

}  // namespace

Experiment experiment() {
    return {
        "what_goes_wrong",
        "What if training goes wrong?",
        "Four mistakes, and what each does. A learning rate far too high: every step jumps over "
        "the valley, and the loss stays high. No warm-up where the norm comes after the sum: "
        "gradients are large at first and Adam's averages are of few steps; the model is thrown "
        "to where it does not learn. No mask: every word can look at its successor, which is the "
        "answer; the loss falls nearly to 0, and the model cannot write. A forgotten zero_grad: "
        "each step follows the sum of all gradients since the first one, as if with a momentum "
        "that never fades. Whether a warm-up is missed depends on the rate: a low one needs none, "
        "and "
        "may be the better one. So it is left out at twice the rate that is best with a warm-up, "
        "and at the best rate of each.\n\n"
        "Sources: Goodfellow et al. 2016, \"Deep Learning\", section 8.3; Xiong et al. 2020, \"On "
        "Layer Normalization in the Transformer Architecture\"; Vaswani et al. 2017, section "
        "3.2.3.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::what_goes_wrong
