// What does LayerNorm do for training? Stacks without norms, with norms after each sublayer and
// before it learn stories, shallow and deep, each at its best learning rate and at a high one.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::without_norm {
namespace {

enum class Norms { none, after, before };

/// A stack of layers, and how its run begins.
struct Stack {
    Norms norms;
    std::int64_t layers;
    bool warm_up = true;

    std::string name() const {
        constexpr const char* kNames[] = {"no norms", "norms after", "norms before"};
        return fmt::format("{}, {} layers{}", kNames[static_cast<int>(norms)], layers,
                           warm_up ? "" : ", no warm-up");
    }
    std::string name_at_high_rate() const;
};

constexpr double kHighRate = 3e-2;
std::string Stack::name_at_high_rate() const {
    return fmt::format("{}, rate {}", name(), kHighRate);
}

std::int64_t deep(const Setting& s) { return s.pick<std::int64_t>(8, 6); }
constexpr std::int64_t kShallow = 2;
constexpr Norms kNorms[] = {Norms::none, Norms::after, Norms::before};

// Those whose best rates are searched; the short form has the deep ones.
std::vector<Stack> stacks(const Setting& s) {
    std::vector<Stack> all;
    for (const Norms norms : kNorms) all.push_back({norms, deep(s)});
    if (s.quick) return all;
    all.push_back({Norms::after, deep(s), false});
    all.push_back({Norms::none, kShallow});
    all.push_back({Norms::before, kShallow});
    return all;
}

// Where the search begins.
std::vector<double> rates(const Stack& stack) {
    if (stack.norms == Norms::after) return {1.5e-3, 3e-3, 6e-3};
    if (stack.norms == Norms::none) return {6e-3, 1.2e-2, 2.4e-2};
    return {1.2e-2, 2.4e-2, 4.8e-2};
}

// A layer's parts in the order of Vaswani et al. 2017, of GPT-2, or without norms.
Tensor pass(const EncoderLayer& layer, const Tensor& x, Norms norms) {
    if (norms == Norms::after) {
        const Tensor h = layer.attention_norm(x + layer.attention(x));
        return layer.feed_forward_norm(h + layer.feed_forward(h));
    }
    const auto norm = [&](const LayerNorm& n, const Tensor& h) {
        return norms == Norms::before ? n(h) : h;
    };
    const Tensor h = x + layer.attention(norm(layer.attention_norm, x));
    return h + layer.feed_forward(norm(layer.feed_forward_norm, h));
}

Tensor loss_of(const StoryReader& model, Norms norms, const Batch& batch) {
    Tensor x = model.position(model.token(batch.inputs));
    for (const auto& layer : model.encoder.layers) x = pass(*layer, x, norms);
    return cross_entropy(model.head(norms == Norms::before ? layer_norm(x) : x), batch.targets);
}

// "loss", held out; for a diverged run that of guessing, ln(words). Curve "losses", of the steps.
Measured learn(const StoryText& text, const Stack& stack, std::int64_t steps, double rate,
               std::uint64_t seed) {
    Generator generator(seed), data(seed + 1), held_out(1);
    StoryReader model(text, {.dim = 32, .heads = 4, .causal = true}, stack.layers, generator);
    AdamW optimizer(decay_groups(model, 0), {.lr = rate, .beta2 = 0.99});
    TrainStep step(optimizer, {.clip = 0});  // clipping would stabilise it as well
    const auto schedule = warmup_cosine_schedule({.rate = rate,
                                                  .min_rate = rate / 20,
                                                  .warmup = stack.warm_up ? steps / 10 : 1,
                                                  .steps = steps});
    const double guessing = std::log(static_cast<double>(text.table.size()));
    double loss = guessing;
    std::vector<double> losses;
    for (std::int64_t i = 1; i <= steps; ++i) {
        step.zero_grad();
        const double now = step.gradients([&] {
            return loss_of(model, stack.norms,
                           text.data.random_batch(Split::train, 8, StoryReader::kContext, data));
        });
        const double norm = step.norm();
        if (!std::isfinite(now) || !std::isfinite(norm)) break;
        losses.push_back(now);
        step.update(schedule(i), norm);
    }
    if (static_cast<std::int64_t>(losses.size()) == steps) {
        const NoGradGuard no_grad;
        const Batch batch =
            text.data.random_batch(Split::validation, 256, StoryReader::kContext, held_out);
        const double measured = loss_of(model, stack.norms, batch).item();
        if (std::isfinite(measured)) loss = std::min(guessing, measured);
    }
    losses.resize(static_cast<std::size_t>(steps), guessing);
    return {{{"loss", loss}}, {{"losses", losses}}};
}

std::vector<Trial> trials(const Setting& s) {
    const auto text = std::make_shared<const StoryText>(story_text(300'000));
    const std::int64_t steps = s.pick(600, 60);
    std::vector<Trial> all;
    for (const Stack& stack : stacks(s)) {
        all.push_back(swept(s, stack.name(), rates(stack), [=](std::uint64_t seed, double rate) {
            return learn(*text, stack, steps, rate, seed);
        }));
    }
    for (const Norms norms : kNorms) {
        const Stack stack{norms, deep(s)};
        all.push_back({stack.name_at_high_rate(), [=](std::uint64_t seed) {
                           return learn(*text, stack, steps, kHighRate, seed);
                       }});
    }
    return all;
}

constexpr const char* kGuessingLoss = "the loss of guessing for both, a difference of 0";

Design at_best_rates(const Stack& first, const Stack& second) {
    return Design::compared({.arms = {first.name(), second.name()}, .control = kGuessingLoss});
}
Design at_high_rate(Norms norms) {
    const Stack stack{norms, deep({})}, before{Norms::before, deep({})};
    return Design::compared({.arms = {stack.name_at_high_rate(), before.name_at_high_rate()},
                             .untuned = "the claim is about a high one",
                             .control = kGuessingLoss});
}

Report report(const Setting& s, const Outcomes& o) {
    Table table{fmt::format("Held-out loss after {} steps, nats per word", s.pick(600, 60)),
                {"stack", "at its best rate", fmt::format("at rate {}", kHighRate)},
                {}};
    Plot plot{.title = fmt::format("{} layers, rate {}", deep(s), kHighRate),
              .x = {.label = "step"},
              .y = {.label = "loss, nats per word, mean over the seeds", .low = 0, .high = 9}};
    const auto losses = [&](const std::string& name) { return o.values(name, "loss"); };
    for (const Stack& stack : stacks(s)) {
        const std::string high = stack.name_at_high_rate();
        table.rows.push_back({stack.name(), fixed(o.of(stack.name(), "loss"), 3),
                              o.has(high) ? fixed(o.of(high, "loss"), 3) : Cell("-")});
        if (o.has(high)) plot.series.push_back(curve_of(o, high, "losses"));
    }
    const Stack none{Norms::none, deep(s)}, after{Norms::after, deep(s)},
        before{Norms::before, deep(s)}, cold{Norms::after, deep(s), false};
    const auto gap = [&](const std::string& more, const std::string& less) {
        if (!o.has(more) || !o.has(less)) return unmeasured();
        return student(differences(losses(more), losses(less)));
    };
    return {
        .tables = {table},
        .figures = {{"losses", "the highest rate, the deepest stack", svg(plot)}},
        .decided = {{"helps_at_the_best_rate", gap(none.name(), before.name())},
                    {"helps_shallow", gap(Stack{Norms::none, kShallow}.name(),
                                          Stack{Norms::before, kShallow}.name())},
                    {"bears_high_rates", gap(none.name_at_high_rate(), before.name_at_high_rate())},
                    {"before_bears_more_than_after",
                     gap(after.name_at_high_rate(), before.name_at_high_rate())},
                    {"before_learns_more_than_after", gap(after.name(), before.name())},
                    {"after_wants_a_warm_up", gap(cold.name(), after.name())}}};
}

std::vector<Claim> claims() {
    const Stack none{Norms::none, deep({})}, after{Norms::after, deep({})},
        before{Norms::before, deep({})}, cold{Norms::after, deep({}), false};
    return {{"helps_at_the_best_rate",
             "A deep stack learns more with norms before its parts, each at its best rate.",
             "held-out loss, no norms less norms before, deepest stack", above(0.05),
             at_best_rates(none, before)},
            {"helps_shallow", "So does the shallowest.",
             "held-out loss, no norms less norms before, shallowest stack", above(0.05),
             at_best_rates({Norms::none, kShallow}, {Norms::before, kShallow})},
            {"bears_high_rates",
             "After a warm-up, a stack with norms before its parts bears a high rate better than "
             "one without.",
             "held-out loss at the highest rate, no norms less norms before", above(0.5),
             at_high_rate(Norms::none)},
            {"before_bears_more_than_after",
             "After a warm-up, norms before bear it better than norms after.",
             "held-out loss at the highest rate, norms after less norms before", above(0.5),
             at_high_rate(Norms::after)},
            {"before_learns_more_than_after",
             "After a warm-up, a deep stack learns more in 600 steps with norms before than with "
             "norms after, each at its best rate.",
             "held-out loss, norms after less norms before, deepest stack", above(0.05),
             at_best_rates(after, before)},
            {"after_wants_a_warm_up", "A deep stack with norms after learns more with a warm-up.",
             "held-out loss, no warm-up less warm-up, each at its best rate", above(0.05),
             at_best_rates(cold, after)}};
}

}  // namespace

Experiment experiment() {
    return {
        "without_norm",
        "What does LayerNorm do for training?",
        "A residual stream to which every part adds grows with depth, and the gradients with what "
        "it is multiplied by; a norm gives each part inputs of one size, no matter what the "
        "layers before it do. So a deep stack without norms should learn less, or want a lower "
        "rate, and at a high rate break down; with norms before the parts, where the stream itself "
        "is left alone, the highest rates are borne. Norms after the parts are said to need a "
        "warm-up, so all but one have one here, over a tenth of the steps, and a cosine that ends "
        "at a "
        "twentieth of the rate; gradients are not clipped.\n\n"
        "Sources: Ba et al. 2016, \"Layer Normalization\"; Xiong et al. 2020, \"On Layer "
        "Normalization in the Transformer Architecture\"; Zhang et al. 2019, \"Fixup "
        "Initialization\", on training without.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::without_norm
