// Attention as known in statistics since 1964: the Nadaraya-Watson estimate of a curve is a mean of
// the observations, weighted by their nearness. The library's attention computes it, and gradient
// descent finds the width of the kernel.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments::kernel_regression {
namespace {

constexpr double kNoise = 0.3;
constexpr std::int64_t kAsked = 200;
constexpr const char* kJudged = "128";  // observations: claims about training are judged there

double truth(double x) { return std::sin(2 * x) + 0.5 * x; }

struct Sample {
    Tensor x, y;  // [n, 1]
};

Sample observe(std::int64_t n, Generator& generator) {
    const Tensor x = uniform({n, 1}, 0, 4, generator, DType::f64);
    return {x, sin(2 * x) + 0.5 * x + kNoise * randn({n, 1}, generator, DType::f64)};
}

// -w (x - x_i)^2 / 2 = (w x) x_i - w x_i^2 / 2 - w x^2 / 2, where softmax ignores the last term:
// the query is w [x, -1/2], the key [x_i, x_i^2]. w = 1 / h^2, h the kernel's width.
Tensor attend(const Tensor& asked, const Sample& seen, const Tensor& w, const Tensor& mask = {}) {
    const Tensor q = w * concat({asked, full_like(asked, -0.5)}, 1);
    const Tensor k = concat({seen.x, seen.x * seen.x}, 1);
    return scaled_dot_product_attention(q, k, seen.y, {.mask = mask, .scale = 1});
}

// The same by the formula of 1964, one observation at a time.
double nadaraya_watson(double x, const Sample& seen, double h) {
    const auto xs = seen.x.to_vector<double>(), ys = seen.y.to_vector<double>();
    double above = 0, below = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const double kernel = std::exp(-(x - xs[i]) * (x - xs[i]) / (2 * h * h));
        above += kernel * ys[i];
        below += kernel;
    }
    return above / below;
}

Tensor grid() { return reshape(linspace(0, 4, kAsked, DType::f64), {kAsked, 1}); }

// Mean squared distance from the true curve, without the observations' noise.
double error(const Sample& seen, double h) {
    const auto y = attend(grid(), seen, full({1}, 1 / (h * h), DType::f64)).to_vector<double>();
    const auto x = grid().to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        sum += (y[i] - truth(x[i])) * (y[i] - truth(x[i])) / kAsked;
    }
    return sum;
}

struct Learnt {
    double width, loss;  // loss: the leave-one-out error
};

// The width with the least leave-one-out error, by gradient descent on its logarithm: the mask
// hides each observation from itself.
Learnt learn_width(const Sample& seen, int steps, double rate) {
    const std::int64_t n = seen.x.size(0);
    const Tensor others = eq(eye(n), 0.0);
    Tensor log_h = full({1}, std::log(0.5), DType::f64).set_requires_grad();
    Adam optimizer(Tensors{log_h}, {.lr = rate});
    const auto loss = [&] {
        return mse_loss(attend(seen.x, seen, exp(-2 * log_h), others), seen.y);
    };
    train(optimizer, {.steps = steps, .clip = 0, .schedule = constant_schedule(rate)},
          {.loss = loss, .evaluate = {}, .report = {}});
    const NoGradGuard no_grad;
    return {std::exp(log_h.item()), loss().item()};
}

// The smallest error of any width: an oracle that knows the true curve.
void with_the_truth(const Sample& seen, double share, Measured& m) {
    double best = 1e9, best_width = 0;
    for (double h = 0.04; h < 1.2; h *= 1.08) {
        const double now = error(seen, h);
        if (now >= best) continue;
        best = now;
        best_width = h;
    }
    m.numbers["best"] += share * best;
    m.numbers["best width"] += share * best_width;
}

void learn(const Sample& seen, double rate, double share, Measured& m) {
    const auto [width, loss] = learn_width(seen, 60, rate);
    m.numbers["loss"] += share * loss;
    m.numbers["width"] += share * width;
    m.numbers["learnt"] += share * error(seen, width);
    m.numbers["mean"] += share * error(seen, 1e3);  // so wide that all weights are equal
    const auto library = attend(grid(), seen, full({1}, 1 / (width * width), DType::f64));
    std::vector<double>& curve = m.curves["estimate"];
    curve.resize(kAsked);
    for (std::int64_t i = 0; i < kAsked; ++i) {
        const double by_hand = nadaraya_watson(grid().at({i, 0}), seen, width);
        double& off = m.numbers["off"];
        off = std::max(off, std::abs(library.at({i, 0}) - by_hand));
        curve[static_cast<std::size_t>(i)] += share * by_hand;
    }
}

// Means over several samples, because single samples vary too much.
Measured estimate(std::int64_t n, double rate, std::uint64_t seed) {
    constexpr int kSamples = 40;
    const int learnt = n <= 256 ? 20 : 4;
    Generator generator(seed);
    Measured m;
    double best = 0;  // over the samples used for learning
    for (int i = 0; i < kSamples; ++i) {
        const Sample seen = observe(n, generator);
        with_the_truth(seen, 1.0 / kSamples, m);
        if (i >= learnt) continue;
        learn(seen, rate, 1.0 / learnt, m);
        best = m.numbers["best"] * kSamples / learnt;
    }
    m.numbers["excess"] = m.numbers["learnt"] / best;
    return m;
}

std::vector<std::int64_t> counts(const Setting& s) {
    return s.quick ? std::vector<std::int64_t>{32, 128, 256}
                   : std::vector<std::int64_t>{32, 64, 128, 256, 512, 1024};
}

std::vector<Trial> trials(const Setting& s) {
    std::vector<Trial> all;
    for (const std::int64_t n : counts(s)) {
        const std::string name = std::to_string(n);
        const auto run = [n](std::uint64_t seed, double rate) { return estimate(n, rate, seed); };
        if (name == kJudged) {
            all.push_back(swept(s, name, {0.05, 0.1, 0.2}, run));
        } else {
            all.push_back({name, [run](std::uint64_t seed) { return run(seed, 0.1); }});
        }
    }
    return all;
}

// The exponent of the best error over the number of observations, per seed, from 128 on: the law is
// asymptotic, and with 32 observations there are gaps as wide as the kernel.
Interval rate(const Setting& s, const Outcomes& o) {
    std::vector<double> exponents;
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.seeds); ++i) {
        std::vector<double> n, errors;
        for (const std::int64_t count : counts(s)) {
            if (count < 128) continue;
            n.push_back(static_cast<double>(count));
            errors.push_back(o.values(std::to_string(count), "best")[i]);
        }
        exponents.push_back(exponent(n, errors));
    }
    return student(exponents);
}

const Design kEstimate = Design::drawn("the largest of the samples of all sizes");
const Design kSample = Design::drawn("the mean of 40 samples");
const Design kWidth = Design::trained({.arms = {kJudged},
                                       .control = "the mean of all observations, in the table",
                                       .unit = "a ratio of means over 40 samples"});

Report report(const Setting& s, const Outcomes& o) {
    Table table{"Mean squared distance from the curve, means of 40 samples a seed",
                {"observations", "mean of all", "width learnt", "best width there is",
                 "learnt width", "best width", "library - formula"},
                {}};
    Plot curve{
        .title = "The curve from 128 observations", .x = {.label = "x"}, .y = {.label = "y"}};
    const std::vector<double> x = grid().to_vector<double>();
    curve.series.push_back(curve_of(o, "128", "estimate"));
    curve.series[0].name = "attention, width learnt";
    curve.series[0].x = x;
    curve.series.push_back({.name = "truth", .x = x, .y = {}, .dashed = true});
    for (const double at : x) curve.series[1].y.push_back(truth(at));
    std::vector<double> off(static_cast<std::size_t>(s.seeds), 0);  // of any size, by seed
    for (const std::int64_t count : counts(s)) {
        const std::string n = std::to_string(count);
        table.rows.push_back({n, significant(o.of(n, "mean")), significant(o.of(n, "learnt")),
                              significant(o.of(n, "best")), fixed(o.of(n, "width"), 3),
                              fixed(o.of(n, "best width"), 3), significant(o.of(n, "off"), 1)});
        const std::vector<double> of_n = o.values(n, "off");
        for (std::size_t i = 0; i < off.size(); ++i) off[i] = std::max(off[i], of_n[i]);
    }
    return {.tables = {table},
            .figures = {{"curve", "mean over the seeds", svg(curve)}},
            .decided = {{"attention_is_the_estimate", student(off)},
                        {"near_counts_more",
                         student(ratios(o.values(kJudged, "learnt"), o.values(kJudged, "mean")))},
                        {"width_is_learnt", o.of(kJudged, "excess")},
                        {"rate_of_kernels", rate(s, o)}}};
}

}  // namespace

Experiment experiment() {
    return {
        "kernel_regression",
        "Is attention kernel regression?",
        "Nadaraya and Watson estimate a curve from observations (x_i, y_i) by\n"
        "    y(x) = sum_i K(x - x_i) y_i / sum_j K(x - x_j).\n"
        "With a Gaussian K of width h the weights are softmax(-(x - x_i)^2 / 2 h^2), and since "
        "what depends only on x cancels, that is attention with the query [x, -1/2] / h^2, the "
        "key "
        "[x_i, x_i^2] and the value y_i. Where all keys have the same length, their squares cancel "
        "too, and the dot product alone is the kernel; h^2 is the temperature. Weighting by "
        "distance "
        "beats the mean of all; the width can be learnt by gradient descent, each observation told "
        "by the others; and with the best width the squared error falls as n^(-4/5).\n\n"
        "Sources: Nadaraya 1964, \"On Estimating Regression\"; Watson 1964, \"Smooth Regression "
        "Analysis\"; Tsai et al. 2019, \"Transformer Dissection\".",
        {{"attention_is_the_estimate", "Attention computes the estimate of Nadaraya and Watson.",
          "largest difference, all sizes", below(1e-9), kEstimate},
         {"near_counts_more", "To weigh what is near beats the mean of all.",
          "squared error over that of the mean, 128 observations", below(0.3), kWidth},
         {"width_is_learnt", "Gradient descent finds a width that is practically the best.",
          "squared error over that of the best width, 128 observations", below(1.25), kWidth},
         {"rate_of_kernels", "The squared error falls as n^(-4/5).",
          "exponent over the number of observations, from 128 on", between(-0.95, -0.65), kSample}},
        trials,
        report};
}

}  // namespace tapestry::experiments::kernel_regression
