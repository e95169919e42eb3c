// Are heads redundant? How many dimensions the outputs of all heads together use, for heads that
// differ, heads that are copies, and the heads of a trained model; and what a removed head costs.
#include <tapestry/core/views.h>
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/without_head.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kDim = 64, kHeads = 8, kWidth = kDim / kHeads, kLayers = 2, kContext = 64;

// Heads [B, H, T, D] side by side: [B T, H D].
Tensor stacked(const Tensor& heads) { return reshape(transpose(heads, 1, 2), {-1, kDim}); }

struct Rank {
    std::int64_t numerical = 0;    // singular values above 1e-4 of the largest
    double effective = 0;          // e^entropy of their shares of the sum
    double similarity = 0;         // mean |cos| of two heads' outputs
    std::vector<double> spectrum;  // singular values over the largest
};

double mean_similarity(const Tensor& heads) {
    const Tensor cosines = abs(head_similarity(heads));  // [B, H, H], 1 on the diagonal
    return (mean(cosines).item() * kHeads - 1) / (kHeads - 1);
}

Rank rank_of(const Tensor& heads) {
    Rank rank;
    rank.similarity = mean_similarity(heads);
    rank.spectrum = singular_values(stacked(heads)).to_vector<double>();
    const double largest = rank.spectrum.front();
    double total = 0, entropy = 0;
    for (const double s : rank.spectrum) total += s;
    for (double& s : rank.spectrum) {
        if (s > 0) entropy -= s / total * std::log(s / total);
        s /= largest;
        rank.numerical += s > 1e-4 ? 1 : 0;
    }
    rank.effective = std::exp(entropy);
    return rank;
}

// What untrained heads find in 128 random vectors; with `copies` every second head has the weights
// of the one before.
Rank untrained(bool copies, Generator& generator) {
    MultiHeadAttention attention({.dim = kDim, .heads = kHeads, .bias = false}, generator);
    Tensor& weight = attention.qkv->weight;  // [3 C, C]
    for (std::int64_t row = 0; copies && row < 3 * kDim; row += 2 * kWidth) {
        views::slice(weight, 0, row + kWidth, row + 2 * kWidth)
            .copy_(views::slice(weight, 0, row, row + kWidth));
    }
    AttentionRecord record;
    attention(randn({1, 128, kDim}, generator), {.record = &record});
    return rank_of(record.heads);
}

// A GPT, trained on stories letter by letter.
struct Trained {
    CharTokenizer tokenizer;
    TextData data;
    GPT model;
    std::int64_t batches;  // that the loss is measured on
    double loss = 0;       // when last measured with all heads

    Trained(const std::string& text, std::int64_t batches_, Generator& generator)
        : tokenizer(CharTokenizer::from_text(text)),
          data(tokenizer.encode(text)),
          model({.vocab = tokenizer.vocab_size(),
                 .context = kContext,
                 .layers = kLayers,
                 .heads = kHeads,
                 .dim = kDim,
                 .deviation = 0.05},
                generator),
          batches(batches_) {}

    double validation_loss() {
        Generator same(1);
        return evaluate(model, data, Split::validation, {.batches = batches, .batch = 16}, same);
    }
};

std::vector<Rank> ranks_of_layers(const Trained& t) {
    Generator same(2);
    const Batch batch = t.data.random_batch(Split::validation, 8, kContext, same);
    std::vector<AttentionRecord> records;
    t.model(batch.inputs, {.records = &records});
    std::vector<Rank> ranks;
    for (const AttentionRecord& record : records) ranks.push_back(rank_of(record.heads));
    return ranks;
}

// The loss without one head, over the loss with all, minus 1.
double cost_of_removing(Trained& t, std::int64_t layer, std::int64_t head) {
    const WithoutHead removed(t.model.blocks.layers[static_cast<std::size_t>(layer)]->attention,
                              head);
    return t.validation_loss() / t.loss - 1;
}

struct Removals {
    Table table{"How much the loss of the trained model grows without one head", {"layer"}, {}};
    HeatMap map{.title = "Loss without one head, in per cent more",
                .x_label = "head",
                .y_label = "layer",
                .columns = {},
                .rows = {},
                .values = {},
                .numbers = true};
    std::int64_t cheap = 0;  // cost less than 1 %
    double worst = 0;
    double loss = 0;  // with all heads
};

Removals remove_each(Trained& t) {
    Removals result;
    result.loss = t.loss = t.validation_loss();
    for (std::int64_t head = 0; head < kHeads; ++head) {
        result.table.columns.push_back("head " + std::to_string(head));
        result.map.columns.push_back(std::to_string(head));
    }
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
        result.table.rows.push_back({std::to_string(layer)});
        result.map.rows.push_back(std::to_string(layer));
        result.map.values.emplace_back();
        for (std::int64_t head = 0; head < kHeads; ++head) {
            const double cost = cost_of_removing(t, layer, head);
            result.table.rows.back().push_back(percent(cost, 2));
            result.map.values.back().push_back(100 * cost);
            result.cheap += cost < 0.01 ? 1 : 0;
            result.worst = std::max(result.worst, cost);
        }
    }
    return result;
}

// What each head is worth at some steps of the training.
struct Moment {
    std::int64_t step;
    Removals removals;
};

std::vector<Moment> learn(Trained& t, std::int64_t steps, Generator& generator) {
    std::vector<Moment> moments;
    AdamW optimizer(decay_groups(t.model, 0.1), {.lr = 3e-3, .beta2 = 0.99});
    const auto loss = [&] {
        const Batch batch = t.data.random_batch(Split::train, 16, kContext, generator);
        return t.model.loss(batch.inputs, batch.targets);
    };
    const auto report = [&](const StepMetrics& m) {
        if (m.step == steps / 4 || m.step == steps / 2 || m.step == steps) {
            moments.push_back({m.step, remove_each(t)});
        }
        return true;
    };
    train(optimizer,
          {.steps = steps,
           .schedule = warmup_cosine_schedule(
               {.rate = 3e-3, .min_rate = 3e-4, .warmup = steps / 10, .steps = steps})},
          {.loss = loss, .evaluate = {}, .report = report});
    return moments;
}

Table moments_table(const std::vector<Moment>& moments) {
    Table table{"While the model learns",
                {"step", "validation loss", "heads of 16 that cost less than 1 %", "the dearest"},
                {}};
    for (const Moment& m : moments) {
        table.rows.push_back(
            {m.step, fixed(m.removals.loss, 3), m.removals.cheap, percent(m.removals.worst, 2)});
    }
    return table;
}

struct Named {
    std::string name;
    Rank rank;
    std::string theory;
};

Table rank_table(const std::vector<Named>& all) {
    Table table{"Rank of the outputs of 8 heads of width 8, side by side",
                {"heads", "numerical rank", "theory", "effective rank", "mean |cos| of two heads"},
                {}};
    for (const Named& n : all) {
        table.rows.push_back({n.name, n.rank.numerical, n.theory, fixed(n.rank.effective, 1),
                              fixed(n.rank.similarity, 3)});
    }
    return table;
}

Plot spectrum_plot(const std::vector<Named>& all) {
    Plot plot{.title = "Singular values of the heads' outputs",
              .x = {.label = "number of the singular value"},
              .y = {.label = "share of the largest", .log = true, .low = 1e-5}};
    for (const Named& n : all) {
        Series s{.name = n.name, .dashed = plot.series.size() == 1};
        for (std::size_t i = 0; i < n.rank.spectrum.size(); ++i) {
            s.x.push_back(static_cast<double>(i + 1));
            s.y.push_back(std::max(n.rank.spectrum[i], 1e-12));
        }
        plot.series.push_back(s);
    }
    return plot;
}

Report run(const Setting& setting) {
    Generator generator(setting.seed);
    std::vector<Named> all{{"distinct", untrained(false, generator), "64"},
                           {"every second a copy", untrained(true, generator), "32"}};
    const auto text =
        examples::write_stories(setting.seed, setting.pick<std::size_t>(400000, 60000)).text;
    Trained trained(text, setting.pick<std::int64_t>(8, 2), generator);
    const auto moments = learn(trained, setting.pick<std::int64_t>(600, 120), generator);
    for (const Rank& rank : ranks_of_layers(trained)) {
        all.push_back({fmt::format("trained, layer {}", all.size() - 2), rank, "up to 64"});
    }
    const Removals& removals = moments.back().removals;
    Report report;
    report.tables = {rank_table(all), moments_table(moments), removals.table};
    report.figures = {
        {"spectrum", "singular values of the heads' outputs", svg(spectrum_plot(all))},
        {"removed", "what a removed head costs", svg(removals.map)}};
    constexpr std::int64_t kCount = kLayers * kHeads;
    const bool to_spare = 2 * removals.cheap > kCount;
    report.verdict = {
        all[0].rank.numerical == kDim && all[1].rank.numerical == kDim / 2 && to_spare,
        fmt::format(
            "Copies are found by the rank ({} of {}); the trained heads are none ({} and "
            "{}). Of {} trained heads {} can be removed, each alone, for less than 1 % more "
            "loss (it is {:.3f} after {} steps); the dearest costs {:.1f} %. {}",
            all[1].rank.numerical, kDim, all[2].rank.numerical, all[3].rank.numerical, kCount,
            removals.cheap, removals.loss, moments.back().step, 100 * removals.worst,
            to_spare ? "Most of them are to spare, as is said of large models."
                     : "In a model this small few are to spare once it has learned, whatever "
                       "is said of large ones.")};
    return report;
}

}  // namespace

Experiment redundant_heads() {
    return {
        "redundant_heads",
        "Are heads redundant?",
        "H heads of width D that find different things fill H D dimensions; copies add none, so "
        "that the numerical rank of all outputs side by side (singular values above 1e-4 of the "
        "largest) counts what is not copied. Trained heads are said to be redundant in another "
        "sense: most of them can be removed, one at a time, at little cost. Both are measured, "
        "with the effective rank besides, e^entropy of the singular values' shares.\n\n"
        "Sources: Michel, Levy and Neubig 2019, \"Are Sixteen Heads Really Better than One?\"; "
        "effective rank: Roy and Vetterli 2007.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
