// What if training goes wrong? Deliberate mistakes in training a small language model of stories,
// compared with the same run without them; and a missing warm-up at several depths and rates.
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
             {"alone", loss_alone(model, text)},
             {"norm", norm},
             {"steps", static_cast<double>(losses.size())}},
            {{"losses", losses}}};
}

std::vector<Recipe> mistakes(const Setting& setting) {
    const double rate = setting.pick(3e-3, 1e-2);  // fewer steps need a larger rate
    const std::int64_t steps = setting.pick(200, 120);
    return {{.name = "right", .rate = rate, .steps = steps},
            {.name = "rate 10 times as high", .rate = 10 * rate, .steps = steps},
            {.name = "rate 100 times as high", .rate = 100 * rate, .steps = steps},
            {.name = "no mask", .rate = rate, .causal = false, .steps = steps},
            {.name = "no zero_grad", .rate = rate, .zero_grad = false, .steps = steps}};
}

std::string sweep_name(std::int64_t layers, double rate, bool warmup, bool norm_first = false) {
    return fmt::format("{} layers, norm {}, rate {:g}, {}", layers, norm_first ? "before" : "after",
                       rate, warmup ? "warm-up" : "no warm-up");
}

std::int64_t deep(const Setting& setting) { return setting.pick(6, 3); }

std::vector<std::int64_t> depths(const Setting& setting) {
    if (setting.quick) return {deep(setting)};
    return {2, deep(setting)};
}

std::vector<double> rates(const Setting& setting) {
    return setting.pick<std::vector<double>>({1e-3, 4e-3, 8e-3}, {8e-3});
}

std::vector<Recipe> sweep(const Setting& setting) {
    std::vector<Recipe> all;
    const auto add = [&](std::int64_t layers, double rate, bool norm_first) {
        for (const bool warmup : {true, false}) {
            all.push_back({.name = sweep_name(layers, rate, warmup, norm_first),
                           .rate = rate,
                           .warmup = warmup ? setting.pick(60, 10) : 1,
                           .layers = layers,
                           .norm_first = norm_first,
                           .steps = setting.pick(200, 40)});
        }
    };
    for (const std::int64_t layers : depths(setting)) {
        for (const double rate : rates(setting)) add(layers, rate, false);
    }
    add(deep(setting), rates(setting).back(), true);
    return all;
}

std::vector<Trial> trials(const Setting& setting) {
    const auto text = std::make_shared<const StoryText>(story_text(200'000));
    std::vector<Recipe> recipes = mistakes(setting);
    const std::vector<Recipe> swept = sweep(setting);
    recipes.insert(recipes.end(), swept.begin(), swept.end());
    std::vector<Trial> all;
    for (const Recipe& recipe : recipes) {
        all.push_back({recipe.name, [=, dim = setting.pick(64, 32)](std::uint64_t seed) {
                           return train_as(recipe, *text, dim, seed);
                       }});
    }
    return all;
}

Table mistakes_table(const Setting& setting, const Outcomes& o) {
    Table table{"Mistakes, loss in nats per word",
                {"training", "last ten steps", "held out, later words hidden",
                 "gradient norm at the end", "finite steps"},
                {}};
    for (const Recipe& recipe : mistakes(setting)) {
        const auto of = [&](const char* what) { return o.of(recipe.name, what); };
        table.rows.push_back({recipe.name, fixed(of("trained"), 2), fixed(of("alone"), 2),
                              significant(of("norm"), 2), fixed(of("steps"), 0)});
    }
    return table;
}

Table sweep_table(const Setting& setting, const Outcomes& o) {
    Table table{"Warm-up over 60 steps or none: loss of the last ten steps, nats per word",
                {"training", "warm-up", "no warm-up", "no warm-up less warm-up"},
                {}};
    const auto add = [&](std::int64_t layers, double rate, bool norm_first) {
        const std::string with = sweep_name(layers, rate, true, norm_first);
        const std::string without = sweep_name(layers, rate, false, norm_first);
        table.rows.push_back(
            {with.substr(0, with.rfind(',')), fixed(o.of(with, "trained"), 2),
             fixed(o.of(without, "trained"), 2),
             fixed(student(differences(o.values(without, "trained"), o.values(with, "trained"))),
                   2)});
    };
    for (const std::int64_t layers : depths(setting)) {
        for (const double rate : rates(setting)) add(layers, rate, false);
    }
    add(deep(setting), rates(setting).back(), true);
    return table;
}

Plot plot_of(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = "Mistakes, mean of the seeds",
              .x = {.label = "step"},
              .y = {.label = "loss", .low = 0, .high = 8}};
    for (const Recipe& recipe : mistakes(setting)) {
        Series s = curve_of(o, recipe.name, "losses");
        s.dashed = recipe.name == "right";
        s.error.clear();  // of single steps: the smoothed mean's would be narrower
        double smooth = s.y.front();
        for (double& loss : s.y) {
            smooth = 0.8 * smooth + 0.2 * loss;
            loss = std::min(smooth, 10.0);
        }
        plot.series.push_back(s);
    }
    return plot;
}

// The learning rate with the lowest mean loss, for each way separately, as in tuned training.
std::string best(const Setting& setting, const Outcomes& o, bool warmup) {
    std::string result;
    for (const double rate : rates(setting)) {
        const std::string name = sweep_name(deep(setting), rate, warmup);
        if (result.empty() || o.of(name, "trained").mean < o.of(result, "trained").mean) {
            result = name;
        }
    }
    return result;
}

// Designs of the claims.
Design against(const std::vector<std::string>& runs, const char* untuned) {
    return Design::compared({.arms = runs,
                             .untuned = untuned,
                             .control = "the loss of guessing for both, a difference of 0"});
}
Design mistake(const char* name) {
    return against({name, "right"}, "the rate is part of the mistake, or the same for both");
}
Design cold_start(bool norm_first) {
    const double high = rates({}).back();
    return against({sweep_name(deep({}), high, false, norm_first),
                    sweep_name(deep({}), high, true, norm_first)},
                   "the claim is about a high one");
}
Design cold_start_at_best() {
    std::vector<std::string> runs;
    for (const double rate : rates({})) {
        for (const bool warmup : {false, true}) {
            runs.push_back(sweep_name(deep({}), rate, warmup));
        }
    }
    return against(runs, "the best of a fixed grid, for each");
}

Report report(const Setting& setting, const Outcomes& o) {
    // Compared with another run, per seed.
    const auto more = [&](const std::string& name, const std::string& than, const char* what) {
        return student(differences(o.values(name, what), o.values(than, what)));
    };
    const double high = rates(setting).back();
    return {
        .tables = {mistakes_table(setting, o), sweep_table(setting, o)},
        .figures = {{"losses", "the loss of five runs, smoothed", svg(plot_of(setting, o))}},
        .decided = {
            {"rate_too_high", more("rate 100 times as high", "right", "trained")},
            {"cold_start_high_rate", more(sweep_name(deep(setting), high, false),
                                          sweep_name(deep(setting), high, true), "trained")},
            {"cold_start_tuned", more(best(setting, o, false), best(setting, o, true), "trained")},
            {"norm_before_needs_none",
             more(sweep_name(deep(setting), high, false, true),
                  sweep_name(deep(setting), high, true, true), "trained")},
            {"no_mask_cheats", more("no mask", "right", "trained")},
            {"no_mask_cannot_write", more("no mask", "right", "alone")},
            {"no_zero_grad", more("no zero_grad", "right", "trained")}}};
}

std::vector<Claim> claims() {
    const std::string more = "loss less that of the right training, nats per word";
    const std::string cold = "loss without warm-up less that with it, nats per word";
    return {
        {"rate_too_high", "With a rate 100 times as high the loss stays high.", more, above(0.5),
         mistake("rate 100 times as high")},
        {"cold_start_high_rate", "A deep model with the norm after needs a warm-up at a high rate.",
         cold, above(0.3), cold_start(false)},
        {"cold_start_tuned",
         "A deep model with the norm after also needs a warm-up at its best rate.",
         cold + ", each at its best rate", above(0.1), cold_start_at_best()},
        {"norm_before_needs_none", "A deep model with the norm before needs no warm-up.",
         cold + ", at the high rate", below(0.1), cold_start(true)},
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
        "that never fades. Whether a warm-up is missed depends on depth and rate, which are swept: "
        "a low rate needs none, and may be the better one.\n\n"
        "Sources: Goodfellow et al. 2016, \"Deep Learning\", section 8.3; Xiong et al. 2020, \"On "
        "Layer Normalization in the Transformer Architecture\"; Vaswani et al. 2017, section "
        "3.2.3.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::what_goes_wrong
