// Why divide by sqrt(d_k)? The scores of random vectors grow with d_k. This measures the effect on
// the softmax, its gradient, the gradient that reaches q and W_Q; sqrt_dk_text.cpp trains language
// models with and without the division.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/sqrt_dk.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments::sqrt_dk {
namespace {

constexpr std::int64_t kKeys = 64;
constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 512, 1024};

std::string random_name(std::int64_t d) { return fmt::format("random, d_k = {}", d); }

// The variance of q . k over pairs of vectors with components of mean 0 and variance 1.
double score_variance(std::int64_t d, std::int64_t pairs, Generator& generator) {
    const Tensor q = randn({pairs, d}, generator);
    const Tensor k = randn({pairs, d}, generator);
    return var(sum(q * k, {1})).item();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The norm of each row of a gradient: median and root mean square over queries.
void add_norms(const std::string& name, const Tensor& gradient, Measured& measured) {
    const Tensor squares = sum(square(gradient), {1});
    measured.numbers[name + ", median"] = median(sqrt(squares).to_vector<double>());
    measured.numbers[name + ", rms"] = std::sqrt(mean(squares).item());
}

// Queries x W_Q against kKeys random keys, and the gradients when cotangents of mean 0 and variance
// 1 arrive at the weights: at the scores (after the division), at q, and at W_Q.
void measure_softmax(const std::string& way, std::int64_t d, double scale, std::int64_t queries,
                     Generator generator, Measured& measured) {
    const Tensor x = randn({queries, d}, generator);
    Tensor w_q = randn({d, d}, generator) / std::sqrt(static_cast<double>(d));
    const Tensor k = randn({kKeys, d}, generator);
    w_q.set_requires_grad();
    Tape tape;
    const Tensor q = matmul(x, w_q);
    const Tensor scores = matmul(q, transpose(k, 0, 1)) * scale;  // [queries, kKeys]
    const Tensor weights = softmax(scores);
    const Tensors gradients =
        tape.gradient(sum(weights * randn(weights.shape(), generator)), {scores, q, w_q});
    measured.numbers[way + ", largest weight"] = mean(max(weights.detach(), {1})).item();
    add_norms(way + ", scores", gradients[0], measured);
    add_norms(way + ", q", gradients[1], measured);
    measured.numbers[way + ", W_Q"] = std::sqrt(mean(square(gradients[2])).item());
}

Trial random_trial(std::int64_t d, const Setting& setting) {
    const auto pairs = setting.pick<std::int64_t>(40000, 10000);
    const auto queries = setting.pick<std::int64_t>(2000, 500);
    return {random_name(d), [=](std::uint64_t seed) {
                Generator generator(seed);
                const auto size = static_cast<double>(d);
                Measured m{{{"variance", score_variance(d, pairs, generator)}}};
                m.numbers["deviation"] = std::sqrt(m.numbers["variance"]);
                // The same queries, keys and cotangents for both ways.
                measure_softmax("divided", d, 1 / std::sqrt(size), queries, generator, m);
                measure_softmax("undivided", d, 1, queries, generator, m);
                for (const char* what : {"q, median", "q, rms", "W_Q"}) {
                    m.numbers[std::string("ratio, ") + what] =
                        m.numbers[std::string("undivided, ") + what] /
                        m.numbers[std::string("divided, ") + what];
                }
                m.numbers["ratio, q, variance"] = std::pow(m.numbers["ratio, q, rms"], 2);
                return m;
            }};
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all = text_trials(setting);
    for (const std::int64_t d : kSizes) all.push_back(random_trial(d, setting));
    return all;
}

Table scores_table(const Outcomes& o) {
    Table table{"Random queries against 64 random keys, numbers of mean 0 and variance 1",
                {"d_k", "variance of q . k", "theory", "largest weight, divided", "not divided"},
                {}};
    for (const std::int64_t d : kSizes) {
        const std::string name = random_name(d);
        table.rows.push_back({d, significant(o.of(name, "variance"), 4), d,
                              fixed(o.of(name, "divided, largest weight"), 3),
                              fixed(o.of(name, "undivided, largest weight"), 3)});
    }
    return table;
}

Table gradients_table(const Outcomes& o, const std::string& title, const std::string& what) {
    Table table{
        title,
        {"d_k", "divided: median", "divided: rms", "not divided: median", "not divided: rms"},
        {}};
    for (const std::int64_t d : kSizes) {
        table.rows.push_back({d});
        for (const char* way : {"divided, ", "undivided, "}) {
            for (const char* kind : {", median", ", rms"}) {
                table.rows.back().push_back(
                    significant(o.of(random_name(d), way + what + kind), 3));
            }
        }
    }
    return table;
}

Plot gradient_plot(const Outcomes& o) {
    Plot plot{.title = "What comes back through softmax, not divided over divided",
              .x = {.label = "d_k", .log = true, .ticks = {4, 16, 64, 256, 1024}},
              .y = {.label = "norm of the gradient, times the divided one's", .log = true}};
    for (const auto& [name, what] : {std::pair{"scores, median", "scores, median"},
                                     {"scores, root mean square", "scores, rms"},
                                     {"q, median", "q, median"},
                                     {"q, root mean square", "q, rms"}}) {
        Series s{.name = name,
                 .mark = Mark::line_and_points,
                 .dashed = std::string_view(what).ends_with("rms")};
        const std::string number = what;
        for (const std::int64_t d : kSizes) {
            const auto of = [&](const char* way) { return o.values(random_name(d), way + number); };
            add_point(s, static_cast<double>(d),
                      student(ratios(of("undivided, "), of("divided, "))));
        }
        plot.series.push_back(s);
    }
    return plot;
}

Report report(const Setting& setting, const Outcomes& o) {
    const auto over = [&](const char* what, std::int64_t a, std::int64_t b) {
        return student(ratios(o.values(random_name(a), what), o.values(random_name(b), what)));
    };
    Report report{
        .tables = {scores_table(o),
                   gradients_table(o, "Norm of the gradient of a query's scores", "scores"),
                   gradients_table(o, "Norm of the gradient that reaches the query", "q")},
        .figures = {{"gradient", "gradient through softmax against d_k", svg(gradient_plot(o))}}};
    report.decided = {
        {"variance",
         student(ratios(o.values(random_name(512), "variance"),
                        std::vector<double>(static_cast<std::size_t>(setting.seeds), 512)))},
        {"deviation_8", o.of(random_name(64), "deviation")},
        {"deviation_1", student(ratios(o.values(random_name(64), "deviation"),
                                       std::vector<double>(static_cast<std::size_t>(setting.seeds),
                                                           std::sqrt(64.0))))},
        {"saturated", o.of(random_name(64), "undivided, largest weight")},
        {"divided_constant", over("divided, largest weight", 1024, 16)},
        {"scores_vanish", over("undivided, scores, median", 1024, 4)},
        {"q_vanishes", o.of(random_name(64), "ratio, q, median")},
        {"q_explodes", o.of(random_name(512), "ratio, q, variance")},
        {"w_q_explodes", o.of(random_name(512), "ratio, W_Q")}};
    add_text(setting, o, report);
    return report;
}

std::vector<Claim> claims() {
    std::vector<Claim> all = designed(
        Design::drawn("a draw of queries and keys"),
        {{"variance", "The variance of q . k is d_k.", "variance over d_k, at 512",
          between(0.95, 1.05)},
         {"deviation_8", "At d_k = 64 undivided scores have a standard deviation of 8.",
          "standard deviation", between(7.6, 8.4)},
         {"deviation_1", "At d_k = 64 divided scores have a standard deviation of 1.",
          "standard deviation", between(0.95, 1.05)},
         {"saturated", "At d_k = 64 the softmax of undivided scores has hardened.",
          "largest of 64 weights", above(0.5)},
         {"divided_constant", "Divided, softmax is as soft at every d_k from 16 on.",
          "largest weight at d_k = 1024 over that at 16", between(0.8, 1.25)},
         {"scores_vanish", "Undivided, the typical gradient of the scores vanishes.",
          "median norm at d_k = 1024 over that at 4", below(0.1)},
         {"q_vanishes", "At d_k = 64 the typical gradient that reaches q vanishes undivided.",
          "median norm, not divided over divided", below(0.5)},
         {"q_explodes", "At d_k = 512 the variance of q's gradient explodes undivided.",
          "mean square, not divided over divided", above(100)},
         {"w_q_explodes", "At d_k = 512 the gradient of W_Q explodes undivided.",
          "root mean square, not divided over divided", above(5)}});
    const std::vector<Claim> trained = text_claims();
    all.insert(all.end(), trained.begin(), trained.end());
    return all;
}

}  // namespace

Experiment experiment() {
    return {
        "sqrt_dk",
        "Why divide by sqrt(d_k)?",
        "If the numbers in q and k are independent with mean 0 and variance 1, q . k is a sum of "
        "d_k products of variance 1: its variance is d_k. Scores that large make softmax nearly "
        "one-hot, and its Jacobian diag(p) - p p^T vanishes there: little gradient comes "
        "through to the scores. Divided by sqrt(d_k) the scores have variance 1 whatever d_k "
        "is.\n\n"
        "But scores train nothing. What trains W_Q is the gradient of q, the sum of the scores' "
        "gradients times the keys and times the scale, which is 1 without the division: what "
        "softmax holds back, the missing factor 1/sqrt(d_k) gives again, and a query that wavers "
        "between two keys gets very much. Nor is the division needed to express anything: W_Q and "
        "W_K made smaller by d_k^(-1/4) each are the same function without it (so that a "
        "temperature in softmax cannot be told from the size of W_Q W_K^T). It fixes where a "
        "run begins, and how far a step goes: a step of the same size in W_Q moves undivided "
        "scores sqrt(d_k) times as far. So language models are trained with it and without, "
        "each at its best rate, and without it from the smaller start.\n\n"
        "Source: Vaswani et al. 2017, \"Attention Is All You Need\", section 3.2.1 with "
        "footnote 4.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::sqrt_dk
