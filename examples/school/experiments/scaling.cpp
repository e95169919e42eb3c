// What makes a language model better: more layers, more data, more parameters, more compute? Small
// models of stories on a CPU, each size at its best learning rate; does the loss fall as a power of
// each?
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace tapestry::experiments::scaling {
namespace {

constexpr std::int64_t kBatch = 8;

struct Size {
    std::int64_t layers = 2;
    std::int64_t dim = 32;
    std::int64_t words = 0;  // words to train on; 0: all
    std::int64_t steps = 0;

    std::string name() const {
        const std::string read = words == 0 ? "all words" : fmt::format("{} words", words);
        return fmt::format("{} layers of {}, {}, {} steps", layers, dim, read, steps);
    }
};

/// The quantity that varies, and its values; the others are as in Size.
struct Dimension {
    const char* name;
    std::vector<std::int64_t> values;

    /// With its unit.
    std::string label() const {
        const std::string axis = name;
        if (axis == "data") return "data, words";
        if (axis == "parameters") return "parameters, without embeddings";
        return axis == "compute" ? "compute, floating-point operations" : axis;
    }
};

std::vector<Dimension> axes(const Setting& s) {
    if (s.quick) {
        return {{"layers", {1, 2, 4}},
                {"data", {1000, 8000, 0}},
                {"parameters", {8, 16, 32}},
                {"compute", {15, 30, 60}}};
    }
    return {{"layers", {1, 2, 4, 8}},
            {"data", {8000, 20'000, 50'000, 0}},
            {"parameters", {8, 16, 32, 64}},
            {"compute", {150, 300, 600, 1200}}};
}

Size size_of(const Setting& s, const std::string& axis, std::int64_t value) {
    Size size{.steps = s.pick(1200, 60)};
    if (axis == "layers") size.layers = value;
    if (axis == "data") size.words = value;
    if (axis == "parameters") size.dim = value;
    if (axis == "compute") size.steps = value;
    return size;
}

// Where the search for its rate begins.
std::vector<double> rates(const Size& size) {
    const bool is_long = size.steps == 1200;
    double middle = size.dim < 32 || size.layers == 1 || size.layers == 8 || !is_long ? 2e-2 : 1e-2;
    if (is_long && size.dim < 16) middle = 4e-2;
    if (size.words != 0) middle = is_long && size.words < 10'000 ? 5e-3 : 1e-2;
    return {middle / 2, middle, 2 * middle};
}

// `words` words to train on, others for each seed, since what is said of data must not depend on
// one draw of them; the held-out part is that of the whole text.
StoryText part_of(const StoryText& text, std::int64_t words, std::uint64_t seed) {
    const auto& all = text.data.ids(Split::train);
    const std::uint64_t places = static_cast<std::uint64_t>(all.size() - words) + 1;
    const auto first =
        static_cast<std::int64_t>(seed * 7919 * static_cast<std::uint64_t>(words) % places);
    return {text.table, TextData(all.read(first, words), {.train_fraction = 0.95})};
}

Measured learn(const StoryText& text, const Size& size, double rate, std::uint64_t seed) {
    Generator generator(seed);
    GPTConfig config = story_config(text);
    config.layers = size.layers;
    config.dim = size.dim;
    GPT model(config, generator);
    const StoryText read = size.words == 0 ? text : part_of(text, size.words, seed);
    learn_stories(model, read, {.steps = size.steps, .batch = kBatch, .rate = rate, .seed = seed});
    // Parameters without the embedding table, as in Kaplan et al.; 6 operations per parameter and
    // word.
    const auto parameters = static_cast<double>(12 * size.layers * size.dim * size.dim);
    const auto seen = static_cast<double>(size.steps * kBatch * config.context);
    return {{{"loss", held_out_loss(model, text)},
             {"layers", static_cast<double>(size.layers)},
             {"parameters", parameters},
             {"data", static_cast<double>(read.data.ids(Split::train).size())},
             {"compute", 6 * parameters * seen}}};
}

std::vector<Trial> trials(const Setting& s) {
    const auto text = std::make_shared<const StoryText>(story_text(1'000'000));
    std::vector<Trial> all;
    for (const Dimension& axis : axes(s)) {
        for (const std::int64_t value : axis.values) {
            const Size size = size_of(s, axis.name, value);
            // The axes cross in one size.
            if (std::ranges::find(all, size.name(), &Trial::name) != all.end()) continue;
            all.push_back(swept(s, size.name(), rates(size), [=](std::uint64_t seed, double rate) {
                return learn(*text, size, rate, seed);
            }));
        }
    }
    return all;
}

/// The sizes along an axis, and the losses of the models with one seed.
struct Points {
    std::vector<double> x, losses;
};

Points points_of(const Setting& s, const Outcomes& o, const Dimension& axis, std::size_t seed) {
    Points points;
    for (const std::int64_t value : axis.values) {
        const std::string trial = size_of(s, axis.name, value).name();
        points.x.push_back(o.values(trial, axis.name)[seed]);
        points.losses.push_back(o.values(trial, "loss")[seed]);
    }
    return points;
}

std::vector<double> above_floor(std::vector<double> losses, double floor) {
    for (double& loss : losses) loss -= floor;
    return losses;
}

// The sum of squares of what loss = floor + c x^a leaves, its line fitted to logarithms.
double misfit(const Points& p, double floor) {
    const Line line = fit_line(logs(p.x), logs(above_floor(p.losses, floor)));
    double sum = 0;
    for (std::size_t i = 0; i < p.x.size(); ++i) {
        const double fitted = floor + std::exp(line.intercept + line.slope * std::log(p.x[i]));
        sum += (p.losses[i] - fitted) * (p.losses[i] - fitted);
    }
    return sum;
}

// The floor, one for all axes, with the least squares; in steps of 0.005 nats. It holds what the
// quantities that do not vary cost, so it is no loss that no model goes below.
double floor_of(const std::vector<Points>& axes) {
    double lowest = axes.at(0).losses.at(0);
    for (const Points& axis : axes) lowest = std::min(lowest, std::ranges::min(axis.losses));
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (double floor = 0; floor < lowest - 0.005; floor += 0.005) {
        double sum = 0;
        for (const Points& axis : axes) sum += misfit(axis, floor);
        if (sum < least) std::tie(best, least) = std::pair(floor, sum);
    }
    return best;
}

// Does the fall slow down? The exponent of the last two sizes less that of the first two, over that
// of all: -1 if the fall has ended.
double bend(const Points& p) {
    const std::size_t n = p.x.size();
    const auto slope = [&](std::size_t from) {
        return exponent({p.x[from], p.x[from + 1]}, {p.losses[from], p.losses[from + 1]});
    };
    return (slope(n - 2) - slope(0)) / exponent(p.x, p.losses);
}

/// The fits to the models with each seed.
struct Fits {
    std::vector<double> floors = {};
    /// By axis: exponent, bend, and both above the floor.
    std::map<std::string, std::vector<double>> a = {}, bent = {}, a_above = {}, bent_above = {};
};

Fits fitted(const Setting& s, const Outcomes& o) {
    Fits fits;
    const std::vector<Dimension> dimensions = axes(s);
    for (std::size_t seed = 0; seed < static_cast<std::size_t>(s.seeds); ++seed) {
        std::vector<Points> all;
        for (const Dimension& axis : dimensions) all.push_back(points_of(s, o, axis, seed));
        const double floor = floor_of(all);
        fits.floors.push_back(floor);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Points above{all[i].x, above_floor(all[i].losses, floor)};
            const char* axis = dimensions[i].name;
            fits.a[axis].push_back(exponent(all[i].x, all[i].losses));
            fits.bent[axis].push_back(bend(all[i]));
            fits.a_above[axis].push_back(exponent(above.x, above.losses));
            fits.bent_above[axis].push_back(bend(above));
        }
    }
    return fits;
}

Design design_of(const std::string& axis, const std::string& unit) {
    Comparison comparison{.control = "the loss of guessing for all, an exponent of 0",
                          .unit = unit};
    for (const Dimension& dimension : axes({})) {
        for (const std::int64_t value : dimension.values) {
            const std::string arm = size_of({}, dimension.name, value).name();
            const bool is_new = std::ranges::find(comparison.arms, arm) == comparison.arms.end();
            if (dimension.name == axis && is_new) comparison.arms.push_back(arm);
        }
    }
    if (axis == "compute") comparison.equal = Equal::rest;
    return Design::compared(comparison);
}

Report report(const Setting& s, const Outcomes& o) {
    Report report;
    const Fits fits = fitted(s, o);
    Table summary{"loss = c x^a, and loss = floor + c x^a with one floor for all",
                  {"x", "a", "bend: of the last two sizes less of the first two, over a",
                   "a above the floor", "bend above the floor"},
                  {}};
    for (const Dimension& axis : axes(s)) {
        Table table{fmt::format("More {}", axis.name), {axis.label(), "held-out loss"}, {}};
        Plot plot{.title = fmt::format("Loss and {}", axis.name),
                  .x = {.label = axis.label(), .log = true},
                  .y = {.label = "held-out loss, nats per word", .log = true}};
        plot.series.push_back({.name = "measured", .mark = Mark::line_and_points});
        for (const std::int64_t value : axis.values) {
            const std::string trial = size_of(s, axis.name, value).name();
            const double x = o.of(trial, axis.name).mean;
            table.rows.push_back({Cell(x, 3), fixed(o.of(trial, "loss"), 3)});
            add_point(plot.series[0], x, o.of(trial, "loss"));
        }
        const auto of = [&](const auto& numbers) { return student(numbers.at(axis.name)); };
        summary.rows.push_back({axis.name, fixed(of(fits.a), 3), fixed(of(fits.bent), 3),
                                fixed(of(fits.a_above), 3), fixed(of(fits.bent_above), 3)});
        report.tables.push_back(table);
        report.figures.push_back(
            {axis.name, fmt::format("loss = c x^{:.3f}", of(fits.a).mean), svg(plot)});
        report.decided[fmt::format("falls_with_{}", axis.name)] = of(fits.a);
        if (std::string(axis.name) == "layers") continue;
        report.decided[fmt::format("{}_is_a_power_law", axis.name)] = of(fits.bent);
    }
    summary.rows.push_back({"(the floor, nats per word, with what the held quantities cost)",
                            fixed(student(fits.floors), 3), "-", "-", "-"});
    report.tables.push_back(summary);
    return report;
}

std::vector<Claim> claims() {
    std::vector<Claim> all;
    const char* kFit = "an exponent fitted to models with the same seed";
    for (const Dimension& axis : axes({})) {
        const char* how = std::string(axis.name) == "parameters" ? " by width" : "";
        all.push_back({fmt::format("falls_with_{}", axis.name),
                       fmt::format("The loss falls by more than 1.4 % with each doubling of {}{}.",
                                   axis.name, how),
                       "exponent a of loss = c x^a; 2^-0.02 = 0.986", below(-0.02),
                       design_of(axis.name, kFit)});
    }
    for (const char* axis : {"data", "parameters", "compute"}) {
        all.push_back(
            {fmt::format("{}_is_a_power_law", axis),
             fmt::format(
                 "The loss falls as a power of {}: its line on two logarithmic axes is straight.",
                 axis),
             "exponent between the two largest sizes less that between the two smallest, "
             "over that of all",
             between(-0.3, 0.3), design_of(axis, kFit)});
    }
    return all;
}

}  // namespace

Experiment experiment() {
    return {
        "scaling",
        "Do losses fall as powers of size?",
        "Texts say that a language model gets better with more layers, more data and more "
        "parameters. Of large ones it is said that the loss falls as a power of the parameters, of "
        "the data, and of the compute, as long as the other two do not hold it back: 0.076, 0.095 "
        "and 0.050 are the exponents over six and more orders of magnitude. Here are one or two "
        "orders, each size at its best rate, and stories from a grammar: a text whose entropy is "
        "low, so the loss may come near a floor, where a power law ends. One floor for all "
        "quantities "
        "is fitted to see whether it does. Layers "
        "are added at the same width, and parameters by width at the same number of layers; "
        "8,000 words are read about forty times, so more data is also less learning by heart.\n\n"
        "Sources: Kaplan et al. 2020, \"Scaling Laws for Neural Language Models\"; Hoffmann et al. "
        "2022, \"Training Compute-Optimal Large Language Models\", on the floor.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::scaling
