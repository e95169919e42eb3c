// Are rotary heads frequency filters? A head whose queries and keys use a single pair of dimensions
// attends by the cosine of the distance: strongly nearby, and again one wavelength away. And which
// frequencies do heads use when trained to look near, or wide?
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/tapestry.h>

#include <cmath>
#include <numbers>

namespace tapestry::experiments::rotary_filters {
namespace {

constexpr std::int64_t kWidth = 32;  // of a head: 16 pairs
constexpr double kPeak = 4;          // score at distance 0, for any choice of pairs

double frequency(std::int64_t pair) {
    return std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(kWidth));
}

// The weights [S] that a query in the middle of S positions gives to all of them, if all queries
// and keys are the same vector, nonzero only in pairs first .. last - 1. Computed with the
// library's rotary() and attention.
std::vector<double> weights_by_position(std::int64_t first, std::int64_t last,
                                        std::int64_t positions) {
    Tensor x = zeros({positions, kWidth}, DType::f64);
    // Each pair adds |x_pair|^2 / sqrt(D) to the score at distance 0; they sum to kPeak.
    const double size = std::sqrt(kPeak * std::sqrt(static_cast<double>(kWidth)) /
                                  static_cast<double>(last - first));
    views::slice(views::slice(x, 1, 2 * first, 2 * last), 1, 0, 2 * (last - first), 2).fill_(size);
    const Tensor turned = rotary(x);
    const std::int64_t middle = positions / 2;
    return attention_weights(views::slice(turned, 0, middle, middle + 1), turned)
        .to_vector<double>();
}

// The distance at which the weight falls to half of that at distance 0, interpolated linearly
// between positions; infinite if it never does.
double half_width(const std::vector<double>& weights) {
    const std::size_t middle = weights.size() / 2;
    const double half = weights[middle] / 2;
    for (std::size_t d = 1; middle + d < weights.size(); ++d) {
        const double here = weights[middle + d], before = weights[middle + d - 1];
        if (here <= half) return static_cast<double>(d) - (half - here) / (before - here);
    }
    return INFINITY;
}

// e^(kPeak (cos(theta d) - 1)) = 1/2
double half_width_theory(std::int64_t pair) {
    return std::acos(1 - std::numbers::ln2 / kPeak) / frequency(pair);
}

// The amplitude that remains of cos(omega j) at distance j = 0 after the head averages it.
double gain(const std::vector<double>& weights, double omega) {
    const auto middle = static_cast<double>(weights.size() / 2);
    double result = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        result += weights[j] * std::cos(omega * (static_cast<double>(j) - middle));
    }
    return result;
}

// e^(s cos t) = I_0(s) + 2 sum_n I_n(s) cos(n t): the gain for a wave of n theta.
double gain_theory(int n) {
    return std::cyl_bessel_i(static_cast<double>(n), kPeak) / std::cyl_bessel_i(0.0, kPeak);
}

struct Worst {
    double width = 0, gain = 0;
};

Table width_table(std::int64_t positions, Worst& worst) {
    Table table{"Half-width of a head that uses one pair, in positions",
                {"pair", "theta", "wavelength", "measured", "theory", "relative error"},
                {}};
    for (std::int64_t pair = 3; pair < 13; pair += 1) {
        const double theory = half_width_theory(pair);
        const double measured = half_width(weights_by_position(pair, pair + 1, positions));
        const double error = std::abs(measured - theory) / theory;
        table.rows.push_back({pair,
                              frequency(pair),
                              {2 * std::numbers::pi / frequency(pair)},
                              measured,
                              theory,
                              percent(error, 2)});
        worst.width = std::max(worst.width, error);
    }
    return table;
}

Table gain_table(std::int64_t positions, Worst& worst) {
    Table table{"What the head of pair 4 keeps of a wave of n times its frequency",
                {"n", "measured", "theory I_n(s) / I_0(s)"},
                {}};
    const std::vector<double> weights = weights_by_position(4, 5, positions);
    for (const double n : {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0}) {
        const bool whole = n == std::floor(n);
        const double theory = whole ? gain_theory(static_cast<int>(n)) : 0;
        const double measured = gain(weights, n * frequency(4));
        table.rows.push_back({fixed(n, 1), fixed(measured, 4), fixed(theory, 4)});
        worst.gain = std::max(worst.gain, std::abs(measured - theory));
    }
    return table;
}

struct Band {
    const char* name;
    std::int64_t first, last;
};
constexpr Band kBands[] = {
    {"high: pairs 0-3", 0, 4}, {"low: pairs 8-11", 8, 12}, {"all pairs", 0, 16}};

Series band_series(const Band& band, std::int64_t positions) {
    const std::vector<double> weights = weights_by_position(band.first, band.last, positions);
    const std::size_t middle = weights.size() / 2;
    Series s{.name = band.name};
    for (std::size_t d = 0; d <= 256 && middle + d < weights.size(); ++d) {
        s.x.push_back(static_cast<double>(d));
        s.y.push_back(weights[middle + d] / weights[middle]);
    }
    return s;
}

// ---- one rotary head, trained to look near or wide: which frequencies does it use?

constexpr std::int64_t kSymbols = 16, kDim = 32, kLength = 64, kBatch = 16;

class Looker : public Module {
public:
    Embedding token;
    MultiHeadAttention attention;
    Linear out;

    explicit Looker(Generator& generator)
        : Module("Looker"),
          token(kSymbols, kDim, generator),
          attention({.dim = kDim, .heads = 1, .causal = true, .positions = Positions::rotary},
                    generator),
          out(kDim, kSymbols, true, generator) {
        register_module("token", token);
        register_module("attention", attention);
        register_module("out", out);
    }
    Tensor operator()(const Tensor& ids, AttentionRecord* record = nullptr) const {
        return out(attention(token(ids), {.record = record}));
    }
};

// [T, T]: row i has equal shares for its target positions, 0 elsewhere.
Tensor asked_positions(std::int64_t first, std::int64_t last) {
    Tensor matrix = zeros({kLength, kLength});
    float* m = matrix.mutable_data<float>();
    for (std::int64_t i = last; i < kLength; ++i) {
        for (std::int64_t d = first; d <= last; ++d) {
            m[i * kLength + i - d] = 1 / static_cast<float>(last - first + 1);
        }
    }
    return matrix;
}

// Mean squared error of the shares, at positions that have all their targets.
Tensor error_of(const Looker& model, const Tensor& ids, const Tensor& asked, std::int64_t last) {
    const Tensor shares = matmul(asked, one_hot(ids, kSymbols));  // [B, T, V]
    return mean(square(slice(model(ids) - shares, 1, last, kLength)));
}

// |mean q| |mean k| of every pair, over all symbols: the pair's content-independent part of a
// score.
std::vector<double> parts_of_pairs(const Looker& model) {
    const Tensor symbol = mean(model.token.weight.detach(), {0}, true);  // [1, C]
    const Tensor all = (*model.attention.qkv)(symbol);                   // [1, 3 C]
    const auto values = all.detach().to_vector<float>();
    std::vector<double> parts;
    for (std::size_t i = 0; i < kDim; i += 2) {
        const double q = std::hypot(values[i], values[i + 1]);
        const double k = std::hypot(values[kDim + i], values[kDim + i + 1]);
        parts.push_back(q * k);
    }
    return parts;
}

// Trains the head to predict, as shares, which symbols stood `first` to `last` positions before.
// Numbers: "pair", the mean index of the pairs it uses, weighted by their part of the scores;
// "error", of the shares, relative to a constant prediction; "weight", its weight on those
// positions. Curves: "profile", weight by distance; "pairs", each pair's part.
Measured train_rotary_head(std::int64_t first, std::int64_t last, std::int64_t steps, double rate,
                           std::uint64_t seed) {
    Generator generator(seed);
    Looker model(generator);
    const Tensor asked = asked_positions(first, last);
    const auto draw = [&] { return randint(0, kSymbols, {kBatch, kLength}, generator); };
    examples::fit(
        model, {.steps = steps, .rate = rate, .print = false},
        [&] { return error_of(model, draw(), asked, last) * kSymbols; },
        [] { return examples::Score{}; });
    const NoGradGuard no_grad;
    Measured m;
    const Tensor ids = draw();
    const Tensor shares = slice(matmul(asked, one_hot(ids, kSymbols)), 1, last, kLength);
    m.numbers["error"] =
        error_of(model, ids, asked, last).item() / mean(square(shares - 1.0 / kSymbols)).item();
    AttentionRecord record;
    model(ids, &record);
    const Tensor weights = mean(record.weights, {0, 1});  // [T, T]
    m.numbers["weight"] = 0;
    for (std::int64_t d = 0; d < kLength; ++d) {
        const double weight = weights.at({kLength - 1, kLength - 1 - d});
        m.curves["profile"].push_back(weight);
        if (first <= d && d <= last) m.numbers["weight"] += weight;
    }
    double sum = 0, weighted = 0;
    m.curves["pairs"] = parts_of_pairs(model);
    for (std::size_t pair = 0; pair < m.curves["pairs"].size(); ++pair) {
        sum += m.curves["pairs"][pair];
        weighted += static_cast<double>(pair) * m.curves["pairs"][pair];
    }
    m.numbers["pair"] = weighted / sum;
    return m;
}

/// The positions that a head is trained to look at.
struct Task {
    const char* name;
    std::int64_t first, last;
};
constexpr Task kTasks[] = {{"the token before", 1, 1}, {"the last 32 tokens", 0, 31}};

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    for (const Task& task : kTasks) {
        all.push_back(swept(
            setting, task.name, {5e-3, 1e-2, 2e-2},
            [=, steps = setting.pick(1000, 200)](std::uint64_t seed, double rate) {
                return train_rotary_head(task.first, task.last, steps, rate, seed);
            },
            "error"));
    }
    return all;
}

Table trained_table(const Outcomes& o) {
    Table table{
        "One rotary head of width 32 (pairs 0 to 15, high frequencies first), trained to "
        "look at",
        {"", "weight there", "error, over that of knowing nothing", "mean pair it uses"},
        {}};
    for (const Task& task : kTasks) {
        table.rows.push_back({task.name, percent(o.of(task.name, "weight")),
                              fixed(o.of(task.name, "error"), 3),
                              fixed(o.of(task.name, "pair"), 2)});
    }
    return table;
}

Plot trained_plot(const Outcomes& o) {
    Plot plot{.title = "What each pair adds to a trained head's scores",
              .x = {.label = "pair, high frequencies first"},
              .y = {.label = "|mean q| |mean k|", .low = 0}};
    for (const Task& task : kTasks) {
        plot.series.push_back(curve_of(o, task.name, "pairs", 0));
        plot.series.back().mark = Mark::line_and_points;
    }
    return plot;
}

Plot band_plot(std::int64_t positions) {
    Plot bands{.title = "Attention against distance",
               .x = {.label = "distance"},
               .y = {.label = "weight, relative to distance 0", .low = 0}};
    for (const Band& band : kBands) bands.series.push_back(band_series(band, positions));
    return bands;
}

Plot gain_plot(std::int64_t positions) {
    const std::vector<double> weights = weights_by_position(4, 5, positions);
    Plot gains{.title = "One pair as a filter",
               .x = {.label = "frequency of the wave / frequency of the pair"},
               .y = {.label = "share of the amplitude kept"}};
    Series measured{.name = "measured"}, theory{.name = "I_n(s) / I_0(s)", .mark = Mark::points};
    for (int i = 0; i <= 350; ++i) {
        measured.x.push_back(0.01 * i);
        measured.y.push_back(gain(weights, 0.01 * i * frequency(4)));
    }
    for (int n = 0; n <= 3; ++n) {
        theory.x.push_back(n);
        theory.y.push_back(gain_theory(n));
    }
    gains.series = {measured, theory};
    return gains;
}

const Design kExact = Design::computed();
Design one(const Task& task) {
    return Design::trained({.arms = {task.name}, .control = "even weights, 1/64 a position"});
}
const Design kTwo =
    Design::compared({.arms = {kTasks[0].name, kTasks[1].name}, .control = "a difference of 0"});

Report report(const Setting& setting, const Outcomes& o) {
    const std::int64_t positions = setting.pick<std::int64_t>(65536, 16384);
    Worst worst;
    Report report{
        .tables = {width_table(positions, worst), gain_table(positions, worst), trained_table(o)},
        .figures = {{"distance", "attention against distance", svg(band_plot(positions))},
                    {"gain", "what one pair keeps of waves", svg(gain_plot(positions))},
                    {"trained", "the pairs that trained heads use", svg(trained_plot(o))}}};
    report.decided = {
        {"half_width", exactly(worst.width)},
        {"comb", exactly(worst.gain)},
        {"near_is_learned", o.of(kTasks[0].name, "weight")},
        {"wide_is_learned", o.of(kTasks[1].name, "weight")},
        {"near_uses_higher_frequencies",
         student(differences(o.values(kTasks[1].name, "pair"), o.values(kTasks[0].name, "pair")))}};
    return report;
}

std::vector<Claim> claims() {
    return {{"half_width", "A head of one pair is as wide as its frequency says.",
             "largest relative error of the half-width", below(0.05), kExact},
            {"comb",
             "A head of one pair keeps I_n(s) / I_0(s) of a wave of n times its frequency, and "
             "nothing of one halfway between.",
             "largest error of the share kept", below(0.02), kExact},
            {"near_is_learned", "A rotary head learns to look at the token before.", "weight on it",
             above(0.8), one(kTasks[0])},
            {"wide_is_learned", "A rotary head learns to look at the last 32 tokens of 64.",
             "weight on them", above(0.8), one(kTasks[1])},
            {"near_uses_higher_frequencies",
             "A head trained to look near uses higher frequencies than one trained to look wide.",
             "mean pair used, the wide one's less the near one's", above(0.5), kTwo}};
}

}  // namespace

Experiment experiment() {
    return {
        "rotary_filters",
        "Are rotary heads frequency filters?",
        "If all queries and keys are the same vector, the rotary score of two positions depends "
        "only on their distance d: each pair i of numbers adds a cosine with its own frequency, "
        "theta_i = 10000^(-2 i / D). A head that uses one pair has the weights\n\n"
        "    w(d) ~ e^(s cos(theta d)), half of the largest at d = arccos(1 - ln 2 / s) / theta\n\n"
        "and what it does to a wave cos(omega j) of values follows from the Fourier series of "
        "w, e^(s cos t) = I_0(s) + 2 sum_n I_n(s) cos(n t): of omega = n theta a share of I_n(s) "
        "/ I_0(s) gets through, of all other waves nothing. Low frequencies make wide windows, "
        "high ones narrow windows that come again with every wavelength. Here s = 4 and D = 32. "
        "So a head that is trained to look at the token before should come to use high "
        "frequencies, and one that is trained to look at many tokens low ones.\n\n"
        "Sources: Su et al. 2021, \"RoFormer\", section 3.4; the series: Jacobi and Anger, "
        "Abramowitz and Stegun 9.6.34.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::rotary_filters
