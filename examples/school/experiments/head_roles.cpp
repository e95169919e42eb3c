// Do heads take roles? First by construction, with orthogonal subspaces; then as training forms
// them, when a model must serve two relations at once.
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/head_worth.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/recall.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments::head_roles {
namespace {

constexpr std::int64_t kDim = 8, kHalf = 4, kTokens = 16;

// I - 2 v v^T / v^T v for a random v: orthogonal, and mixes all axes.
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

// The largest change in any weight of head 0 when only the second half of the tokens' features
// changes, and of head 1 when only the first half does. Tokens are [a b] U^T, with [a b] of mean 0
// and variance 1. Orthogonal heads leak nothing only if they read the parts that tokens have: W =
// U.
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

constexpr const char* kByHand = "made by hand";
constexpr std::pair<const char*, const char*> kSubspaces[] = {
    {"the parts, along axes", "0"},
    {"the parts, in any direction", "0"},
    {"orthogonal, in other directions", "> 0"},
    {"random, not orthogonal", "> 0"}};

Measured leakages(std::uint64_t seed) {
    Generator generator(seed);
    const Tensor axes = eye(kDim, DType::f64);
    const Tensor turned = reflection(generator);
    const Tensor random = randn({kDim, kDim}, generator, DType::f64);
    return {{{kSubspaces[0].first, leakage(axes, axes, generator)},
             {kSubspaces[1].first, leakage(turned, turned, generator)},
             {kSubspaces[2].first, leakage(axes, turned, generator)},
             {kSubspaces[3].first, leakage(axes, random, generator)}}};
}

Table leakage_table(const Outcomes& o) {
    Table table{
        "Made by hand, tokens of two orthogonal parts: largest change of a head's weights "
        "when only the part that it should not read changes",
        {"subspaces of the two heads", "measured", "theory"},
        {}};
    for (const auto& [subspaces, theory] : kSubspaces) {
        table.rows.push_back({subspaces, significant(o.of(kByHand, subspaces), 2), theory});
    }
    return table;
}

// What one head of a trained model does.
struct Head {
    double weight[2];   // mean weight on the record that each relation asks for
    double without[2];  // accuracy on each relation when the head is removed
    // A head serves a relation if most of its weight goes to that target and little to the other's.
    int role() const {
        constexpr double kMuch = 0.5, kLittle = 0.25;
        if (weight[0] > kMuch && weight[1] < kLittle) return 0;
        if (weight[1] > kMuch && weight[0] < kLittle) return 1;
        return -1;
    }
    bool is_needed() const { return std::min(without[0], without[1]) < 0.95; }
};

// One head per relation, and removing it loses only that relation.
bool is_divided(const std::vector<Head>& heads) {
    if (heads.size() != 2 || heads[0].role() < 0 || heads[1].role() < 0) return false;
    if (heads[0].role() == heads[1].role()) return false;
    return std::all_of(heads.begin(), heads.end(), [](const Head& h) {
        const int own = h.role();
        return h.without[own] < 0.5 && h.without[1 - own] > 0.95;
    });
}

std::vector<Head> look(const RecallModel& model, const RecallBatch& test) {
    AttentionRecord record;
    model(test, &record);  // weights [B, H, 1, S]
    std::vector<Head> all;
    for (std::int64_t h = 0; h < model.config().heads; ++h) {
        const Tensor w = views::slice(record.weights, 1, h, h + 1);
        const auto on = mean(gather(reshape(w, {-1, model.config().records}), 1, test.where), {0})
                            .to_vector<double>();
        const WithoutHead removed(model.attention, h);
        const std::vector<double> without = model.accuracy(test);
        all.push_back({{on[0], on[1]}, {without[0], without[1]}});
    }
    return all;
}

/// A model: what follows attention, how long it trains.
struct Recipe {
    std::int64_t heads;
    bool whole_layer = false;
    bool long_run = false;

    std::string name() const {
        return fmt::format("{} head{}{}{}", heads, heads == 1 ? "" : "s",
                           whole_layer ? ", whole layer" : "", long_run ? ", long run" : "");
    }
    std::int64_t steps(const Setting& setting) const {
        return long_run ? setting.pick(3000, 500) : setting.pick(400, 250);
    }
};
constexpr Recipe kRecipes[] = {
    {1}, {2}, {4}, {1, false, true}, {1, true}, {2, true}, {1, true, true}};

Measured examined(const RecallModel& model, const RecallBatch& test) {
    const std::vector<double> accuracy = model.accuracy(test);
    const std::vector<Head> all = look(model, test);
    Measured m{{{"right", std::min(accuracy[0], accuracy[1])},
                {"divided", is_divided(all) ? 1 : 0},
                {"with a role", 0},
                {"needed", 0},
                {"own", 0}}};
    for (const Head& h : all) {
        m.numbers["with a role"] += h.role() >= 0 ? 1 : 0;
        m.numbers["needed"] += h.is_needed() ? 1 : 0;
        m.numbers["own"] += std::max(h.weight[0], h.weight[1]) / static_cast<double>(all.size());
        m.curves["colour"].push_back(h.weight[0]);
        m.curves["shape"].push_back(h.weight[1]);
    }
    return m;
}

Measured trained_on_both(const Recipe& recipe, std::uint64_t seed, std::int64_t steps,
                         double rate) {
    Generator generator(seed);
    RecallModel model({.relations = 2, .heads = recipe.heads, .whole_layer = recipe.whole_layer},
                      generator);
    const std::vector<double> losses = train_recall(model, steps, rate, generator);
    Measured m = examined(model, recall_batch(model.config(), 1000, generator));
    m.numbers["loss"] = mean_of_last_tenth(losses);
    return m;
}

std::string name_of(std::int64_t heads) { return Recipe{heads}.name(); }

// Models that have learnt nothing.
Measured untrained(std::uint64_t seed) {
    Generator generator(seed);
    const RecallModel model({.relations = 2, .heads = 2, .whole_layer = true}, generator);
    return examined(model, recall_batch(model.config(), 1000, generator));
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    for (const Recipe& recipe : kRecipes) {
        all.push_back(swept(setting, recipe.name(), {1.5e-3, 3e-3, 6e-3},
                            [=, steps = recipe.steps(setting)](std::uint64_t seed, double rate) {
                                return trained_on_both(recipe, seed, steps, rate);
                            }));
    }
    all.push_back({"untrained", untrained});
    all.push_back({kByHand, leakages});
    return all;
}

Table roles_table(const Setting& setting, const Outcomes& o) {
    Table table{
        fmt::format("Trained on two relations at once, {} steps, in long runs {}; chance is 1/8 = "
                    "0.125 of the weight",
                    kRecipes[0].steps(setting), kRecipes[3].steps(setting)),
        {"model", "loss", "right, the worse relation",
         "weight on the relation a head looks at more", "heads that serve only one relation",
         "heads that are needed"},
        {}};
    for (const Recipe& recipe : kRecipes) {
        const auto of = [&](const char* what) { return o.of(recipe.name(), what); };
        table.rows.push_back({recipe.name(), significant(of("loss")), percent(of("right")),
                              fixed(of("own"), 3), fixed(of("with a role"), 1),
                              fixed(of("needed"), 1)});
    }
    const auto of = [&](const char* what) { return o.of("untrained", what); };
    table.rows.push_back({"2 heads, whole layer, untrained", "-", percent(of("right")),
                          fixed(of("own"), 3), fixed(of("with a role"), 1), "-"});
    return table;
}

// A point per head of each model.
Plot roles_plot(const Outcomes& o) {
    Plot plot{.title = "Where the heads of trained models look",
              .x = {.label = "weight on the record of the query's colour", .low = 0, .high = 1.05},
              .y = {.label = "on the record of its shape", .low = 0, .high = 1.05}};
    for (const std::int64_t heads : {4, 2}) {  // so models with fewer heads are drawn on top
        Series s{.name = name_of(heads), .mark = Mark::points};
        for (const Measured& seed : o.seeds(name_of(heads))) {
            const auto &x = seed.curves.at("colour"), &y = seed.curves.at("shape");
            s.x.insert(s.x.end(), x.begin(), x.end());
            s.y.insert(s.y.end(), y.begin(), y.end());
        }
        plot.series.push_back(s);
    }
    return plot;
}

Report report(const Setting& setting, const Outcomes& o) {
    const auto total = [&](const Recipe& recipe, const char* what) {
        double sum = 0;
        for (const double value : o.values(recipe.name(), what)) sum += value;
        return static_cast<std::int64_t>(sum);
    };
    const std::int64_t divided = total({2, true}, "divided");
    const auto share_of_four = [&](const char* what) {  // the units are models, not their heads
        std::vector<double> shares = o.values(name_of(4), what);
        for (double& heads : shares) heads /= 4;
        return student(shares);
    };
    Report report{
        .tables = {leakage_table(o), roles_table(setting, o)},
        .figures = {{"roles", "where the heads of trained models look", svg(roles_plot(o))}}};
    report.decided = {
        {"orthogonal_heads_leak_nothing", o.of(kByHand, kSubspaces[1].first)},
        {"one_head_is_not_enough", o.of(Recipe{1, false, true}.name(), "right")},
        {"one_layer_is_not_enough", o.of(Recipe{1, true, true}.name(), "right")},
        {"second_head_is_sooner", student(differences(o.values(Recipe{1, true}.name(), "loss"),
                                                      o.values(Recipe{2, true}.name(), "loss")))},
        {"two_heads_are_enough", o.of(name_of(2), "right")},
        {"two_heads_divide_the_work", share(divided, setting.seeds)},
        {"four_heads_have_roles", share_of_four("with a role")},
        {"four_heads_are_needed", share_of_four("needed")}};
    report.remark = fmt::format(
        "In {} of {} whole layers of two heads each relation has its own head: more than half of "
        "the head's weight is on its record and less than a quarter on the other's; without it "
        "less than "
        "half of the answers to that relation are right, and more than 95 % of those to the other. "
        "One head would do there, so no loss asks for that. Of {} heads that are read linearly, in "
        "models of four, {} serve only one relation, and {} cannot be removed without losing "
        "answers.",
        divided, setting.seeds, 4 * setting.seeds, total({4}, "with a role"), total({4}, "needed"));
    return report;
}

constexpr const char* kUntrained = "6 % right, as by guessing; 1/8 of the weight; in the table";

// One model against a bound.
Design tuned_alone(const Recipe& recipe) {
    return Design::trained({.arms = {recipe.name()}, .control = kUntrained});
}

std::vector<Claim> claims() {
    return {
        {"orthogonal_heads_leak_nothing",
         "A head that reads one of two orthogonal parts of the tokens does not see the other in "
         "its "
         "weights.",
         "largest change of a weight when only the other part changes", below(1e-12),
         Design::drawn("tokens and two orthogonal parts of them")},
        {"one_head_is_not_enough", "One head, read linearly, cannot serve two relations.",
         "right, the worse relation, after the long run", below(0.9),
         tuned_alone({1, false, true})},
        {"one_layer_is_not_enough",
         "One head with a residual connection and a feed-forward network cannot either.",
         "right, the worse relation, after the long run", below(0.9), tuned_alone({1, true, true})},
        {"second_head_is_sooner", "In a whole layer two heads learn two relations sooner.",
         "loss of one head less that of two, after the short run", above(0.1),
         Design::compared({.arms = {Recipe{1, true}.name(), Recipe{2, true}.name()},
                           .control = "the loss of guessing for both, a difference of 0"})},
        {"two_heads_are_enough", "Two heads serve two relations.", "right, the worse relation",
         above(0.95), tuned_alone({2})},
        {"two_heads_divide_the_work", "Two trained heads of a whole layer share out two relations.",
         "share of the models (Wilson's interval)", above(0.5), tuned_alone({2, true})},
        {"four_heads_have_roles", "Of four trained heads most serve only one relation.",
         "share of the heads, a value for each model", above(0.5), tuned_alone({4})},
        {"four_heads_are_needed", "Of four trained heads most are needed.",
         "share of the heads, a value for each model", above(0.5), tuned_alone({4})}};
}

}  // namespace

Experiment experiment() {
    return {
        "head_roles",
        "Do heads take roles?",
        "A head compares tokens in the subspace that its W_Q and W_K span. If a token is the sum "
        "of parts in orthogonal subspaces and a head's matrices read one of them, its weights do "
        "not depend on the others: leakage 0. That training finds such a division is an "
        "observation, not a theorem. The task here: records have a colour, a shape and a "
        "content; a query with a colour and a shape asks for the contents of two records. One "
        "softmax can point at one record, so two heads should share out the relations. That is "
        "true of a head that is read linearly; with a feed-forward network behind it, as in a "
        "Transformer, one head could tell two records apart by how much of its weight each gets. "
        "Both are trained.\n\n"
        "Sources: Vaswani et al. 2017, section 3.2.2; roles of trained heads: Clark et al. 2019, "
        "\"What Does BERT Look At?\"; Voita et al. 2019, \"Analyzing Multi-Head "
        "Self-Attention\".",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::head_roles
