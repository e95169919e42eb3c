// Attention trained with and without the division. Read sqrt_dk_training.h first.
#include <tapestry/examples/school/experiments/sqrt_dk_training.h>

#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/recall.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

// Attention whose scores are not divided.
class UnscaledAttention : public AttentionForm {
public:
    UnscaledAttention() : AttentionForm("UnscaledAttention") {}
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override {
        AttentionOptions unscaled = options;
        unscaled.scale = 1;
        return scaled_dot_product_attention(q, k, v, unscaled);
    }
};

enum class Way { divided, undivided, rescaled };  // rescaled: undivided, from smaller W_Q and W_K

const char* name_of(Way way) {
    if (way == Way::divided) return "divided";
    return way == Way::undivided ? "not divided" : "not divided, W_Q and W_K rescaled";
}

/// One row.
struct Recipe {
    std::int64_t d;
    Way way = Way::divided;
    double rate = 3e-3;

    std::string name() const {
        return fmt::format("d_k = {}, {}{}", d, name_of(way),
                           rate == 3e-3 ? "" : fmt::format(", rate {:g}", rate));
    }
};

std::vector<Recipe> recipes(const Setting& setting) {
    if (setting.quick) {
        return {{64},
                {64, Way::undivided},
                {256},
                {256, Way::undivided},
                {256, Way::rescaled},
                {256, Way::undivided, 1e-3}};
    }
    return {{16},
            {16, Way::undivided},
            {64},
            {64, Way::undivided},
            {256},
            {256, Way::undivided},
            {256, Way::rescaled},
            {256, Way::undivided, 1e-3},
            {256, Way::undivided, 3e-4}};
}

// Rows of W_Q and W_K, in the matrix for all three, times d^(-1/4): q . k is what it was divided.
void rescale(RecallModel& model, std::int64_t d) {
    const Tensor queries_and_keys = views::slice(model.attention.qkv->weight.detach(), 0, 0, 2 * d);
    Tensor smaller = queries_and_keys;
    smaller.copy_(queries_and_keys.clone() * std::pow(static_cast<double>(d), -0.25));
}

// One head of width d; the same numbers at the start, the same batches.
Measured learned(const Recipe& recipe, std::int64_t steps, std::uint64_t seed) {
    Generator generator(seed);
    RecallConfig config{.dim = recipe.d};
    if (recipe.way != Way::divided) {
        config.form = [] { return std::make_unique<UnscaledAttention>(); };
    }
    RecallModel model(config, generator);
    if (recipe.way == Way::rescaled) rescale(model, recipe.d);
    Measured result;
    const std::vector<double> losses = train_recall(model, steps, recipe.rate, generator);
    const auto tenth = static_cast<std::ptrdiff_t>(losses.size() / 10);
    double last = 0;
    for (auto loss = losses.end() - tenth; loss != losses.end(); ++loss) {
        last += *loss / static_cast<double>(tenth);
    }
    result.numbers = {{"loss", last},
                      {"right", model.accuracy(recall_batch(config, 1000, generator))[0]}};
    result.curves = {{"losses", losses}};
    return result;
}

Plot plot_of(const Outcomes& o) {
    Plot plot{.title = "One head of width 256, mean of the seeds",
              .x = {.label = "step"},
              .y = {.label = "loss, nats"}};
    for (const Recipe& recipe : {Recipe{256}, {256, Way::undivided}, {256, Way::rescaled}}) {
        Series s{.name = name_of(recipe.way),
                 .y = o.curve(recipe.name(), "losses"),
                 .dashed = recipe.way == Way::rescaled};
        for (std::size_t step = 1; step <= s.y.size(); ++step) {
            s.x.push_back(static_cast<double>(step));
        }
        plot.series.push_back(s);
    }
    return plot;
}

// Right answers with the division less those of another way, seed by seed.
Interval lead(const Outcomes& o, const Recipe& other) {
    return student(
        differences(o.values(Recipe{other.d}.name(), "right"), o.values(other.name(), "right")));
}

}  // namespace

std::vector<Trial> scaling_trainings(const Setting& setting) {
    std::vector<Trial> all;
    for (const Recipe& recipe : recipes(setting)) {
        // Narrow heads are cheap and slow; wide ones learn this in forty steps.
        const std::int64_t steps = setting.pick(300, recipe.d > 64 ? 40 : 200);
        all.push_back(
            {recipe.name(), [=](std::uint64_t seed) { return learned(recipe, steps, seed); }});
    }
    return all;
}

std::vector<Claim> training_claims() {
    const std::string lead = "right answers with the division less those without";
    return {
        {"stalls_64", "Without the division training stalls at d_k = 64.", lead, above(0.02)},
        {"worse_256", "Without the division training ends worse at d_k = 256.", lead, above(0.02)},
        {"rate_cures", "A smaller rate makes up for the missing division at d_k = 256.",
         lead + ", rate 0.001", below(0.02)},
        {"rescaled_is_as_good",
         "W_Q and W_K begun smaller make up for the missing division at d_k = 256.", lead,
         below(0.02)}};
}

void add_trainings(const Setting& setting, const Outcomes& o, Report& report) {
    Table table{"The same model trained both ways (find the record with the same sign)",
                {"training", "loss, last tenth", "right"},
                {}};
    for (const Recipe& recipe : recipes(setting)) {
        table.rows.push_back({recipe.name(), significant(o.of(recipe.name(), "loss"), 3),
                              percent(o.of(recipe.name(), "right"))});
    }
    report.tables.push_back(table);
    report.figures.push_back({"training", "loss with and without the division", svg(plot_of(o))});
    report.decided["stalls_64"] = lead(o, {64, Way::undivided});
    report.decided["worse_256"] = lead(o, {256, Way::undivided});
    report.decided["rate_cures"] = lead(o, {256, Way::undivided, 1e-3});
    report.decided["rescaled_is_as_good"] = lead(o, {256, Way::rescaled});
}

}  // namespace tapestry::experiments
