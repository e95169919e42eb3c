// Do heads take roles? First by construction, with subspaces that have nothing in common; then as
// training makes them, when two relations are to be served at once.
#include <tapestry/core/views.h>
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/recall.h>
#include <tapestry/examples/experiments/without_head.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kDim = 8, kHalf = 4, kTokens = 16;

// I - 2 v v^T / v^T v for a random v: orthogonal, and no axis stays what it was.
Tensor reflection(Generator& generator) {
    const Tensor v = randn({kDim, 1}, generator, DType::f64);
    return eye(kDim, DType::f64) - matmul(v, transpose(v, 0, 1)) * (2 / sum(v * v).item());
}

// Two heads whose queries and keys are x W: head 0 has the first half of the columns.
Tensor weights_of(const Tensor& w, const Tensor& x) {
    MultiHeadAttention attention({.dim = kDim, .heads = 2, .bias = false});
    attention.to(DType::f64);
    const Tensor rows = transpose(w, 0, 1);  // Linear has x W^T
    attention.qkv->weight.copy_(concat({rows, rows, eye(kDim, DType::f64)}));
    AttentionRecord record;
    attention(x, {.record = &record});
    return record.weights;  // [1, 2, T, T]
}

// The largest change of any weight of head 0 when only the second half of what tokens are changes,
// and of head 1 when only the first does. Tokens are [a b] U^T, [a b] of mean 0 and variance 1.
double leakage(const Tensor& u, const Tensor& w, Generator& generator) {
    const auto draw = [&] { return randn({1, kTokens, kHalf}, generator, DType::f64); };
    const Tensor a = draw(), b = draw(), other_a = draw(), other_b = draw();
    const auto weights = [&](const Tensor& first, const Tensor& second) {
        return weights_of(w, matmul(concat({first, second}, -1), transpose(u, 0, 1)));
    };
    const Tensor here = weights(a, b);
    const Tensor of_first = views::slice(here - weights(a, other_b), 1, 0, 1);
    const Tensor of_second = views::slice(here - weights(other_a, b), 1, 1, 2);
    return std::max(max(abs(of_first)).item(), max(abs(of_second)).item());
}

Table leakage_table(std::uint64_t seed) {
    Generator generator(seed);
    const Tensor axes = eye(kDim, DType::f64);
    const Tensor turned = reflection(generator);
    const Tensor random = randn({kDim, kDim}, generator, DType::f64);
    return {"Made by hand: largest change of a head's weights when what it is not for changes",
            {"subspaces of the two heads", "measured", "theory"},
            {{"orthogonal, along axes", {leakage(axes, axes, generator), 2}, "0"},
             {"orthogonal, in any direction", {leakage(turned, turned, generator), 2}, "0"},
             {"random", {leakage(axes, random, generator), 2}, "> 0"}}};
}

// What one head of a trained model does.
struct Head {
    std::string name;
    double weight[2];   // mean weight on the record that each relation asks for
    double without[2];  // right answers for each relation when the head is removed
    // Serves a relation when most of its weight goes there and little to where the other points.
    int role() const {
        constexpr double kMuch = 0.5, kLittle = 0.25;
        if (weight[0] > kMuch && weight[1] < kLittle) return 0;
        if (weight[1] > kMuch && weight[0] < kLittle) return 1;
        return -1;
    }
};

struct Trained {
    double accuracy[2];
    std::vector<Head> heads;
    // One head for each relation, without which that relation alone is lost.
    bool divided() const {
        if (heads.size() != 2 || heads[0].role() < 0 || heads[1].role() < 0) return false;
        if (heads[0].role() == heads[1].role()) return false;
        return std::all_of(heads.begin(), heads.end(), [](const Head& h) {
            const int own = h.role();
            return h.without[own] < 0.5 && h.without[1 - own] > 0.95;
        });
    }
};

Trained trained_on_both(std::int64_t heads, std::uint64_t seed, std::int64_t steps) {
    Generator generator(seed);
    RecallModel model({.relations = 2, .heads = heads}, generator);
    train_recall(model, steps, 3e-3, generator);
    const RecallBatch test = recall_batch(model.config(), 1000, generator);
    const std::vector<double> accuracy = model.accuracy(test);
    Trained result{.accuracy = {accuracy[0], accuracy[1]}, .heads = {}};
    AttentionRecord record;
    model(test, &record);  // weights [B, H, 1, S]
    for (std::int64_t h = 0; h < heads; ++h) {
        const Tensor w = views::slice(record.weights, 1, h, h + 1);
        const auto on = mean(gather(reshape(w, {-1, model.config().records}), 1, test.where), {0})
                            .to_vector<double>();
        const WithoutHead removed(model.attention, h);
        const std::vector<double> without = model.accuracy(test);
        result.heads.push_back({fmt::format("{} heads, seed {}, head {}", heads, seed, h),
                                {on[0], on[1]},
                                {without[0], without[1]}});
    }
    return result;
}

void add_rows(const Trained& t, Table& table, Series& series) {
    constexpr const char* kRoles[] = {"colour", "shape"};
    for (const Head& h : t.heads) {
        table.rows.push_back({h.name, fixed(h.weight[0], 3), fixed(h.weight[1], 3),
                              percent(h.without[0]), percent(h.without[1]),
                              h.role() < 0 ? "neither alone" : kRoles[h.role()]});
        series.x.push_back(h.weight[0]);
        series.y.push_back(h.weight[1]);
    }
}

struct Counts {
    std::int64_t runs = 0, divided = 0;                 // of two heads
    std::int64_t heads = 0, with_role = 0, needed = 0;  // of four
    double worst_accuracy = 1;
};

Counts count(const std::vector<Trained>& all) {
    Counts c;
    for (const Trained& t : all) {
        c.worst_accuracy = std::min({c.worst_accuracy, t.accuracy[0], t.accuracy[1]});
        if (t.heads.size() == 2) {
            ++c.runs;
            c.divided += t.divided() ? 1 : 0;
            continue;
        }
        for (const Head& h : t.heads) {
            ++c.heads;
            c.with_role += h.role() >= 0 ? 1 : 0;
            c.needed += std::min(h.without[0], h.without[1]) < 0.95 ? 1 : 0;
        }
    }
    return c;
}

Report run(const Setting& setting) {
    Table roles{"Trained on two relations at once; chance is 1/8 = 0.125 of the weight, 1/16 right",
                {"model", "weight on colour's", "weight on shape's", "colour right without it",
                 "shape right without it", "serves"},
                {}};
    Plot plot{.title = "Where the heads of trained models look",
              .x = {.label = "weight on the record of the query's colour", .low = 0, .high = 1.05},
              .y = {.label = "on the record of its shape", .low = 0, .high = 1.05}};
    std::vector<Trained> all;
    const auto seeds = setting.pick<std::uint64_t>(5, 1);
    const auto steps = setting.pick<std::int64_t>(400, 250);
    for (const std::int64_t heads : {2, 4}) {
        Series series{.name = fmt::format("{} heads", heads), .mark = Mark::points};
        for (std::uint64_t i = 0; i < seeds; ++i) {
            all.push_back(trained_on_both(heads, setting.seed + i, steps));
            add_rows(all.back(), roles, series);
        }
        plot.series.insert(plot.series.begin(), series);  // fewer heads are drawn on top
    }
    const Counts c = count(all);
    Report report;
    report.tables = {leakage_table(setting.seed), roles};
    report.figures = {{"roles", "where the heads of trained models look", svg(plot)}};
    const double leak = report.tables[0].number("orthogonal, in any direction", "measured");
    report.verdict = {
        leak < 1e-12 && c.divided == c.runs,
        fmt::format(
            "Orthogonal subspaces leak nothing ({:.0e}). In {} of {} models with two heads each "
            "relation has a head of its own: without it that relation is lost and the other stays "
            "as it was; nobody told them. Of {} heads in models of four, {} serve one relation "
            "alone, and only {} cannot be removed without losing answers. All models answer "
            "{:.1f} % at least.",
            leak, c.divided, c.runs, c.heads, c.with_role, c.needed, 100 * c.worst_accuracy)};
    return report;
}

}  // namespace

Experiment head_roles() {
    return {
        "head_roles",
        "Do heads take roles?",
        "A head compares tokens in the subspace that its W_Q and W_K span. If a token is the sum "
        "of parts in orthogonal subspaces and a head's matrices read one of them, its weights do "
        "not depend on the others: leakage 0. That training finds such a division is an "
        "observation, not a theorem. The task here: records have a colour, a shape and a "
        "content; a query with a colour and a shape asks for the contents of two records. One "
        "softmax can point at one record, so that two heads should share out the relations (with "
        "a feed-forward network behind it one head could tell two records apart by how much of "
        "its weight each gets).\n\n"
        "Sources: Vaswani et al. 2017, section 3.2.2; roles of trained heads: Clark et al. 2019, "
        "\"What Does BERT Look At?\"; Voita et al. 2019, \"Analyzing Multi-Head "
        "Self-Attention\".",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
