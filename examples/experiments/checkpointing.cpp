// What does checkpointing buy? Memory and time of a GPT's training step, with and without, as
// layers are added.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/least_squares.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/tasks/task.h>
#include <tapestry/tapestry.h>

#include <chrono>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kBatch = 4, kContext = 128, kDim = 64, kVocab = 64;

struct Step {
    double kept = 0;              // bytes on the tape after the forward pass
    double peak = 0;              // bytes at the highest, besides parameters and their gradients
    double seconds = 0;           // the best of a few
    std::vector<float> gradient;  // of the first parameter, the last one that is reached
};

Step step_of(std::int64_t layers, bool recompute, std::uint64_t seed, int repetitions) {
    Generator generator(seed);
    GPT model({.vocab = kVocab,
               .context = kContext,
               .layers = layers,
               .dim = kDim,
               .recompute = recompute},
              generator);
    const Tensor ids = randint(0, kVocab, {kBatch, kContext}, generator);
    const Tensor targets = randint(0, kVocab, {kBatch, kContext}, generator);
    Step step;
    step.seconds = 1e30;
    for (int i = 0; i <= repetitions; ++i) {  // the first one makes room for the gradients
        for (Tensor& parameter : model.parameters()) {
            if (parameter.grad().defined()) Tensor(parameter.grad()).fill_(0);
        }
        const std::size_t before = memory_statistics().current;
        reset_peak_memory();
        const auto start = examples::Clock::now();
        Tape tape;
        const Tensor loss = model.loss(ids, targets);
        step.kept = static_cast<double>(tape.saved_bytes());
        tape.backward(loss);
        step.seconds = std::min(step.seconds, examples::seconds_since(start));
        step.peak = static_cast<double>(memory_statistics().peak - before);
    }
    step.gradient = model.parameters().front().grad().to_vector<float>();
    return step;
}

struct Comparison {
    std::vector<double> layers, kept, kept_with, peak, peak_with;
    double slowdown = 0;  // the mean over depths
    bool same_bits = true;
};

Plot plot_of(const Comparison& c) {
    const auto megabytes = [](std::vector<double> bytes) {
        for (double& b : bytes) b /= 1e6;
        return bytes;
    };
    return {.title = "Memory of a training step",
            .x = {.label = "layers"},
            .y = {.label = "MB at the highest", .low = 0},
            .series = {{.name = "everything kept",
                        .x = c.layers,
                        .y = megabytes(c.peak),
                        .mark = Mark::line_and_points},
                       {.name = "checkpointed",
                        .x = c.layers,
                        .y = megabytes(c.peak_with),
                        .mark = Mark::line_and_points}}};
}

Report run(const Setting& setting) {
    const auto depths = setting.pick<std::vector<std::int64_t>>({2, 4, 8, 16, 24}, {2, 4, 8});
    Comparison c;
    Table table{fmt::format("A training step on {} x {} tokens, d = {}", kBatch, kContext, kDim),
                {"layers", "kept, MB", "checkpointed", "peak, MB", "checkpointed peak", "ms",
                 "checkpointed ms", "times as long"},
                {}};
    for (const std::int64_t layers : depths) {
        const Step plain = step_of(layers, false, setting.seed, setting.pick(5, 2));
        const Step with = step_of(layers, true, setting.seed, setting.pick(5, 2));
        c.layers.push_back(static_cast<double>(layers));
        c.kept.push_back(plain.kept);
        c.kept_with.push_back(with.kept);
        c.peak.push_back(plain.peak);
        c.peak_with.push_back(with.peak);
        c.same_bits = c.same_bits && plain.gradient == with.gradient;
        const double slowdown = with.seconds / plain.seconds;
        c.slowdown += slowdown / static_cast<double>(depths.size());
        table.rows.push_back({layers, fixed(plain.kept / 1e6, 2), fixed(with.kept / 1e6, 2),
                              fixed(plain.peak / 1e6, 2), fixed(with.peak / 1e6, 2),
                              fixed(1000 * plain.seconds, 1), fixed(1000 * with.seconds, 1),
                              fixed(slowdown, 2)});
    }
    const double input = static_cast<double>(kBatch * kContext * kDim) * sizeof(float);
    const double slope = fit_line(c.layers, c.kept).slope;
    const double slope_with = fit_line(c.layers, c.kept_with).slope;
    Table slopes{"What one more layer keeps", {"", "KB", "layer inputs [B, T, C]", "theory"}, {}};
    slopes.rows = {{"everything kept", fixed(slope / 1e3, 1), fixed(slope / input, 2), "many"},
                   {"checkpointed", fixed(slope_with / 1e3, 1), fixed(slope_with / input, 2), "1"}};
    const double peaks = c.peak.back() / c.peak_with.back();
    return {
        {table, slopes},
        {{"memory", "peak memory of a step", svg(plot_of(c))}},
        {std::abs(slope_with / input - 1) < 0.1 && peaks > 2 && c.slowdown < 1.6 && c.same_bits,
         fmt::format("A layer keeps {:.1f} times the size of its input, checkpointed {:.2f} "
                     "times. At {} layers the peak falls to 1/{:.1f}. A step takes {:.2f} times "
                     "as long (theory: 4/3), and gradients are {}.",
                     slope / input, slope_with / input, depths.back(), peaks, c.slowdown,
                     c.same_bits ? "the same bits" : "not the same")}};
}

}  // namespace

Experiment checkpointing() {
    return {
        "checkpointing",
        "What does checkpointing buy?",
        "A tape keeps of every layer what its backward rules need: several vectors for each "
        "token. A checkpointed layer keeps its input alone, [B, T, C], and is computed again on "
        "the way back. So memory grows by one input per layer, and one layer's inside is alive "
        "at a time. Backward costs about two forward passes; one more makes (1 + 2 + 1) / "
        "(1 + 2) = 4/3 of the time.\n\n"
        "Source: Chen et al. 2016, \"Training Deep Nets with Sublinear Memory Cost\".",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
