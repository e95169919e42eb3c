// Are h heads of d/h as cheap as one of d? Counts parameters and operations, measures time at two
// sizes, and compares the losses of small language models.
#include <tapestry/core/clock.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

#include <algorithm>

namespace tapestry::experiments::heads_cost {
namespace {

constexpr std::int64_t kPositions = 512;
constexpr std::int64_t kHeads[] = {1, 2, 4, 8};

std::string cost_name(std::int64_t dim) { return fmt::format("d = {}", dim); }
std::string loss_name(std::int64_t heads) { return fmt::format("GPT with {} heads", heads); }
std::string with_heads(const char* what, std::int64_t heads) {
    return fmt::format("{} with {}", what, heads);
}

// One attention over kPositions, forward and backward, alternating between numbers of heads, so
// other load on the machine affects all equally. On one thread: the backward pass shares work among
// threads by heads, so a single head would be slower for another reason than its width.
Measured costs(std::int64_t dim, int repetitions, std::uint64_t seed) {
    const ThreadsGuard one(1);
    Generator generator(seed);
    const Tensor x = randn({1, kPositions, dim}, generator).set_requires_grad();
    std::vector<std::unique_ptr<MultiHeadAttention>> all;
    Measured m;
    for (const std::int64_t heads : kHeads) {
        all.push_back(std::make_unique<MultiHeadAttention>(
            MultiHeadAttentionConfig{.dim = dim, .heads = heads}, generator));
        m.numbers[with_heads("parameters", heads)] =
            static_cast<double>(all.back()->parameter_count());
        m.numbers[with_heads("ms", heads)] = 1e30;
    }
    for (int i = 0; i < repetitions; ++i) {
        for (std::size_t h = 0; h < all.size(); ++h) {
            const auto start = Clock::now();
            Tape tape;
            const Tensor y = sum((*all[h])(x));
            double flops = 0;
            for (const auto& op : tape.entries()) flops += op->flops();
            tape.backward(y);
            double& best = m.numbers[with_heads("ms", kHeads[h])];
            best = std::min(best, 1000 * seconds_since(start));
            m.numbers[with_heads("MFLOP", kHeads[h])] = flops / 1e6;
        }
    }
    for (const char* what : {"parameters", "MFLOP", "ms"}) {
        m.numbers[std::string(what) + ", 8 over 1"] =
            m.numbers[with_heads(what, 8)] / m.numbers[with_heads(what, 1)];
    }
    return m;
}

Measured learned(std::int64_t heads, const StoryText& text, std::int64_t steps, double rate,
                 std::uint64_t seed) {
    Generator generator(seed);
    GPTConfig config = story_config(text);
    config.heads = heads;
    GPT model(config, generator);
    learn_stories(model, text, {.steps = steps, .rate = rate, .seed = seed});
    return {{{"loss", held_out_loss(model, text)}}};
}

std::vector<Trial> trials(const Setting& setting) {
    const auto text =
        std::make_shared<const StoryText>(story_text(setting.pick<std::size_t>(500'000, 100'000)));
    const std::int64_t steps = setting.pick(500, 40);
    std::vector<Trial> all;
    for (const std::int64_t heads : kHeads) {
        if (setting.quick && heads == 2) continue;
        all.push_back(swept(setting, loss_name(heads), {7e-3, 9.8e-3, 1.372e-2},
                            [=](std::uint64_t seed, double rate) {
                                return learned(heads, *text, steps, rate, seed);
                            }));
    }
    for (const std::int64_t dim : {64, 512}) {
        const int repetitions = setting.quick ? 2 : dim > 64 ? 4 : 20;
        all.push_back({cost_name(dim),
                       [=](std::uint64_t seed) { return costs(dim, repetitions, seed); }, true});
    }
    return all;
}

Table cost_table(const Outcomes& o) {
    Table table{fmt::format("One attention over {} positions, forward and backward, one thread",
                            kPositions),
                {"size", "parameters", "MFLOP forward", "ms", "relative to one head"},
                {}};
    for (const std::int64_t dim : {64, 512}) {
        for (const std::int64_t heads : kHeads) {
            const auto values = [&](const char* what, std::int64_t h) {
                return o.values(cost_name(dim), with_heads(what, h));
            };
            const Interval ratio = student(ratios(values("ms", heads), values("ms", 1)));
            table.rows.push_back({fmt::format("d = {}, {} x {}", dim, heads, dim / heads),
                                  static_cast<std::int64_t>(values("parameters", heads)[0]),
                                  fixed(values("MFLOP", heads)[0], 1),
                                  timed(fixed(student(values("ms", heads)), 2)),
                                  timed(fixed(ratio, 2))});
        }
    }
    return table;
}

Table loss_table(const Setting& setting, const Outcomes& o) {
    Table table{"What the heads are good for: a GPT with 2 layers and d = 64, nats per word",
                {"heads", "loss, held out"},
                {}};
    for (const std::int64_t heads : kHeads) {
        if (setting.quick && heads == 2) continue;
        table.rows.push_back({std::to_string(heads), fixed(o.of(loss_name(heads), "loss"), 3)});
    }
    return table;
}

Plot plot_of(const Outcomes& o) {
    Plot plot{.title = "Time of more heads",
              .x = {.label = "heads", .log = true},
              .y = {.label = "time relative to one head", .low = 0}};
    for (const std::int64_t dim : {64, 512}) {
        Series s{.name = cost_name(dim), .mark = Mark::line_and_points};
        for (const std::int64_t heads : kHeads) {
            const auto ms = [&](std::int64_t h) {
                return o.values(cost_name(dim), with_heads("ms", h));
            };
            add_point(s, static_cast<double>(heads), student(ratios(ms(heads), ms(1))));
        }
        plot.series.push_back(s);
    }
    plot.series.push_back({.name = "theory", .x = {1, 8}, .y = {1, 1}, .dashed = true});
    return plot;
}

const Design kExact = Design::computed();
const Design kClock = Design::clocked("the best steps of a repetition on one machine");
Design against_one(std::int64_t heads) {
    return Design::compared({.arms = {loss_name(1), loss_name(heads)},
                             .control = "the loss of guessing for both, a difference of 0"});
}

Report report(const Setting& setting, const Outcomes& o) {
    const auto less = [&](std::int64_t heads) {
        return student(
            differences(o.values(loss_name(1), "loss"), o.values(loss_name(heads), "loss")));
    };
    return {
        .tables = {cost_table(o), loss_table(setting, o)},
        .figures = {{"cost", "time against one head's", svg(plot_of(o))}},
        .decided = {{"same_parameters", exactly(o.of(cost_name(512), "parameters, 8 over 1").mean)},
                    {"same_operations", exactly(o.of(cost_name(512), "MFLOP, 8 over 1").mean)},
                    {"time_512", o.of(cost_name(512), "ms, 8 over 1")},
                    {"time_64", o.of(cost_name(64), "ms, 8 over 1")},
                    {"four_learn_better", less(4)},
                    {"eight_learn_better", less(8)}}};
}

std::vector<Claim> claims() {
    return {
        {"same_parameters", "8 heads of 64 have as many parameters as one of 512.",
         "parameters over one head's", between(0.99, 1.01), kExact},
        {"same_operations", "8 heads of 64 take as many operations as one of 512.",
         "operations over one head's", between(0.9, 1.1), kExact},
        {"time_512", "8 heads of 64 take about as long as one of 512.",
         "time over one head's, 512 positions", between(0.8, 1.25), kClock},
        {"time_64", "8 heads of 8 take about as long as one of 64.",
         "time over one head's, 512 positions", between(0.8, 1.25), kClock},
        {"four_learn_better", "Four heads learn more than one with as many parameters.",
         "loss with one head less that with four, nats per word", above(0.01), against_one(4)},
        {"eight_learn_better", "Eight heads learn more than one with as many parameters.",
         "loss with one head less that with eight, nats per word", above(0.01), against_one(8)}};
}

}  // namespace

Experiment experiment() {
    return {
        "heads_cost",
        "Are h heads of d/h as cheap as one of d?",
        "The four matrices are d x d however many heads share them. The products of queries and "
        "keys take h n^2 d/h = n^2 d multiplications, for any h. So \"due to the reduced "
        "dimension of each head, the total computational cost is similar to that of single-head "
        "attention with full dimensionality\". Left out of that: the h n^2 exponentials of "
        "softmax, which count for less the wider a head is, and vectors that a narrow head does "
        "not fill.\n\n"
        "Source: Vaswani et al. 2017, section 3.2.2 (8 heads of 64); more heads are better up to a "
        "point: its table 3, rows (A).",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::heads_cost
