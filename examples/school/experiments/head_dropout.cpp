// Is head dropout an ensemble? The mean of H heads, each dropped with probability p, is said to
// vary like the mean of N_eff = H (1 - p) heads. Tests the formula on random heads, whether trained
// heads meet its assumptions, and whether training with head dropout makes heads less critical.
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/head_worth.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/tapestry.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace tapestry::experiments::head_dropout {
namespace {

constexpr std::int64_t kHeads = 16;

// The distribution of single heads' outputs.
struct Heads {
    const char* name;
    double mean;         // mu; the variance is 1
    double correlation;  // rho of any two heads
};
constexpr Heads kKinds[] = {{"independent, mean 0", 0, 0},
                            {"independent, mean 1", 1, 0},
                            {"correlated 0.5, mean 0", 0, 0.5}};

// Attention in which each head passes on one number of the input, and the output is their mean: W_V
// = I, W_O = 1/H, and one position, so every weight is 1.
MultiHeadAttention& averaging(MultiHeadAttention& attention) {
    attention.qkv->weight.fill_(0);
    views::slice(attention.qkv->weight, 0, 2 * kHeads, 3 * kHeads).copy_(eye(kHeads));
    attention.output.weight.fill_(1.0 / kHeads);
    return attention;
}

// [B, 1, H]: sampled head outputs for B sequences.
Tensor head_outputs(const Heads& kind, std::int64_t batch, Generator& generator) {
    const Tensor own = randn({batch, 1, kHeads}, generator);
    const Tensor common = randn({batch, 1, 1}, generator);
    return own * std::sqrt(1 - kind.correlation) + common * std::sqrt(kind.correlation) + kind.mean;
}

// The mean over heads for each of B sequences, with the module's own head dropout.
std::vector<double> means(const Heads& kind, double p, std::int64_t batch, std::uint64_t seed) {
    Generator generator(seed);
    MultiHeadAttention attention({.dim = kHeads, .heads = kHeads, .head_dropout = p, .bias = false},
                                 generator);
    const Tensor y = averaging(attention)(head_outputs(kind, batch, generator));
    return views::slice(y, 2, 0, 1).to_vector<double>();
}

double variance_of(const std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    double mean = 0, variance = 0;
    for (const double v : values) mean += v / n;
    for (const double v : values) variance += (v - mean) * (v - mean) / (n - 1);
    return variance;
}

// Var of (1/H) sum_h b_h x_h / (1 - p), b_h independent, 1 with probability 1 - p:
//     (1 + p mu^2) / (H (1 - p)) + rho (H - 1) / H
double variance_in_full(const Heads& kind, double p) {
    constexpr auto heads = static_cast<double>(kHeads);
    return (1 + p * kind.mean * kind.mean) / (heads * (1 - p)) +
           kind.correlation * (heads - 1) / heads;
}

double claimed(double p) { return 1 / (kHeads * (1 - p)); }

constexpr double kRates[] = {0, 0.1, 0.3, 0.5, 0.7};

std::string random_name(const Heads& kind, double p) { return fmt::format("{}, {}", kind.name, p); }
std::string trained_name(double p) { return fmt::format("trained with p = {}", p); }

/// The costs of a model's heads: "loss", held out, with all of them; "dearest" and "mean", the
/// relative increase without one.
Measured costs_of(const AskedModel& asked) {
    Measured m{{{"loss", asked.loss()}, {"dearest", 0}, {"mean", 0}}};
    double sum = 0, heads = 0;
    for (const auto& layer : asked.blocks.layers) {
        for (std::int64_t h = 0; h < layer->attention.config().heads; ++h) {
            const WithoutHead removed(layer->attention, h);
            const double cost = asked.loss() / m.numbers["loss"] - 1;
            m.numbers["dearest"] = std::max(m.numbers["dearest"], cost);
            sum += cost;
            ++heads;
        }
    }
    m.numbers["mean"] = sum / heads;
    return m;
}

std::string at_tenth(const std::string& number, std::size_t tenth) {
    return fmt::format("{}, {}/10", number, tenth);
}

/// Trains a GPT on stories with 2 layers of 8 heads and head dropout p; 0 steps: leaves it new.
/// With p = 0 it also has the costs at each tenth of the run: "dearest, 3/10".
Measured trained(double p, const StoryText& text, const Setting& setting, std::int64_t steps,
                 double rate, std::uint64_t seed) {
    Generator generator(seed);
    StoryReader model(
        text, {.dim = 64, .heads = 8, .head_dropout = p, .norm_first = true, .causal = true}, 2,
        generator);
    const AskedModel asked{[&](const Tensor& ids, std::vector<AttentionRecord>* records) {
                               return model(ids, records);
                           },
                           model.encoder, text.data, StoryReader::kContext, setting.pick(4, 1)};
    std::map<std::string, double> before;
    std::size_t tenth = 0;
    const auto note_costs = [&] {
        if (p > 0) return;
        ++tenth;
        for (const auto& [name, value] : costs_of(asked).numbers) {
            before[at_tenth(name, tenth)] = value;
        }
    };
    if (steps > 0) {
        examples::fit(
            model, {.steps = steps, .batch = 16, .rate = rate, .print = false},
            [&] {
                const Batch batch =
                    text.data.random_batch(Split::train, 16, StoryReader::kContext, generator);
                return cross_entropy(model(batch.inputs), batch.targets);
            },
            [&] {
                note_costs();
                return examples::Score{};
            });
    }
    model.eval();
    Measured m = costs_of(asked);
    m.numbers["worth"] = heads_worth(asked);
    m.numbers.merge(before);
    return m;
}

/// The number `what` of a run when its loss was `loss`, linear between the tenths of the run on
/// both sides; that of its first tenth or end if it never was.
double at_loss(const Measured& run, const std::string& what, double loss) {
    const auto of = [&](const std::string& number, std::size_t tenth) {
        return run.numbers.at(at_tenth(number, tenth));
    };
    if (loss >= of("loss", 1)) return of(what, 1);
    for (std::size_t tenth = 2; run.numbers.contains(at_tenth("loss", tenth)); ++tenth) {
        if (of("loss", tenth) > loss) continue;
        const double before = of("loss", tenth - 1);
        const double share = (before - loss) / (before - of("loss", tenth));
        return of(what, tenth - 1) + share * (of(what, tenth) - of(what, tenth - 1));
    }
    return run.numbers.at(what);
}

/// That number for every seed of p = 0, at the loss that the model of p = 0.3 with this seed has.
std::vector<double> at_equal_loss(const Outcomes& o, const char* what) {
    const std::vector<double> losses = o.values(trained_name(0.3), "loss");
    std::vector<double> values;
    for (std::size_t seed = 0; seed < losses.size(); ++seed) {
        values.push_back(at_loss(o.seeds(trained_name(0))[seed], what, losses[seed]));
    }
    return values;
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    const auto text =
        std::make_shared<const StoryText>(story_text(setting.pick<std::size_t>(300'000, 100'000)));
    const std::int64_t steps = setting.pick(500, 80);
    for (const double p : {0.0, 0.3}) {
        all.push_back(swept(setting, trained_name(p), {1e-2, 2e-2, 4e-2},
                            [=](std::uint64_t seed, double rate) {
                                return trained(p, *text, setting, steps, rate, seed);
                            }));
    }
    all.push_back(
        {"untrained", [=](std::uint64_t seed) { return trained(0, *text, setting, 0, 0, seed); }});
    const auto batch = setting.pick<std::int64_t>(50000, 10000);
    for (const Heads& kind : kKinds) {
        for (const double p : kRates) {
            all.push_back({random_name(kind, p), [=](std::uint64_t seed) -> Measured {
                               const double v = variance_of(means(kind, p, batch, seed));
                               return {{{"variance", v},
                                        {"worth", 1 / v},
                                        {"over claim", v / claimed(p)},
                                        {"over formula", v / variance_in_full(kind, p)}}};
                           }});
        }
    }
    return all;
}

Table variance_table(const Outcomes& o, Plot& plot) {
    Table table{
        "Variance of the mean of 16 heads",
        {"heads, p", "N_eff", "measured", "1 / N_eff", "formula in full", "heads it is worth"},
        {}};
    for (const Heads& kind : kKinds) {
        Series series{.name = kind.name, .mark = Mark::line_and_points};
        for (const double p : kRates) {
            const std::string name = random_name(kind, p);
            table.rows.push_back({name, fixed(kHeads * (1 - p), 1),
                                  fixed(o.of(name, "variance"), 4), fixed(claimed(p), 4),
                                  fixed(variance_in_full(kind, p), 4),
                                  fixed(o.of(name, "worth"), 1)});
            add_point(series, p, o.of(name, "worth"));
        }
        plot.series.push_back(series);
    }
    return table;
}

// The costs of a model's heads; the values of all seeds.
std::vector<Cell> row_of(const std::string& name, const std::vector<double>& losses,
                         const std::vector<double>& dearest, const std::vector<double>& mean,
                         const Cell& worth) {
    return {name,
            fixed(student(losses), 3),
            percent(student(dearest)),
            percent(student(mean)),
            fixed(student(ratios(dearest, mean)), 2),
            worth};
}

Table trained_table(const Outcomes& o) {
    Table table{
        "A GPT with 2 layers of 8 heads, trained with head dropout and without; measured "
        "with all heads, and with one removed",
        {"training", "loss, held out", "the dearest head costs", "a head costs on average",
         "the dearest over the average", "independent heads that 8 are worth"},
        {}};
    const auto add = [&](const std::string& name) {
        table.rows.push_back(row_of(name, o.values(name, "loss"), o.values(name, "dearest"),
                                    o.values(name, "mean"), fixed(o.of(name, "worth"), 2)));
    };
    add(trained_name(0));
    table.rows.push_back(row_of(fmt::format("{}, stopped at the loss of p = 0.3", trained_name(0)),
                                at_equal_loss(o, "loss"), at_equal_loss(o, "dearest"),
                                at_equal_loss(o, "mean"), "-"));
    add(trained_name(0.3));
    add("untrained");
    table.rows.back()[4] = "-";  // of costs that are nearly 0
    return table;
}

Report report(const Setting&, const Outcomes& o) {
    Plot plot{.title = "How many independent heads the mean is worth",
              .x = {.label = "probability p of dropping a head"},
              .y = {.label = "variance of one head / variance of the mean", .low = 0}};
    Report report{.tables = {variance_table(o, plot), trained_table(o)}};
    plot.series.push_back(
        {.name = "N_eff = H (1 - p)", .x = {0, 0.7}, .y = {kHeads, 0.3 * kHeads}, .dashed = true});
    report.figures = {{"effective", "how many heads the mean is worth", svg(plot)}};
    const std::string with = trained_name(0.3);
    const std::vector<double> dearest = o.values(with, "dearest"), mean = o.values(with, "mean");
    const std::vector<double> dearest_without = at_equal_loss(o, "dearest"),
                              mean_without = at_equal_loss(o, "mean");
    report.decided = {
        {"n_eff", o.of(random_name(kKinds[0], 0.5), "over claim")},
        {"n_eff_with_a_mean", o.of(random_name(kKinds[1], 0.5), "over claim")},
        {"n_eff_correlated", o.of(random_name(kKinds[2], 0.5), "over claim")},
        {"formula_in_full", o.of(random_name(kKinds[2], 0.5), "over formula")},
        {"trained_are_independent", o.of(trained_name(0), "worth")},
        {"less_dominance", student(ratios(dearest, dearest_without))},
        {"easier_to_miss", student(ratios(mean, mean_without))},
        {"shared_more_evenly",
         student(ratios(ratios(dearest, mean), ratios(dearest_without, mean_without)))}};
    return report;
}

const Design kDraw = Design::drawn("a variance over 50,000 draws");
const Design kOne =
    Design::trained({.arms = {trained_name(0)}, .control = "independent heads of mean 0 give 8"});
const Design kEqualLoss = Design::compared({.arms = {trained_name(0.3), trained_name(0)},
                                            .equal = Equal::loss,
                                            .control = "in the table: a head costs next to nothing",
                                            .unit = "a ratio of two models with the same seed"});

std::vector<Claim> claims() {
    const std::string over = "variance over 1 / N_eff, 16 heads, p = 0.5";
    return {
        {"n_eff",
         "Of independent heads of mean 0 head dropout leaves an ensemble of N_eff = H (1 - p).",
         over, between(0.95, 1.05), kDraw},
        {"n_eff_with_a_mean", "It leaves N_eff heads if they have a mean as well.", over,
         between(0.95, 1.05), kDraw},
        {"n_eff_correlated", "It leaves N_eff heads if they are correlated as well.", over,
         between(0.95, 1.05), kDraw},
        {"formula_in_full", "The formula with mean and correlation says what is left.",
         "variance over the formula in full, correlated heads", between(0.95, 1.05), kDraw},
        {"trained_are_independent",
         "The heads of a trained model are independent of one another and of mean 0.",
         "independent heads that 8 trained ones are worth", between(7, 9), kOne},
        {"less_dominance",
         "At the same loss, the dearest head of a model trained with head dropout costs at least a "
         "fifth less.",
         "cost of the dearest head, with over without at the same loss", below(0.8), kEqualLoss},
        {"easier_to_miss",
         "At the same loss, a head of a model trained with head dropout costs at least a fifth "
         "less on average.",
         "mean cost of a head, with over without at the same loss", below(0.8), kEqualLoss},
        {"shared_more_evenly",
         "At the same loss, the heads of a model trained with head dropout share the work more "
         "evenly.",
         "cost of the dearest head over the mean cost, with over without at the same loss",
         below(1), kEqualLoss}};
}

}  // namespace

Experiment experiment() {
    return {
        "head_dropout",
        "Is head dropout an ensemble?",
        "Each head is dropped with probability p, those that stay are scaled by 1 / (1 - p), as "
        "MultiHeadAttention does. For heads of variance 1, mean mu and correlation rho\n\n"
        "    Var(mean of H heads) = (1 + p mu^2) / (H (1 - p)) + rho (H - 1) / H\n\n"
        "which for mu = rho = 0 is 1 / N_eff with N_eff = H (1 - p): as if an ensemble of N_eff "
        "heads had been averaged. The formula shows what the claim needs: heads without a common "
        "mean and without correlation. Of trained heads, what counts is what each adds to its "
        "layer's output: 8 of them are worth the sum of their mean squares over the mean square of "
        "their sum, times 8; that is 8 if they are independent and of mean 0. Dropping heads makes "
        "what is trained "
        "vary more, not less. The ensemble is what is used afterwards, with p = 0: no head should "
        "then dominate. Head dropout also slows the run, and a head of a model that has learnt "
        "less costs less anyway: so the model is compared with one without head dropout, stopped "
        "at the same loss.\n\n"
        "Sources: head dropout: Zhou et al. 2020, \"Scheduled DropHead\"; the variance follows "
        "from E b = 1 - p and b^2 = b.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::head_dropout
