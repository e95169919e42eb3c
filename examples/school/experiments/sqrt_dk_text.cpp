// Language models trained with and without the division by sqrt(d_k), each at its best learning
// rate. Implements sqrt_dk.h.
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/sqrt_dk.h>
#include <tapestry/examples/school/experiments/text_model.h>

#include <cmath>
#include <string>

namespace tapestry::experiments::sqrt_dk {
namespace {

enum class Way { divided, undivided, rescaled };  // rescaled: undivided, from smaller W_Q and W_K
constexpr Way kWays[] = {Way::divided, Way::undivided, Way::rescaled};

const char* name_of(Way way) {
    if (way == Way::divided) return "divided";
    return way == Way::undivided ? "not divided" : "not divided, W_Q and W_K rescaled";
}

std::string name_of(std::int64_t d, Way way) {
    return fmt::format("text, d_k = {}, {}", d, name_of(way));
}

constexpr std::int64_t kWidths[] = {16, 64, 256, 512};
constexpr std::int64_t kSteps = 150;

// The short form has two widths.
bool is_run(const Setting& setting, std::int64_t d) { return !setting.quick || d <= 64; }
bool is_run(std::int64_t d, Way way) { return way != Way::rescaled || d == 64; }

// d_k = 16 and 64 are 8 and 2 heads of a model 128 wide; 256 and 512 are a single head, wider than
// the model.
Measured learn(const Characters& text, const Setting& setting, std::int64_t d, Way way, double rate,
               std::uint64_t seed) {
    Generator generator(seed);
    const auto dim = setting.pick<std::int64_t>(128, 64);
    TextModelConfig config{.vocab = text.vocab,
                           .layers = setting.pick<std::int64_t>(4, 2),
                           .dim = dim,
                           .heads = std::max<std::int64_t>(1, dim / d),
                           .head_dim = d};
    if (way != Way::divided) config.scale = 1;
    // q . k is then the divided score.
    if (way == Way::rescaled) config.query_key_factor = std::pow(static_cast<double>(d), -0.25);
    TextModel model(config, generator);
    return train_characters(
        model, [&](const Tensor& ids) { return model(ids); }, text,
        {.steps = setting.pick<std::int64_t>(kSteps, 20), .rate = rate, .seed = seed});
}

Plot loss_plot(const Outcomes& o) {
    Plot plot{.title = "4 layers, 2 heads of width 64, each at its best rate",
              .x = {.label = "step"},
              .y = {.label = "loss, nats per character, mean of the seeds"}};
    for (const Way way : kWays) {
        Series s = curve_of(o, name_of(64, way), "losses");
        s.name = name_of(way);
        s.dashed = way == Way::rescaled;
        plot.series.push_back(s);
    }
    return plot;
}

// Where the search for its rate begins.
std::vector<double> rates(const Setting& setting, std::int64_t d, Way way) {
    const bool is_low = d > 64 || way == Way::rescaled;
    if (is_low && !setting.quick) return {8e-4, 2e-3, 5e-3};
    return {2e-3, 5e-3, 1.25e-2};
}

// The loss of a way less that of the division, per seed.
std::vector<double> lost(const Outcomes& o, std::int64_t d, Way way) {
    return differences(o.values(name_of(d, way), "loss"),
                       o.values(name_of(d, Way::divided), "loss"));
}

}  // namespace

std::vector<Trial> text_trials(const Setting& setting) {
    std::vector<Trial> all;
    const auto text = std::make_shared<const Characters>(story_characters());
    for (const std::int64_t d : kWidths) {
        if (!is_run(setting, d)) continue;
        for (const Way way : kWays) {
            if (!is_run(d, way)) continue;
            all.push_back(swept(setting, name_of(d, way), rates(setting, d, way),
                                [=](std::uint64_t seed, double rate) {
                                    return learn(*text, setting, d, way, rate, seed);
                                }));
        }
    }
    return all;
}

std::vector<Claim> text_claims() {
    std::vector<Claim> all;
    const auto against = [](std::int64_t d, Way way) {
        return Design::compared({.arms = {name_of(d, Way::divided), name_of(d, way)},
                                 .control = "the loss of guessing for both, a difference of 0"});
    };
    const std::string number =
        fmt::format("held-out loss after {} steps, nats per character, ", kSteps);
    for (const std::int64_t d : kWidths) {
        all.push_back(
            {fmt::format("learns_less_{}", d),
             fmt::format("In {} steps a language model learns less without the division, d_k = {}.",
                         kSteps, d),
             number + "not divided less divided", above(0.05), against(d, Way::undivided)});
    }
    all.push_back({"rescaled_is_as_good",
                   "W_Q and W_K begun smaller make up for the missing division, d_k = 64.",
                   number + "rescaled less divided", below(0.05), against(64, Way::rescaled)});
    Design wider = against(16, Way::undivided);
    for (const Way way : {Way::divided, Way::undivided}) wider.arms.push_back(name_of(256, way));
    all.push_back({"the_wider_the_more",
                   "The division gains more where a head is 256 wide than where it is 16 wide.",
                   fmt::format("what it gains in {} steps at d_k = 256 less that at 16, nats per "
                               "character",
                               kSteps),
                   above(0), wider});
    return all;
}

void add_text(const Setting& setting, const Outcomes& o, Report& report) {
    Table table{
        fmt::format("A language model of stories, {}, after {} steps, {}: held-out loss, nats per "
                    "character",
                    setting.pick("4 layers of width 128", "2 layers of width 64"),
                    setting.pick<std::int64_t>(kSteps, 20),
                    setting.pick("each at its best rate", "all at the same rate")),
        {"d_k", "divided", "not divided", "not divided, rescaled"},
        {}};
    for (const std::int64_t d : kWidths) {
        if (!is_run(setting, d)) continue;
        table.rows.push_back({d});
        for (const Way way : kWays) {
            table.rows.back().push_back(is_run(d, way) ? fixed(o.of(name_of(d, way), "loss"), 3)
                                                       : Cell("-"));
        }
    }
    report.tables.push_back(table);
    report.figures.push_back({"training", "loss with and without the division", svg(loss_plot(o))});
    const auto decide = [&](const std::string& claim, std::int64_t d, Way way) {
        report.decided[claim] = is_run(setting, d) ? student(lost(o, d, way)) : unmeasured();
    };
    for (const std::int64_t d : kWidths) {
        decide(fmt::format("learns_less_{}", d), d, Way::undivided);
    }
    decide("rescaled_is_as_good", 64, Way::rescaled);
    report.decided["the_wider_the_more"] =
        is_run(setting, 256)
            ? student(differences(lost(o, 256, Way::undivided), lost(o, 16, Way::undivided)))
            : unmeasured();
}

}  // namespace tapestry::experiments::sqrt_dk
