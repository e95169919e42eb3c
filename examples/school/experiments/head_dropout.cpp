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

/// Trains a GPT on stories with 2 layers of 8 heads and head dropout p.
Measured trained(double p, const StoryText& text, std::int64_t steps, std::uint64_t seed) {
    Generator generator(seed);
    StoryReader model(
        text, {.dim = 64, .heads = 8, .head_dropout = p, .norm_first = true, .causal = true}, 2,
        generator);
    examples::fit(
        model, {.steps = steps, .batch = 16, .rate = 5e-3, .print = false},
        [&] {
            const Batch batch =
                text.data.random_batch(Split::train, 16, StoryReader::kContext, generator);
            return cross_entropy(model(batch.inputs), batch.targets);
        },
        [] { return examples::Score{}; });
    model.eval();
    const AskedModel asked{[&](const Tensor& ids, std::vector<AttentionRecord>* records) {
                               return model(ids, records);
                           },
                           model.encoder, text.data, StoryReader::kContext, 4};
    const Removals removals = remove_each(asked);
    Measured m{{{"loss", removals.loss}}};
    double sum = 0;
    for (const double cost : removals.zeroed) {
        m.numbers["dearest"] = std::max(m.numbers["dearest"], cost);
        sum += cost;
    }
    m.numbers["mean"] = sum / static_cast<double>(removals.zeroed.size());
    m.numbers["worth"] = heads_worth(asked);
    return m;
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    const auto text =
        std::make_shared<const StoryText>(story_text(setting.pick<std::size_t>(300'000, 100'000)));
    const std::int64_t steps = setting.pick(500, 80);
    for (const double p : {0.0, 0.3}) {
        all.push_back(
            {trained_name(p), [=](std::uint64_t seed) { return trained(p, *text, steps, seed); }});
    }
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

Table trained_table(const Outcomes& o) {
    Table table{
        "A GPT with 2 layers of 8 heads, trained with head dropout and without; measured "
        "with all heads, and with one removed",
        {"training", "loss, held out", "the dearest head costs", "a head costs on average",
         "independent heads that 8 are worth"},
        {}};
    for (const double p : {0.0, 0.3}) {
        const std::string name = trained_name(p);
        table.rows.push_back({name, fixed(o.of(name, "loss"), 3), percent(o.of(name, "dearest")),
                              percent(o.of(name, "mean")), fixed(o.of(name, "worth"), 2)});
    }
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
    const std::string with = trained_name(0.3), without = trained_name(0);
    report.decided = {
        {"n_eff", o.of(random_name(kKinds[0], 0.5), "over claim")},
        {"n_eff_with_a_mean", o.of(random_name(kKinds[1], 0.5), "over claim")},
        {"n_eff_correlated", o.of(random_name(kKinds[2], 0.5), "over claim")},
        {"formula_in_full", o.of(random_name(kKinds[2], 0.5), "over formula")},
        {"trained_are_independent", o.of(without, "worth")},
        {"less_dominance",
         student(ratios(o.values(with, "dearest"), o.values(without, "dearest")))},
        {"easier_to_miss", student(ratios(o.values(with, "mean"), o.values(without, "mean")))}};
    return report;
}

const Design kDraw = Design::drawn("a variance over 50,000 draws");
const Design kOne =
    Design::trained({.untuned = "one that suffices", .control = "independent heads give 8"});
const Design kEqualSteps = Design::compared(
    {.arms = {trained_name(0.3), trained_name(0)},
     .untuned = "the same for both, which leaves the one with head dropout at a higher loss",
     .control = "a head costs next to nothing",
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
        {"trained_are_independent", "The heads of a trained model are independent of one another.",
         "independent heads that 8 trained ones are worth", between(7, 9), kOne},
        {"less_dominance", "Trained with head dropout, no head dominates.",
         "cost of the dearest head, with over without", below(0.8), kEqualSteps},
        {"easier_to_miss", "Trained with head dropout, a head is easier to miss.",
         "mean cost of a head, with over without", below(0.8), kEqualSteps}};
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
        "their sum, times 8; that is 8 if they are independent. Dropping heads makes what is "
        "trained "
        "vary more, not less. The ensemble is what is used afterwards, with p = 0: no head should "
        "then dominate.\n\n"
        "Sources: head dropout: Zhou et al. 2020, \"Scheduled DropHead\"; the variance follows "
        "from E b = 1 - p and b^2 = b.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::head_dropout
