// Is head dropout an ensemble? The mean of H heads of which each is dropped with probability p is
// said to vary like the mean of N_eff = H (1 - p) heads.
#include <tapestry/core/views.h>
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kHeads = 16;

// How the outputs of single heads are distributed.
struct Heads {
    const char* name;
    double mean;         // mu; the variance is 1
    double correlation;  // rho of any two heads
};
constexpr Heads kKinds[] = {{"independent, mean 0", 0, 0},
                            {"independent, mean 1", 1, 0},
                            {"correlated 0.5, mean 0", 0, 0.5}};

// Attention whose heads hand on one number of the input each, and whose output is their mean: W_V =
// I, W_O = 1/H, and one position, so that every weight is 1.
MultiHeadAttention& averaging(MultiHeadAttention& attention) {
    attention.qkv->weight.fill_(0);
    views::slice(attention.qkv->weight, 0, 2 * kHeads, 3 * kHeads).copy_(eye(kHeads));
    attention.output.weight.fill_(1.0 / kHeads);
    return attention;
}

// [B, 1, H]: what the heads of B sequences find.
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

struct Moments {
    double mean = 0, variance = 0;
};

Moments moments(const std::vector<double>& values) {
    Moments m;
    const auto n = static_cast<double>(values.size());
    for (const double v : values) m.mean += v / n;
    for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / (n - 1);
    return m;
}

// Var of (1/H) sum_h b_h x_h / (1 - p), b_h independent, 1 with probability 1 - p:
//     (1 + p mu^2) / (H (1 - p)) + rho (H - 1) / H
double variance_in_full(const Heads& kind, double p) {
    constexpr auto heads = static_cast<double>(kHeads);
    return (1 + p * kind.mean * kind.mean) / (heads * (1 - p)) +
           kind.correlation * (heads - 1) / heads;
}

double claimed(double p) { return 1 / (kHeads * (1 - p)); }

struct Errors {
    double claim = 0;  // of 1 / N_eff, for independent heads of mean 0
    double full = 0;   // of the formula in full, everywhere
    double claim_elsewhere = 0;
    double bias = 0;  // of the mean
};

Table variance_table(const Setting& setting, Errors& errors, Plot& plot) {
    Table table{
        "Variance of the mean of 16 heads",
        {"heads, p", "N_eff", "measured", "1 / N_eff", "formula in full", "heads it is worth"},
        {}};
    const auto batch = setting.pick<std::int64_t>(200000, 30000);
    for (const Heads& kind : kKinds) {
        Series series{.name = kind.name, .mark = Mark::line_and_points};
        for (const double p : {0.0, 0.1, 0.3, 0.5, 0.7}) {
            const Moments m = moments(means(kind, p, batch, setting.seed));
            const double full = variance_in_full(kind, p);
            table.rows.push_back({fmt::format("{}, {}", kind.name, p), fixed(kHeads * (1 - p), 1),
                                  fixed(m.variance, 4), fixed(claimed(p), 4), fixed(full, 4),
                                  fixed(1 / m.variance, 1)});
            series.x.push_back(p);
            series.y.push_back(1 / m.variance);
            const double off = std::abs(m.variance / claimed(p) - 1);
            const bool plain = kind.mean == 0 && kind.correlation == 0;
            (plain ? errors.claim : errors.claim_elsewhere) =
                std::max(plain ? errors.claim : errors.claim_elsewhere, off);
            errors.full = std::max(errors.full, std::abs(m.variance / full - 1));
            errors.bias = std::max(errors.bias, std::abs(m.mean - kind.mean));
        }
        plot.series.push_back(series);
    }
    return table;
}

Report run(const Setting& setting) {
    Plot plot{.title = "How many independent heads the mean is worth",
              .x = {.label = "probability p of dropping a head"},
              .y = {.label = "variance of one head / variance of the mean", .low = 0}};
    Errors errors;
    Report report;
    report.tables = {variance_table(setting, errors, plot)};
    plot.series.push_back(
        {.name = "N_eff = H (1 - p)", .x = {0, 0.7}, .y = {kHeads, 0.3 * kHeads}, .dashed = true});
    report.figures = {{"effective", "how many heads the mean is worth", svg(plot)}};
    const double tolerance = setting.pick(0.02, 0.05);
    report.verdict = {
        errors.claim < tolerance && errors.full < tolerance,
        fmt::format(
            "For independent heads of mean 0 the variance is 1 / N_eff within {:.1f} %; the "
            "mean stays what it was, within {:.3f}. But only there: where heads have a mean "
            "or agree, 1 / N_eff is too small by a factor of up to {:.1f}, and the formula in full "
            "holds "
            "within {:.1f} %. Dropping heads makes the mean vary more, not less: the "
            "ensemble is what is used after training, with p = 0.",
            100 * errors.claim, errors.bias, 1 + errors.claim_elsewhere, 100 * errors.full)};
    return report;
}

}  // namespace

Experiment head_dropout() {
    return {
        "head_dropout",
        "Is head dropout an ensemble?",
        "Each head is dropped with probability p, those that stay are scaled by 1 / (1 - p), as "
        "MultiHeadAttention does. For heads of variance 1, mean mu and correlation rho\n\n"
        "    Var(mean of H heads) = (1 + p mu^2) / (H (1 - p)) + rho (H - 1) / H\n\n"
        "which for mu = rho = 0 is 1 / N_eff with N_eff = H (1 - p): as if an ensemble of N_eff "
        "heads had been averaged. The formula says what the claim needs: heads without a common "
        "mean and without correlation.\n\n"
        "Sources: head dropout: Zhou et al. 2020, \"Scheduled DropHead\"; the variance follows "
        "from E b = 1 - p and b^2 = b.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
