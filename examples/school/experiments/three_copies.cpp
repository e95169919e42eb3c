// Are queries, keys and values three copies of one thing? Trains attention with any two of its
// matrices tied, with all three tied, and with no matrices, on a relation that has a direction.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/tasks/task.h>

#include <cmath>

namespace tapestry::experiments::three_copies {
namespace {

constexpr std::int64_t kRecords = 8, kSigns = 16, kContents = 16, kDim = 64;

/// Which matrix serves as W_Q, W_K and W_V; -1: none, x itself.
struct Way {
    const char* name;
    int query, key, value;
};
constexpr Way kWays[] = {{"three matrices", 0, 1, 2}, {"W_K = W_V", 0, 1, 1},
                         {"W_Q = W_V", 0, 1, 0},      {"W_Q = W_K", 0, 0, 1},
                         {"one matrix", 0, 0, 0},     {"no matrix", -1, -1, -1}};

/// Records with their own sign, the sign of the record they point to, and a content.
struct Records {
    Tensor own, goal, content;  // [B, S]
    Tensor answers;             // [B, S]: content of the record that this one points to
};

Records draw_records(std::int64_t batch, Generator& generator) {
    std::vector<std::int64_t> own, goal, content, answers;
    for (std::int64_t b = 0; b < batch; ++b) {
        std::vector<std::int64_t> signs(kSigns), inside;
        for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = static_cast<std::int64_t>(i);
        for (std::size_t i = 0; i < kRecords; ++i) {  // the first eight of a shuffle
            std::swap(signs[i], signs[i + generator.below(signs.size() - i)]);
            inside.push_back(static_cast<std::int64_t>(generator.below(kContents)));
        }
        for (std::size_t i = 0; i < kRecords; ++i) {
            const std::size_t to =
                (i + 1 + generator.below(kRecords - 1)) % kRecords;  // not itself
            own.push_back(signs[i]);
            goal.push_back(signs[to]);
            content.push_back(inside[i]);
            answers.push_back(inside[to]);
        }
    }
    const Shape shape{batch, kRecords};
    return {tensor(own, shape), tensor(goal, shape), tensor(content, shape),
            tensor(answers, shape)};
}

class Reader : public Module {
public:
    Embedding own, goal, content;
    Linear first, second, third, output;

    Reader(const Way& way, Generator& g)
        : Module("Reader"),
          own(kSigns, kDim, g),
          goal(kSigns, kDim, g),
          content(kContents, kDim, g),
          first(kDim, kDim, false, g),
          second(kDim, kDim, false, g),
          third(kDim, kDim, false, g),
          output(kDim, kContents, true, g),
          way_(way) {
        register_module("own", own);
        register_module("goal", goal);
        register_module("content", content);
        const int used = std::max({way.query, way.key, way.value}) + 1;
        if (used > 0) register_module("first", first);
        if (used > 1) register_module("second", second);
        if (used > 2) register_module("third", third);
        register_module("output", output);
    }

    Tensor operator()(const Records& r, Tensor* weights = nullptr) const {
        const Tensor x = own(r.own) + goal(r.goal) + content(r.content);  // [B, S, C]
        const auto map = [&](int which) {
            const Linear* matrices[] = {&first, &second, &third};
            return which < 0 ? x : (*matrices[which])(x);
        };
        return output(scaled_dot_product_attention(map(way_.query), map(way_.key), map(way_.value),
                                                   {.weights = weights}));
    }

private:
    Way way_;
};

Measured learn(const Way& way, std::int64_t steps, double rate, std::uint64_t seed) {
    Generator generator(seed), other(1000 + seed);
    Reader model(way, generator);
    examples::fit(
        model, {.steps = steps, .batch = 64, .rate = rate, .print = false},
        [&] {
            const Records r = draw_records(64, generator);
            return cross_entropy(model(r), r.answers);
        },
        [] { return examples::Score{}; });
    const NoGradGuard no_grad;
    const Records asked = draw_records(500, other);
    Tensor weights;
    const Tensor logits = model(asked, &weights);
    const Tensor right = eq(argmax(logits), asked.answers);
    const Tensor self = mean(diagonal(weights, 0, -2, -1));
    return {{{"loss", cross_entropy(logits, asked.answers).item()},
             {"right", mean(to(right, DType::f64)).item()},
             {"on itself", self.item()},
             {"parameters", static_cast<double>(model.parameter_count())}}};
}

std::vector<Trial> trials(const Setting& s) {
    std::vector<Trial> all;
    for (const Way& way : kWays) {
        all.push_back(swept(s, way.name, {5e-3, 1e-2, 2e-2},
                            [way, steps = s.pick(1000, 300)](std::uint64_t seed, double rate) {
                                return learn(way, steps, rate, seed);
                            }));
    }
    return all;
}

Report report(const Setting&, const Outcomes& o) {
    Table table{"Eight records, each pointing to another: what is there?",
                {"matrices", "parameters", "loss", "right", "weight on itself"},
                {}};
    Plot plot{.title = "Which matrices may be tied?",
              .x = {.label = ""},
              .y = {.label = "loss on new records, nats", .log = true}};
    plot.series.push_back({.name = "loss", .mark = Mark::bars});
    for (const Way& way : kWays) {
        const Interval right = o.of(way.name, "right");
        table.rows.push_back({way.name, std::llround(o.of(way.name, "parameters").mean),
                              significant(o.of(way.name, "loss")), percent(right),
                              fixed(o.of(way.name, "on itself"), 3)});
        add_point(plot.series[0], static_cast<double>(plot.x.names.size()), o.of(way.name, "loss"));
        plot.x.names.emplace_back(way.name);
    }
    const auto lost = [&](const char* name) {
        return student(differences(o.values(name, "loss"), o.values("three matrices", "loss")));
    };
    return {.tables = {table},
            .figures = {{"loss", "the loss, by which matrices are tied", svg(plot)}},
            .decided = {{"three_learn", o.of("three matrices", "right")},
                        {"query_is_no_key", lost("W_Q = W_K")},
                        {"key_is_no_value", lost("W_K = W_V")},
                        {"query_is_no_value", lost("W_Q = W_V")},
                        {"one_is_not_three", lost("one matrix")},
                        {"none_is_not_three", lost("no matrix")}}};
}

constexpr const char* kGuessing = "2.8 nats and 6 % right, as by guessing";

std::vector<Claim> claims() {
    std::vector<Claim> all{{"three_learn", "Three matrices learn the relation.", "share right",
                            above(0.95),
                            Design::trained({.arms = {"three matrices"}, .control = kGuessing})}};
    // Where all answers are right either way, only the loss can show a difference.
    const auto add = [&](const char* claim, const char* tied, const char* way) {
        all.push_back(
            {claim,
             fmt::format("{} one attention, read linearly, has a loss more than 0.1 nats higher.",
                         tied),
             "held-out loss less that with three matrices, nats", above(0.1),
             Design::compared({.arms = {"three matrices", way}, .control = kGuessing})});
    };
    add("query_is_no_key", "With W_Q = W_K", "W_Q = W_K");
    add("key_is_no_value", "With W_K = W_V", "W_K = W_V");
    add("query_is_no_value", "With W_Q = W_V", "W_Q = W_V");
    add("one_is_not_three", "With one matrix for all", "one matrix");
    add("none_is_not_three", "With x itself for all three", "no matrix");
    return all;
}

}  // namespace

Experiment experiment() {
    return {
        "three_copies",
        "Are query, key and value three copies?",
        "With W_Q = W_K the scores x_i^T W^T W x_j are symmetric: i looks at j as hard as j looks "
        "at "
        "i, before the softmax, and by Cauchy and Schwarz nothing of the same length fits x_i "
        "better "
        "than x_i itself. A relation with a direction, as from a verb to its object, is then out "
        "of reach for one head. To tie W_V to one of them is another matter: the content may live "
        "in a subspace that the other side's queries or keys do not look at, so there is "
        "a solution with two matrices. \"Three roles\" does not say that three matrices are "
        "needed.\n\n"
        "Sources: Vaswani et al. 2017; Kitaev et al. 2020, \"Reformer\", section 2, where queries "
        "and "
        "keys are shared and a token may not look at itself.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::three_copies
