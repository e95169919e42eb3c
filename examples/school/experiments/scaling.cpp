// Does the loss fall as a power of size? Small language models of stories on a CPU: more
// parameters, more data, more compute, and the three exponents.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

namespace tapestry::experiments::scaling {
namespace {

constexpr std::int64_t kBatch = 16;

/// The quantity that varies, and its values; the others are as in Size.
struct Dimension {
    const char* name;
    std::vector<std::int64_t> values;
};

struct Size {
    std::int64_t dim = 32;
    std::int64_t words = 0;  // words to train on; 0: all
    std::int64_t steps = 0;
};

std::vector<Dimension> axes(const Setting& s) {
    if (s.quick) {
        return {
            {"parameters", {8, 16, 32}}, {"data", {1000, 4000, 16000}}, {"compute", {15, 30, 60}}};
    }
    return {{"parameters", {8, 16, 32, 64}},
            {"data", {2000, 8000, 32000, 128000}},
            {"compute", {50, 100, 200, 400}}};
}

Size size_of(const Setting& s, const std::string& axis, std::int64_t value) {
    Size size{.steps = s.pick(300, 60)};
    if (axis == "parameters") size.dim = value;
    if (axis == "data") size.words = value;
    if (axis == "compute") size.steps = value;
    return size;
}

std::string name_of(const char* axis, std::int64_t value) {
    return fmt::format("{}, {}", axis, value);
}

// Trains on the first `words` words; the held-out part is that of the whole text.
StoryText part_of(const StoryText& text, std::int64_t words) {
    const std::vector<std::int64_t> first = text.data.ids(Split::train).read(0, words);
    return {text.table, TextData(first, {.train_fraction = 0.95})};
}

Measured learn(const StoryText& text, const Size& size, std::uint64_t seed) {
    Generator generator(seed);
    GPTConfig config = story_config(text);
    config.dim = size.dim;
    GPT model(config, generator);
    learn_stories(model, size.words == 0 ? text : part_of(text, size.words),
                  {.steps = size.steps, .batch = kBatch, .rate = 5e-3, .seed = seed});
    // Parameters without the embedding table, as in Kaplan et al.; 6 operations per parameter and
    // word.
    const auto parameters = static_cast<double>(12 * config.layers * size.dim * size.dim);
    const auto seen = static_cast<double>(size.steps * kBatch * config.context);
    return {{{"loss", held_out_loss(model, text)},
             {"parameters", parameters},
             {"data", static_cast<double>(size.words)},
             {"compute", 6 * parameters * seen}}};
}

std::vector<Trial> trials(const Setting& s) {
    const auto text = std::make_shared<const StoryText>(story_text(1'000'000));
    std::vector<Trial> all;
    for (const Dimension& axis : axes(s)) {
        for (const std::int64_t value : axis.values) {
            all.push_back({name_of(axis.name, value),
                           [text, size = size_of(s, axis.name, value)](std::uint64_t seed) {
                               return learn(*text, size, seed);
                           }});
        }
    }
    return all;
}

// Fitted per seed.
Interval fitted(const Setting& s, const Outcomes& o, const Dimension& axis) {
    std::vector<double> exponents;
    for (std::size_t seed = 0; seed < static_cast<std::size_t>(s.seeds); ++seed) {
        std::vector<double> x, losses;
        for (const std::int64_t value : axis.values) {
            x.push_back(o.values(name_of(axis.name, value), axis.name)[seed]);
            losses.push_back(o.values(name_of(axis.name, value), "loss")[seed]);
        }
        exponents.push_back(exponent(x, losses));
    }
    return student(exponents);
}

// Does the fall slow down? The exponent of the last two sizes minus that of the first two.
Interval bend(const Outcomes& o, const Dimension& axis, std::int64_t seeds) {
    std::vector<double> bends;
    const std::size_t n = axis.values.size();
    for (std::size_t seed = 0; seed < static_cast<std::size_t>(seeds); ++seed) {
        const auto slope = [&](std::size_t from) {
            std::vector<double> x, y;
            for (std::size_t i = from; i < from + 2; ++i) {
                x.push_back(o.values(name_of(axis.name, axis.values[i]), axis.name)[seed]);
                y.push_back(o.values(name_of(axis.name, axis.values[i]), "loss")[seed]);
            }
            return exponent(x, y);
        };
        bends.push_back(slope(n - 2) - slope(0));
    }
    return student(bends);
}

Design design_of(const std::string& axis) {
    Comparison comparison{.untuned = "the same for all sizes",
                          .control = "the loss of guessing for all, an exponent of 0",
                          .unit = "an exponent fitted to models with the same seed"};
    for (const Dimension& dimension : axes({})) {
        for (const std::int64_t value : dimension.values) {
            if (dimension.name == axis) comparison.arms.push_back(name_of(dimension.name, value));
        }
    }
    return Design::compared(comparison);
}

Report report(const Setting& s, const Outcomes& o) {
    Report report;
    Table summary{"loss = c x^a", {"x", "a", "of the last two sizes less of the first two"}, {}};
    for (const Dimension& axis : axes(s)) {
        Table table{fmt::format("More {}", axis.name), {axis.name, "held-out loss"}, {}};
        Plot plot{.title = fmt::format("Loss and {}", axis.name),
                  .x = {.label = axis.name, .log = true},
                  .y = {.label = "nats per word", .log = true}};
        plot.series.push_back({.name = "measured", .mark = Mark::line_and_points});
        for (const std::int64_t value : axis.values) {
            const std::string trial = name_of(axis.name, value);
            const double x = o.of(trial, axis.name).mean;
            table.rows.push_back({Cell(x, 3), fixed(o.of(trial, "loss"), 3)});
            add_point(plot.series[0], x, o.of(trial, "loss"));
        }
        const Interval a = fitted(s, o, axis), bent = bend(o, axis, s.seeds);
        summary.rows.push_back({axis.name, fixed(a, 3), fixed(bent, 3)});
        report.tables.push_back(table);
        report.figures.push_back({axis.name, fmt::format("loss = c x^{:.3f}", a.mean), svg(plot)});
        report.decided[fmt::format("falls_with_{}", axis.name)] = a;
        report.decided[fmt::format("{}_is_a_power_law", axis.name)] = bent;
    }
    report.tables.push_back(summary);
    return report;
}

}  // namespace

Experiment experiment() {
    std::vector<Claim> claims;
    for (const char* axis : {"parameters", "data", "compute"}) {
        claims.push_back({fmt::format("falls_with_{}", axis),
                          fmt::format("The loss falls with more {}.", axis),
                          "exponent a of loss = c x^a", below(-0.02), design_of(axis)});
        claims.push_back(
            {fmt::format("{}_is_a_power_law", axis),
             "It does so as a power: on two logarithmic axes the line is straight.",
             "exponent between the two largest sizes less that between the two smallest",
             between(-0.05, 0.05), design_of(axis)});
    }
    return {
        "scaling",
        "Do losses fall as powers of size?",
        "The loss of large language models is said to fall as a power of the parameters, of "
        "the data, and of the compute, as long as the other two do not hold it back: 0.076, 0.095 "
        "and 0.050 are the exponents over six and more orders of magnitude. Here are two orders, "
        "stories from "
        "a grammar, and 300 steps: a text whose entropy is low, so the loss comes near a "
        "floor, "
        "where no power law continues.\n\n"
        "Sources: Kaplan et al. 2020, \"Scaling Laws for Neural Language Models\"; Hoffmann et al. "
        "2022, \"Training Compute-Optimal Large Language Models\", on the floor.",
        claims,
        trials,
        report};
}

}  // namespace tapestry::experiments::scaling
