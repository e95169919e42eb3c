// What does LayerNorm do for training? Stacks without norms, with norms after each sublayer and
// before it learn stories, shallow and deep, at low and high learning rates.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

#include <cmath>

namespace tapestry::experiments::without_norm {
namespace {

enum class Norms { none, after, before };

struct Way {
    const char* name;
    Norms norms;
};
constexpr Way kWays[] = {
    {"no norms", Norms::none}, {"norms after", Norms::after}, {"norms before", Norms::before}};

std::vector<std::int64_t> depths(const Setting& s) {
    return s.quick ? std::vector<std::int64_t>{6} : std::vector<std::int64_t>{2, 8};
}
std::vector<double> rates(const Setting& s) {
    return s.quick ? std::vector<double>{3e-3, 3e-2} : std::vector<double>{3e-3, 1e-2, 3e-2};
}

std::string name_of(const Way& way, std::int64_t depth, double rate) {
    return fmt::format("{}, {} layers, rate {}", way.name, depth, rate);
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

// The loss over the last tenth of the steps; for a diverged run, that of guessing, ln(words).
Measured learn(const StoryText& text, Norms norms, std::int64_t depth, double rate,
               std::int64_t steps, std::uint64_t seed) {
    Generator generator(seed), data(seed + 1);
    StoryReader model(text, {.dim = 32, .heads = 4, .causal = true}, depth, generator);
    AdamW optimizer(decay_groups(model, 0), {.lr = rate, .beta2 = 0.99});
    TrainStep step(optimizer, {.clip = 0});  // clipping would stabilise it as well
    const double guessing = std::log(static_cast<double>(text.table.size()));
    std::vector<double> losses;
    for (std::int64_t i = 0; i < steps; ++i) {
        step.zero_grad();
        const double loss = step.gradients([&] {
            return loss_of(model, norms,
                           text.data.random_batch(Split::train, 8, StoryReader::kContext, data));
        });
        if (!std::isfinite(loss) || !std::isfinite(step.norm())) {
            losses.resize(static_cast<std::size_t>(steps), guessing);
            break;
        }
        losses.push_back(loss);
        step.update(rate * std::min(1.0, static_cast<double>(i + 1) / 10), step.norm());
    }
    double last = 0;
    const std::size_t tenth = losses.size() / 10;
    for (std::size_t i = losses.size() - tenth; i < losses.size(); ++i) {
        last += losses[i] / static_cast<double>(tenth);
    }
    return {{{"loss", std::min(last, guessing)}}, {{"losses", losses}}};
}

std::vector<Trial> trials(const Setting& s) {
    const auto text = std::make_shared<const StoryText>(story_text(300'000));
    std::vector<Trial> all;
    for (const Way& way : kWays) {
        for (const std::int64_t depth : depths(s)) {
            for (const double rate : rates(s)) {
                all.push_back(
                    {name_of(way, depth, rate), [=, steps = s.pick(150, 60)](std::uint64_t seed) {
                         return learn(*text, way.norms, depth, rate, steps, seed);
                     }});
            }
        }
    }
    return all;
}

// Per seed, at its best learning rate.
std::vector<double> best(const Setting& s, const Outcomes& o, const Way& way, std::int64_t depth) {
    std::vector<double> losses;
    for (const double rate : rates(s)) {
        const auto more = o.values(name_of(way, depth, rate), "loss");
        if (losses.empty()) losses = more;
        for (std::size_t i = 0; i < more.size(); ++i) losses[i] = std::min(losses[i], more[i]);
    }
    return losses;
}

constexpr const char* kGuessingLoss = "the loss of guessing for both, a difference of 0";
// The best of three rates, for each stack and seed.
Design at_best_rate(std::int64_t depth) {
    Comparison comparison{.untuned = "the best of three, for each, which may be at the edge",
                          .control = kGuessingLoss};
    for (const Way& way : {kWays[0], kWays[2]}) {
        for (const double rate : rates({})) {
            comparison.arms.push_back(name_of(way, depth, rate));
        }
    }
    return Design::compared(comparison);
}
Design at_high_rate(const Way& way) {
    const double high = rates({}).back();
    const std::int64_t deep = depths({}).back();
    return Design::compared({.arms = {name_of(way, deep, high), name_of(kWays[2], deep, high)},
                             .untuned = "the claim is about a high one",
                             .control = kGuessingLoss});
}

Report report(const Setting& s, const Outcomes& o) {
    Table table{"Loss at the end of the run", {"stack"}, {}};
    for (const double rate : rates(s)) table.columns.push_back(fmt::format("rate {}", rate));
    table.columns.emplace_back("best rate");
    const std::int64_t deep = depths(s).back(), shallow = depths(s).front();
    const double high = rates(s).back();
    Plot plot{.title = fmt::format("{} layers, rate {}", deep, high),
              .x = {.label = "step"},
              .y = {.label = "loss, mean over the seeds", .low = 0, .high = 9}};
    for (const Way& way : kWays) {
        for (const std::int64_t depth : depths(s)) {
            table.rows.push_back({fmt::format("{}, {} layers", way.name, depth)});
            for (const double rate : rates(s)) {
                table.rows.back().push_back(fixed(o.of(name_of(way, depth, rate), "loss"), 2));
            }
            table.rows.back().push_back(fixed(student(best(s, o, way, depth)), 2));
        }
        plot.series.push_back(curve_of(o, name_of(way, deep, high), "losses"));
        plot.series.back().name = way.name;
    }
    const Way &none = kWays[0], &after = kWays[1], &before = kWays[2];
    const auto gap = [&](const Way& way, std::int64_t depth) {
        return student(differences(best(s, o, way, depth), best(s, o, before, depth)));
    };
    const auto gap_at_high = [&](const Way& way) {
        return student(differences(o.values(name_of(way, deep, high), "loss"),
                                   o.values(name_of(before, deep, high), "loss")));
    };
    return {.tables = {table},
            .figures = {{"losses", "the highest rate, the deepest stack", svg(plot)}},
            .decided = {{"helps_at_the_best_rate", gap(none, deep)},
                        {"helps_shallow", gap(none, shallow)},
                        {"bears_high_rates", gap_at_high(none)},
                        {"before_bears_more_than_after", gap_at_high(after)}}};
}

}  // namespace

Experiment experiment() {
    return {
        "without_norm",
        "What does LayerNorm do for training?",
        "A residual stream to which every part adds grows with depth, and the gradients with what "
        "it is multiplied by; a norm gives each part inputs of one size, no matter what the "
        "layers before it do. So a deep stack without norms should learn less, or want a lower "
        "rate, and "
        "at a high rate break down; with norms before the parts, where the stream itself is left "
        "alone, the highest rates are borne.\n\n"
        "Sources: Ba et al. 2016, \"Layer Normalization\"; Xiong et al. 2020, \"On Layer "
        "Normalization in the Transformer Architecture\"; Zhang et al. 2019, \"Fixup "
        "Initialization\", on training without.",
        {{"helps_at_the_best_rate",
          "A deep stack learns more with norms, each at the best of the rates.",
          "loss, no norms less norms before, deepest stack", above(0.05),
          at_best_rate(depths({}).back())},
         {"helps_shallow", "So does the shallowest.",
          "loss, no norms less norms before, shallowest stack", above(0.05),
          at_best_rate(depths({}).front())},
         {"bears_high_rates", "With norms it learns at a rate that is too high without.",
          "loss at the highest rate, no norms less norms before", above(0.5),
          at_high_rate(kWays[0])},
         {"before_bears_more_than_after", "Norms before bear it better than norms after.",
          "loss at the highest rate, norms after less norms before", above(0.5),
          at_high_rate(kWays[1])}},
        trials,
        report};
}

}  // namespace tapestry::experiments::without_norm
