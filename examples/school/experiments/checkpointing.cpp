// What does recomputing activations save? Memory and time of a GPT's training step, with and
// without it, as layers are added.
#include <tapestry/core/clock.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/tapestry.h>

namespace tapestry::experiments::checkpointing {
namespace {

constexpr std::int64_t kBatch = 4, kContext = 128, kDim = 64, kVocab = 64;

struct Step {
    double kept = 0;              // bytes on the tape after the forward pass
    double peak = 0;              // peak bytes beyond parameters and their gradients
    double seconds = 0;           // best of a few steps
    std::vector<float> gradient;  // of the first parameter, the last one that backward reaches
};

Step step_of(std::int64_t layers, bool recompute, std::uint64_t seed) {
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
    for (int i = 0; i < 2; ++i) {  // the first one allocates the gradients
        for (Tensor& parameter : model.parameters()) {
            if (parameter.grad().defined()) Tensor(parameter.grad()).fill_(0);
        }
        const std::size_t before = memory_statistics().current;
        reset_peak_memory();
        const auto start = Clock::now();
        Tape tape;
        const Tensor loss = model.loss(ids, targets);
        step.kept = static_cast<double>(tape.saved_bytes());
        tape.backward(loss);
        step.seconds = std::min(step.seconds, seconds_since(start));
        step.peak = static_cast<double>(memory_statistics().peak - before);
    }
    step.gradient = model.parameters().front().grad().to_vector<float>();
    return step;
}

std::vector<std::int64_t> depths(const Setting& setting) {
    return setting.pick<std::vector<std::int64_t>>({2, 4, 8, 16, 24}, {2, 4, 8});
}

std::string of_layers(const char* what, std::int64_t layers) {
    return fmt::format("{}, {} layers", what, layers);
}

constexpr const char* kTrial = "with and without";

// Both ways at each depth, alternately, so other load on the machine affects both equally.
Measured compare(const std::vector<std::int64_t>& depths, int repetitions, std::uint64_t seed) {
    Measured m;
    std::vector<double> layers, kept, kept_with;
    for (const std::int64_t depth : depths) {
        Step plain = step_of(depth, false, seed), with = step_of(depth, true, seed);
        for (int i = 1; i < repetitions; ++i) {
            with.seconds = std::min(with.seconds, step_of(depth, true, seed).seconds);
            plain.seconds = std::min(plain.seconds, step_of(depth, false, seed).seconds);
        }
        for (const auto& [name, step] : {std::pair{"plain", &plain}, {"checkpointed", &with}}) {
            const std::string way = name;
            m.numbers[of_layers((way + " kept").c_str(), depth)] = step->kept / 1e6;
            m.numbers[of_layers((way + " peak").c_str(), depth)] = step->peak / 1e6;
            m.numbers[of_layers((way + " ms").c_str(), depth)] = 1000 * step->seconds;
        }
        const double slower = with.seconds / plain.seconds;
        m.numbers[of_layers("slower", depth)] = slower;
        m.numbers["slower"] += slower / static_cast<double>(depths.size());
        m.numbers["wrong bits"] += plain.gradient == with.gradient ? 0 : 1;
        m.numbers["peaks"] = plain.peak / with.peak;  // after the loop, at the greatest depth
        layers.push_back(static_cast<double>(depth));
        kept.push_back(plain.kept);
        kept_with.push_back(with.kept);
    }
    const double input = static_cast<double>(kBatch * kContext * kDim) * sizeof(float);
    m.numbers["inputs kept"] = fit_line(layers, kept).slope / input;
    m.numbers["inputs kept, checkpointed"] = fit_line(layers, kept_with).slope / input;
    return m;
}

std::vector<Trial> trials(const Setting& setting) {
    return {{kTrial,
             [d = depths(setting), times = setting.pick(3, 2)](std::uint64_t seed) {
                 return compare(d, times, seed);
             },
             true}};
}

Table steps_table(const Setting& setting, const Outcomes& o) {
    Table table{fmt::format("A training step on {} x {} tokens, d = {}", kBatch, kContext, kDim),
                {"layers", "kept, MB", "checkpointed", "peak, MB", "checkpointed peak", "ms",
                 "checkpointed ms", "times as long"},
                {}};
    for (const std::int64_t depth : depths(setting)) {
        const auto of = [&](const char* what) { return o.of(kTrial, of_layers(what, depth)); };
        table.rows.push_back(
            {depth, fixed(of("plain kept").mean, 2), fixed(of("checkpointed kept").mean, 2),
             fixed(of("plain peak").mean, 2), fixed(of("checkpointed peak").mean, 2),
             timed(fixed(of("plain ms"), 1)), timed(fixed(of("checkpointed ms"), 1)),
             timed(fixed(of("slower"), 2))});
    }
    return table;
}

Plot plot_of(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = "Memory of a training step",
              .x = {.label = "layers"},
              .y = {.label = "peak memory (MB)", .low = 0}};
    for (const auto& [name, what] :
         {std::pair{"everything kept", "plain peak"}, {"checkpointed", "checkpointed peak"}}) {
        Series s{.name = name, .mark = Mark::line_and_points};
        for (const std::int64_t depth : depths(setting)) {
            add_point(s, static_cast<double>(depth), o.of(kTrial, of_layers(what, depth)));
        }
        plot.series.push_back(s);
    }
    return plot;
}

const Design kExact = Design::computed();
const Design kNewModel = Design::drawn("new models of all depths");
const Design kClock = Design::clocked("the best steps of a repetition on one machine");

Report report(const Setting& setting, const Outcomes& o) {
    const auto mean = [&](const char* what) { return o.of(kTrial, what).mean; };
    Table slopes{"What one more layer keeps", {"", "layer inputs [B, T, C]", "theory"}, {}};
    slopes.rows = {{"everything kept", fixed(mean("inputs kept"), 2), "many"},
                   {"checkpointed", fixed(mean("inputs kept, checkpointed"), 2), "1"}};
    return {.tables = {steps_table(setting, o), slopes},
            .figures = {{"memory", "peak memory of a step", svg(plot_of(setting, o))}},
            .decided = {{"keeps_inputs_alone", exactly(mean("inputs kept, checkpointed"))},
                        {"peak_falls", exactly(mean("peaks"))},
                        {"same_bits", o.of(kTrial, "wrong bits")},
                        {"four_thirds_of_the_time", o.of(kTrial, "slower")}}};
}

std::vector<Claim> claims() {
    return {{"keeps_inputs_alone", "A checkpointed layer keeps its input and nothing else.",
             "layer inputs [B, T, C] that one more layer keeps", between(0.9, 1.1), kExact},
            {"peak_falls", "Checkpointing halves the peak of a deep model at least.",
             "peak memory over the checkpointed one, the deepest model", above(2), kExact},
            {"same_bits", "Checkpointed gradients are the same bits.",
             "depths at which they differ", below(0.5), kNewModel},
            {"four_thirds_of_the_time", "A checkpointed step takes about 4/3 of the time.",
             "times as long, mean over the depths", between(1.25, 1.42), kClock}};
}

}  // namespace

Experiment experiment() {
    return {"checkpointing",
            "What does checkpointing buy?",
            "A tape keeps of every layer what its backward rules need: several vectors for each "
            "token. A checkpointed layer keeps only its input, [B, T, C], and is computed again on "
            "the way back. So memory grows by one input per layer, and one layer's inside is alive "
            "at a time. Backward costs about two forward passes; one more makes (1 + 2 + 1) / "
            "(1 + 2) = 4/3 of the time, and less by the part that is not recomputed: embeddings "
            "and loss. "
            "A step here is forward and backward. The memory that the tape keeps includes the "
            "parameters "
            "it refers to; the peak does not.\n\n"
            "Source: Chen et al. 2016, \"Training Deep Nets with Sublinear Memory Cost\".",
            claims(),
            trials,
            report};
}

}  // namespace tapestry::experiments::checkpointing
