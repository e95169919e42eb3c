// Are h heads of d/h as cheap as one of d? Parameters and operations counted, time measured, and
// what the heads are good for: the loss of a small language model.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/story_model.h>

#include <chrono>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kDim = 64, kPositions = 512;

struct Cost {
    std::int64_t parameters = 0;
    double flops = 0;    // of the forward pass, as the tape counts them
    double seconds = 0;  // forward and backward, the best of a few
    double loss = 0;     // of the language model, held out
};

// One attention over kPositions.
Cost cost_of(std::int64_t heads, std::uint64_t seed, int repetitions) {
    Generator generator(seed);
    const MultiHeadAttention attention({.dim = kDim, .heads = heads}, generator);
    const Tensor x = randn({1, kPositions, kDim}, generator).set_requires_grad();
    Cost cost{.parameters = attention.parameter_count(), .seconds = 1e30};
    for (int i = 0; i < repetitions; ++i) {
        const auto start = examples::Clock::now();
        Tape tape;
        const Tensor y = sum(attention(x));
        cost.flops = 0;
        for (const auto& op : tape.entries()) cost.flops += op->flops();
        tape.backward(y);
        cost.seconds = std::min(cost.seconds, examples::seconds_since(start));
    }
    return cost;
}

double loss_with(std::int64_t heads, const StoryText& text, const Setting& setting) {
    Generator generator(setting.seed);
    GPTConfig config = story_config(text);
    config.dim = kDim;
    config.heads = heads;
    GPT model(config, generator);
    learn_stories(model, text, {.steps = setting.pick(500, 60), .seed = setting.seed});
    return held_out_loss(model, text);
}

Report::Old judge(const std::vector<std::int64_t>& counts, const std::vector<Cost>& costs) {
    const Cost &one = costs.front(), &most = costs.back();
    std::size_t best = 0;
    bool parameters = true;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        parameters = parameters && costs[i].parameters == one.parameters;
        if (costs[i].loss < costs[best].loss) best = i;
    }
    const double flops = most.flops / one.flops, time = most.seconds / one.seconds;
    return {parameters && flops < 1.1 && time < 1.25,
            fmt::format("{} heads have {} parameters as one, {:.2f} times the operations, and take "
                        "{:.2f} times as long: {}. The loss is lowest with {} ({:.3f} nats per "
                        "word, one head {:.3f}).",
                        counts.back(), parameters ? "as many" : "not as many", flops, time,
                        time < 1.25 ? "as cheap as is said"
                                    : "the products cost the same, but every head has its own n^2 "
                                      "exponentials, and narrow products are slower",
                        counts[best], costs[best].loss, one.loss)};
}

Report run(const Setting& setting) {
    const std::vector<std::int64_t> counts{1, 2, 4, 8};
    const StoryText text = story_text(setting.pick<std::size_t>(500'000, 100'000));
    std::vector<Cost> costs;
    Table table{
        fmt::format("One attention, d = {}, {} positions, forward and backward; loss of a GPT "
                    "with 2 layers",
                    kDim, kPositions),
        {"heads", "width", "parameters", "MFLOP forward", "ms", "nats per word"},
        {}};
    Series time{.name = "time, measured", .mark = Mark::line_and_points};
    Series flops{.name = "operations, counted", .mark = Mark::line_and_points};
    Series theory{.name = "theory", .dashed = true};
    for (const std::int64_t heads : counts) {
        costs.push_back(cost_of(heads, setting.seed, setting.pick(20, 5)));
        Cost& cost = costs.back();
        cost.loss = loss_with(heads, text, setting);
        table.rows.push_back({heads, kDim / heads, cost.parameters, fixed(cost.flops / 1e6, 2),
                              fixed(1000 * cost.seconds, 2), fixed(cost.loss, 3)});
        for (Series* series : {&time, &flops, &theory})
            series->x.push_back(static_cast<double>(heads));
        time.y.push_back(cost.seconds / costs[0].seconds);
        flops.y.push_back(cost.flops / costs[0].flops);
        theory.y.push_back(1);
    }
    const Plot plot{.title = "What more heads cost",
                    .x = {.label = "heads", .log = true},
                    .y = {.label = "times one head's", .low = 0},
                    .series = {time, flops, theory}};
    return {{table},
            {{"cost", "time and operations against one head's", svg(plot)}},
            judge(counts, costs)};
}

}  // namespace

Experiment heads_cost() {
    return {
        "heads_cost",
        "Are h heads of d/h as cheap as one of d?",
        "The four matrices are d x d however many heads share them. The products of queries and "
        "keys take h n^2 d/h = n^2 d multiplications, whatever h is. So \"due to the reduced "
        "dimension of each head, the total computational cost is similar to that of single-head "
        "attention with full dimensionality\". Left out of that: the h n^2 exponentials of "
        "softmax.\n\n"
        "Source: Vaswani et al. 2017, section 3.2.2; more heads are better up to a point: its "
        "table 3, rows (A).",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
