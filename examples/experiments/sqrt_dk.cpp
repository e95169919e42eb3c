// Why divide by sqrt(d_k)? The scores of random vectors grow with their length; softmax of large
// scores is nearly one-hot and passes almost no gradient.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/recall.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kKeys = 64;
constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 1024};

// The variance of q . k over pairs of vectors whose numbers have mean 0 and variance 1.
double score_variance(std::int64_t d, std::int64_t pairs, Generator& generator) {
    const Tensor q = randn({pairs, d}, generator);
    const Tensor k = randn({pairs, d}, generator);
    return var(sum(q * k, {1})).item();
}

struct Sharpness {
    double largest = 0;  // mean over queries of the largest weight
    // Norm of the gradient of a query's scores: its median and root mean square over queries.
    double median = 0, rms = 0;
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Softmax over kKeys scores of random queries and keys, and what it lets through when numbers of
// mean 0 and variance 1 arrive at the weights.
Sharpness sharpness(std::int64_t d, double scale, std::int64_t queries, Generator& generator) {
    const Tensor q = randn({queries, d}, generator);
    const Tensor k = randn({kKeys, d}, generator);
    Tensor scores = matmul(q, transpose(k, 0, 1)) * scale;  // [queries, kKeys]
    scores.set_requires_grad();
    Tape tape;
    const Tensor weights = softmax(scores);
    tape.backward(sum(weights * randn(weights.shape(), generator)));
    const Tensor squares = sum(square(scores.grad()), {1});
    return {mean(max(weights.detach(), {1})).item(), median(sqrt(squares).to_vector<double>()),
            std::sqrt(mean(squares).item())};
}

struct Softmaxes {
    Series divided{.name = "divided", .mark = Mark::line_and_points};
    Series median{.name = "not divided, median", .mark = Mark::line_and_points};
    Series rms{.name = "not divided, root mean square", .mark = Mark::line_and_points};
    double worst_variance = 0;  // relative error
    Table scores{"Random queries against 64 random keys, numbers of mean 0 and variance 1",
                 {"d_k", "variance of q . k", "theory", "largest weight, divided", "not divided"},
                 {}};
    Table gradients{
        "Norm of the gradient of a query's scores: median and root mean square",
        {"d_k", "divided: median", "divided: rms", "not divided: median", "not divided: rms"},
        {}};
};

Softmaxes measure_softmaxes(const Setting& setting) {
    Generator generator(setting.seed);
    Softmaxes all;
    const auto pairs = setting.pick<std::int64_t>(40000, 5000);
    const auto queries = setting.pick<std::int64_t>(4000, 1000);
    for (const std::int64_t d : kSizes) {
        const auto size = static_cast<double>(d);
        const double variance = score_variance(d, pairs, generator);
        const Sharpness with = sharpness(d, 1 / std::sqrt(size), queries, generator);
        const Sharpness without = sharpness(d, 1, queries, generator);
        all.scores.rows.push_back(
            {d, variance, d, fixed(with.largest, 3), fixed(without.largest, 3)});
        all.gradients.rows.push_back(
            {d, {with.median, 3}, {with.rms, 3}, {without.median, 3}, {without.rms, 3}});
        all.worst_variance = std::max(all.worst_variance, std::abs(variance / size - 1));
        for (Series* s : {&all.divided, &all.median, &all.rms}) s->x.push_back(size);
        all.divided.y.push_back(with.median);
        all.median.y.push_back(without.median);
        all.rms.y.push_back(without.rms);
    }
    return all;
}

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

// The same model, the same numbers at the start, the same batches; one head of width d.
struct Learned {
    double accuracy = 0;
    std::vector<double> losses;
};

Learned learned(std::int64_t d, bool divided, std::int64_t steps, std::uint64_t seed) {
    Generator generator(seed);
    RecallConfig config{.dim = d};
    if (!divided) config.form = [] { return std::make_unique<UnscaledAttention>(); };
    RecallModel model(config, generator);
    Learned result;
    result.losses = train_recall(model, steps, 3e-3, generator);
    result.accuracy = model.accuracy(recall_batch(config, 1000, generator))[0];
    return result;
}

double last_tenth(const std::vector<double>& losses) {
    const std::size_t n = std::max<std::size_t>(1, losses.size() / 10);
    double total = 0;
    for (std::size_t i = losses.size() - n; i < losses.size(); ++i) total += losses[i];
    return total / static_cast<double>(n);
}

struct Trainings {
    Table table{"The same model trained both ways (find the record with the same sign)",
                {"d_k", "steps", "loss, divided", "loss, not divided", "right, divided",
                 "right, not divided"},
                {}};
    Plot plot{.title = "One head of width 256, trained both ways",
              .x = {.label = "step"},
              .y = {.label = "loss, nats"}};
    double loss[2] = {};  // of the widest head, divided and not; mean over the seeds
    double accuracy[2] = {};
};

void train_both(std::int64_t d, const Setting& setting, Trainings& all) {
    const auto steps = setting.pick<std::int64_t>(300, 60);
    const auto seeds = setting.pick<std::uint64_t>(2, 1);
    for (const int way : {0, 1}) {
        all.loss[way] = all.accuracy[way] = 0;
        for (std::uint64_t i = 0; i < seeds; ++i) {
            const Learned l = learned(d, way == 0, steps, setting.seed + i);
            all.loss[way] += last_tenth(l.losses) / static_cast<double>(seeds);
            all.accuracy[way] += l.accuracy / static_cast<double>(seeds);
            if (d < 256 || i > 0) continue;
            Series s{.name = way == 0 ? "divided by sqrt(d_k)" : "not divided", .dashed = way == 1};
            for (std::size_t step = 0; step < l.losses.size(); ++step) {
                s.x.push_back(static_cast<double>(step + 1));
                s.y.push_back(l.losses[step]);
            }
            all.plot.series.push_back(s);
        }
    }
    all.table.rows.push_back({d, steps, fixed(all.loss[0], 4), fixed(all.loss[1], 4),
                              percent(all.accuracy[0]), percent(all.accuracy[1])});
}

Plot gradient_plot(const Softmaxes& s) {
    return {.title = "What softmax lets through",
            .x = {.label = "d_k", .log = true, .ticks = {4, 16, 64, 256, 1024}},
            .y = {.label = "norm of the gradient of the scores", .log = true},
            .series = {s.divided, s.median, s.rms}};
}

Report run(const Setting& setting) {
    const Softmaxes softmaxes = measure_softmaxes(setting);
    Trainings trainings;
    if (!setting.quick) {
        train_both(16, setting, trainings);
        train_both(64, setting, trainings);
    }
    train_both(256, setting, trainings);
    Report report;
    report.tables = {softmaxes.scores, softmaxes.gradients, trainings.table};
    report.figures = {
        {"gradient", "gradient through softmax against d_k", svg(gradient_plot(softmaxes))},
        {"training", "loss with and without the division", svg(trainings.plot)}};
    const double kept = softmaxes.divided.y.back() / softmaxes.divided.y.front();
    const double median = softmaxes.median.y.front() / softmaxes.median.y.back();
    const double rms = softmaxes.rms.y.front() / softmaxes.rms.y.back();
    report.verdict = {
        softmaxes.worst_variance < setting.pick(0.05, 0.15) && std::abs(kept - 1) < 0.2 &&
            median > 10 && trainings.loss[1] > 10 * trainings.loss[0],
        fmt::format("The variance of q . k is d_k within {:.1f} %. Divided, the gradient through "
                    "softmax does not depend on d_k (1024 against 4: {:.2f}). Not divided, a "
                    "typical query's falls by a factor of {:.0f}, though the root mean square by "
                    "no more than {:.1f}: a few queries that waver between two keys carry nearly "
                    "all of it. At d_k = 256 the model that does not divide stays at a loss of "
                    "{:.3f} where the other one reaches {:.1g}.",
                    100 * softmaxes.worst_variance, kept, median, rms, trainings.loss[1],
                    trainings.loss[0])};
    return report;
}

}  // namespace

Experiment sqrt_dk() {
    return {
        "sqrt_dk",
        "Why divide by sqrt(d_k)?",
        "If the numbers in q and k are independent with mean 0 and variance 1, q . k is a sum of "
        "d_k products of variance 1: its variance is d_k. Scores that large make softmax nearly "
        "one-hot, and its Jacobian diag(p) - p p^T vanishes there: little gradient comes "
        "through. Divided by sqrt(d_k) the scores have variance 1 whatever d_k is.\n\n"
        "Source: Vaswani et al. 2017, \"Attention Is All You Need\", section 3.2.1 with "
        "footnote 4.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
