// Can one head pick the balanced key among (10, 0), (0, 10), (5, 5), (2, 2)? A score is linear in
// the key, and (5, 5) is halfway between the first two. And among random keys: can heads and a
// feed-forward network find the one whose smaller number is largest?
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/tapestry.h>

#include <cmath>
#include <numbers>

namespace tapestry::experiments::balanced_key {
namespace {

constexpr std::int64_t kBalanced = 2;
constexpr std::int64_t kKeys = 4;

// The weights that the library's attention gives the four keys for queries of every direction and
// length: the largest weight of the balanced key, and how often it has the largest one.
struct Scan {
    std::int64_t queries = 0, won = 0;
    double largest = 0;
    std::vector<double> angles, weight, best_other;  // for the figure, at one length
};

Tensor queries_of_length(double length, std::int64_t directions) {
    std::vector<double> q;
    for (std::int64_t i = 0; i < directions; ++i) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(directions);
        q.insert(q.end(), {length * std::cos(angle), length * std::sin(angle)});
    }
    return tensor(q, {directions, 2});
}

Scan scan(std::int64_t directions) {
    const Tensor keys = tensor<double>({{10, 0}, {0, 10}, {5, 5}, {2, 2}});
    Scan result;
    for (double length = 1e-3; length < 2e3; length *= 2) {
        const Tensor weights = attention_weights(queries_of_length(length, directions), keys);
        const std::vector<double> w = weights.to_vector<double>();  // [directions, 4]
        for (std::size_t i = 0; i < w.size(); i += kKeys) {
            const double others = std::max({w[i], w[i + 1], w[i + 3]});
            ++result.queries;
            result.won += w[i + kBalanced] > others ? 1 : 0;
            result.largest = std::max(result.largest, w[i + kBalanced]);
            if (length < 0.25 || length > 0.3) continue;  // one of the lengths, 0.256
            result.angles.push_back(360 * static_cast<double>(i / kKeys) /
                                    static_cast<double>(directions));
            result.weight.push_back(w[i + kBalanced]);
            result.best_other.push_back(others);
        }
    }
    return result;
}

struct Keys {
    Tensor keys;   // [B, 4, 2]
    Tensor where;  // [B]: index of the key whose smaller number is largest
};

enum class Kind { lines, random };

// Kind `lines`: (a, 0), (0, a), (a/2, a/2), (b, b) with a about 10 and b about 2, in any order, so
// one projection can identify each key. Kind `random`: drawn from the square [0, 10]^2.
Keys draw_keys(Kind kind, std::int64_t batch, Generator& generator) {
    Tensor keys({batch, kKeys, 2}, DType::f32);
    Tensor where({batch}, DType::i64);
    for (std::int64_t i = 0; i < batch; ++i) {
        const auto a = static_cast<float>(8 + 4 * generator.uniform());
        const auto b = static_cast<float>(1 + 2 * generator.uniform());
        const float x[kKeys] = {a, 0, a / 2, b}, y[kKeys] = {0, a, a / 2, b};
        const auto order = randperm(kKeys, generator).to_vector<std::int64_t>();
        float* to = keys.mutable_data<float>() + i * kKeys * 2;
        float largest = -1;
        for (std::int64_t place = 0; place < kKeys; ++place) {
            const auto which = static_cast<std::size_t>(order[static_cast<std::size_t>(place)]);
            const bool lines = kind == Kind::lines;
            to[2 * place] = lines ? x[which] : static_cast<float>(10 * generator.uniform());
            to[2 * place + 1] = lines ? y[which] : static_cast<float>(10 * generator.uniform());
            const float smaller = std::min(to[2 * place], to[2 * place + 1]);
            if (smaller <= largest) continue;
            largest = smaller;
            where.mutable_data<std::int64_t>()[i] = place;
        }
    }
    return {keys, where};
}

// A learned query attends to the keys; each key's value gives its position. A linear layer reads
// the heads' output, with or without a feed-forward network before it.
class Picker : public Module {
public:
    Tensor query;  // [1, 1, C]
    MultiHeadAttention attention;
    std::optional<FeedForward> feed_forward;
    Linear place;

    Picker(std::int64_t heads, bool with_feed_forward, Generator& generator)
        : Module("Picker"),
          query(randn({1, 1, 4 * heads}, generator)),
          attention({.dim = 4 * heads, .heads = heads, .key_dim = 2, .value_dim = kKeys},
                    generator),
          place(4 * heads, kKeys, true, generator) {
        register_parameter("query", query);
        register_module("attention", attention);
        if (with_feed_forward) {
            register_module(
                "feed_forward",
                feed_forward.emplace(FeedForwardConfig{.dim = 4 * heads, .hidden = 64}, generator));
        }
        register_module("place", place);
    }

    Tensor operator()(const Tensor& keys) const {  // [B, 4, 2] -> [B, 4]
        const std::int64_t batch = keys.size(0);
        const Tensor x = expand(query, {batch, 1, query.size(2)});
        const Tensor places = expand(eye(kKeys), {batch, kKeys, kKeys});
        const Tensor found = squeeze(attention(x, {.keys = keys, .values = places}), 1);
        return place(feed_forward ? (*feed_forward)(found) : found);
    }
};

/// A row of the table: the kind of keys, the number of heads, what reads them.
struct Recipe {
    Kind kind;
    std::int64_t heads;
    bool feed_forward;

    std::string name() const {
        return fmt::format("{}, {}, {}", kind == Kind::lines ? "keys on lines" : "random keys",
                           heads == 1 ? "one head" : "two heads",
                           feed_forward ? "feed-forward" : "linear");
    }
};

std::vector<Recipe> recipes() {
    std::vector<Recipe> all;
    for (const Kind kind : {Kind::lines, Kind::random}) {
        for (const std::int64_t heads : {1, 2}) {
            for (const bool bent : {false, true}) all.push_back({kind, heads, bent});
        }
    }
    return all;
}

examples::Score score(const Picker& picker, Kind kind, Generator generator) {
    const Keys k = draw_keys(kind, 2000, generator);
    const Tensor right = eq(argmax(picker(k.keys)), k.where);
    return {sum(right).item<std::int64_t>(), 2000};
}

double loss(const Picker& picker, Kind kind, Generator generator) {
    const NoGradGuard no_grad;
    const Keys k = draw_keys(kind, 2000, generator);
    return cross_entropy(picker(k.keys), k.where).item();
}

// How often a model picks the right one of unseen keys, before and after training, and its loss on
// them.
Measured learned(const Recipe& recipe, std::int64_t steps, double rate, std::uint64_t seed) {
    Generator generator(seed);
    Picker picker(recipe.heads, recipe.feed_forward, generator);
    const Generator unseen(seed + 2000);
    Measured m;
    m.numbers["right, untrained"] = score(picker, recipe.kind, unseen).share();
    const examples::TaskOptions options{.steps = steps, .rate = rate, .print = false};
    examples::fit(
        picker, options,
        [&] {
            const Keys k = draw_keys(recipe.kind, options.batch, generator);
            return cross_entropy(picker(k.keys), k.where);
        },
        [] { return examples::Score{}; });
    m.numbers["right"] = score(picker, recipe.kind, unseen).share();
    m.numbers["loss"] = loss(picker, recipe.kind, unseen);
    return m;
}

std::vector<Trial> trials(const Setting& setting) {
    const auto steps = setting.pick<std::int64_t>(4000, 1000);
    std::vector<Trial> all;
    for (const Recipe& recipe : recipes()) {
        all.push_back(swept(
            setting, recipe.name(), {5e-3, 1e-2, 2e-2},
            [=](std::uint64_t seed, double rate) { return learned(recipe, steps, rate, seed); }));
    }
    return all;
}

Plot scan_plot(const Scan& s) {
    Plot plot{.title = "One head: weights for every direction of the query",
              .x = {.label = "direction of the query, degrees",
                    .ticks = {0, 45, 90, 135, 180, 225, 270, 315, 360}},
              .y = {.label = "weight", .low = 0}};
    plot.series.push_back({.name = "balanced key (5, 5)", .x = s.angles, .y = s.weight});
    plot.series.push_back(
        {.name = "largest of the others", .x = s.angles, .y = s.best_other, .dashed = true});
    return plot;
}

// Designs of the claims.
const Design kExact = Design::computed();
constexpr const char* kUntrained = "25 % right, as by guessing, in the table";
Design one(Kind kind, std::int64_t heads, bool bent) {
    return Design::trained({.arms = {Recipe{kind, heads, bent}.name()}, .control = kUntrained});
}
Design against_best(const Recipe& other) {
    return Design::compared({.arms = {Recipe{Kind::random, 2, true}.name(), other.name()},
                             .score = "right",
                             .control = kUntrained});
}

Report report(const Setting& setting, const Outcomes& o) {
    const Scan s = scan(setting.pick<std::int64_t>(7200, 720));
    Table scanned{
        "One head, every direction and length of the query", {"", "measured", "theory"}, {}};
    scanned.rows = {{"queries tried", s.queries, ""},
                    {"balanced key has the largest weight", s.won, "0"},
                    {"its largest weight", fixed(s.largest, 6), "below 1/3, its limit"}};
    Table trained{
        "Trained to say where the key stands whose smaller number is largest; guessing: "
        "25 %",
        {"keys and model", "untrained", "right", "loss, held out"},
        {}};
    for (const Recipe& recipe : recipes()) {
        const auto of = [&](const char* what) { return o.of(recipe.name(), what); };
        trained.rows.push_back({recipe.name(), percent(of("right, untrained")),
                                percent(of("right")), fixed(of("loss"), 3)});
    }
    const auto right = [&](Kind kind, std::int64_t heads, bool bent) {
        return o.values(Recipe{kind, heads, bent}.name(), "right");
    };
    const std::vector<double> best = right(Kind::random, 2, true);
    return {
        .tables = {scanned, trained},
        .figures = {{"directions", "weights of one head for every direction", svg(scan_plot(s))}},
        .decided = {{"never_largest", exactly(static_cast<double>(s.won))},
                    {"below_a_third", exactly(s.largest)},
                    {"one_head_fails", student(right(Kind::lines, 1, false))},
                    {"two_heads_needed", student(right(Kind::lines, 1, true))},
                    {"two_heads_find_it", student(right(Kind::lines, 2, true))},
                    {"two_heads_find_any", student(best)},
                    {"second_head_helps", student(differences(best, right(Kind::random, 1, true)))},
                    {"bend_helps", student(differences(best, right(Kind::random, 2, false)))}},
        .remark =
            "One head read linearly does little better than guessing on keys that lie "
            "on lines: for every query the balanced key is between two others, so "
            "neither the largest nor the smallest weight is ever its. With a feed-forward "
            "network one head finds it in every run, at its best rate; at a quarter of that "
            "rate, which was once used for all, in some runs only. A second head read linearly "
            "finds it in most."};
}

std::vector<Claim> claims() {
    return {{"never_largest", "No query of one head gives the balanced key the largest weight.",
             "queries that do, of a grid of directions and lengths", below(0.5), kExact},
            {"below_a_third", "For every query the balanced key's weight stays below 1/3.",
             "its largest weight on that grid; 1e-9 above 1/3 is rounding", below(1.0 / 3 + 1e-9),
             kExact},
            {"one_head_fails", "One head, read linearly, does not find the balanced key.",
             "right, keys on lines", below(0.6), one(Kind::lines, 1, false)},
            {"two_heads_needed",
             "One head with a feed-forward network does not find the balanced key either.",
             "right, keys on lines", below(0.95), one(Kind::lines, 1, true)},
            {"two_heads_find_it", "Two heads and a feed-forward network find the balanced key.",
             "right, keys on lines", above(0.95), one(Kind::lines, 2, true)},
            {"two_heads_find_any",
             "Two heads and a feed-forward network find the largest minimum of any four keys.",
             "right, random keys", above(0.95), one(Kind::random, 2, true)},
            {"second_head_helps", "For random keys the second head helps.",
             "right, two heads less one, both with a feed-forward network", above(0.02),
             against_best({Kind::random, 1, true})},
            {"bend_helps", "For random keys the feed-forward network helps.",
             "right, two heads with it less two without", above(0.02),
             against_best({Kind::random, 2, false})}};
}

}  // namespace

Experiment experiment() {
    return {
        "balanced_key",
        "Can one head pick the balanced key among (10, 0), (0, 10), (5, 5), (2, 2)?",
        "Not by its weights. A score is linear in the key and k3 = (k1 + k2) / 2, so q . k3 "
        "is the mean of q . k1 and q . k2: never above both, for any query (a linear "
        "function on a convex hull is largest at a corner). With q . k1 = "
        "q . k2 = s the weight of k3 is 1 / (3 + e^(-0.6 s')), s' = s / sqrt(d_k): below 1/3, "
        "which it comes near as s grows. Two heads, each looking along one axis, and a "
        "feed-forward layer that takes the minimum of what they found could do it. Keys like these "
        "four lie on lines, and one projection of them names the answer; random keys do not. But "
        "softmax tells of the numbers along an axis only how they differ from one another: which "
        "of a key's two is the smaller, two heads cannot always say.\n\n"
        "Linear readings of the weights of one head are monotone along the line k1, k3, k2; "
        "two heads may subtract one from the other, which makes a hump.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::balanced_key
