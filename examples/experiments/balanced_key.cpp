// Can one head pick the balanced key among (10, 0), (0, 10), (5, 5), (2, 2)? A score is linear in
// the key, and (5, 5) lies half way between the first two.
#include <tapestry/core/views.h>
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/tasks/task.h>
#include <tapestry/tapestry.h>

#include <cmath>
#include <numbers>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kBalanced = 2;
constexpr std::int64_t kKeys = 4;

// The weights that queries of each direction and length give to the four keys, by the library: the
// largest weight the balanced key ever has, and how often it is the key with the largest one.
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

// (a, 0), (0, a), (a/2, a/2), (b, b) with a about 10 and b about 2, in any order, and where the
// balanced one is.
struct Keys {
    Tensor keys;   // [B, 4, 2]
    Tensor where;  // [B]
};

Keys random_keys(std::int64_t batch, Generator& generator) {
    Tensor keys({batch, kKeys, 2}, DType::f32);
    Tensor where({batch}, DType::i64);
    for (std::int64_t i = 0; i < batch; ++i) {
        const auto a = static_cast<float>(8 + 4 * generator.uniform());
        const auto b = static_cast<float>(1 + 2 * generator.uniform());
        const float x[kKeys] = {a, 0, a / 2, b};
        const float y[kKeys] = {0, a, a / 2, b};
        const auto order = randperm(kKeys, generator).to_vector<std::int64_t>();
        float* to = keys.mutable_data<float>() + i * kKeys * 2;
        for (std::int64_t place = 0; place < kKeys; ++place) {
            const std::int64_t which = order[static_cast<std::size_t>(place)];
            to[2 * place] = x[which];
            to[2 * place + 1] = y[which];
            if (which == kBalanced) where.mutable_data<std::int64_t>()[i] = place;
        }
    }
    return {keys, where};
}

// One query, learned, attends to the keys; each key's value says at which place it stands. What
// the heads found is read by a linear layer, with or without a feed-forward network before it.
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

examples::Score score(const Picker& picker, Generator generator) {
    const Keys k = random_keys(1000, generator);
    const Tensor right = eq(argmax(picker(k.keys)), k.where);
    return {sum(right).item<std::int64_t>(), 1000};
}

// How often a trained model picks the balanced key among keys it never saw.
double learned(std::int64_t heads, bool feed_forward, const Setting& setting) {
    Generator generator(setting.seed);
    Picker picker(heads, feed_forward, generator);
    const examples::TaskOptions options{
        .steps = setting.pick<std::int64_t>(4000, 1000), .rate = 1e-2, .print = false};
    examples::fit(
        picker, options,
        [&] {
            const Keys k = random_keys(options.batch, generator);
            return cross_entropy(picker(k.keys), k.where);
        },
        [&] { return score(picker, Generator(setting.seed + 1000)); });
    return score(picker, Generator(setting.seed + 2000)).share();
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

Report run(const Setting& setting) {
    const Scan s = scan(setting.pick<std::int64_t>(7200, 720));
    Report report;
    Table scanned{
        "One head, every direction and length of the query", {"", "measured", "theory"}, {}};
    scanned.rows = {{"queries tried", s.queries, ""},
                    {"balanced key has the largest weight", s.won, "0"},
                    {"its largest weight", fixed(s.largest, 6), "below 1/3, its limit"}};
    Table trained{"Trained to say where the balanced key stands", {"model", "right", "theory"}, {}};
    const double one = learned(1, false, setting), one_bent = learned(1, true, setting);
    const double two = learned(2, false, setting), two_bent = learned(2, true, setting);
    trained.rows = {{"one head, linear", percent(one), "not 100 %"},
                    {"one head, feed-forward", percent(one_bent), ""},
                    {"two heads, linear", percent(two), ""},
                    {"two heads, feed-forward", percent(two_bent), "100 %"}};
    report.tables = {scanned, trained};
    report.figures = {{"directions", "weights of one head for every direction", svg(scan_plot(s))}};
    report.verdict = {
        s.won == 0 && s.largest < 1.0 / 3 + 1e-12 && two_bent == 1 && one < 1,
        fmt::format("Of {} queries none gave the balanced key the largest weight; two heads and a "
                    "feed-forward layer find it in {:.1f} % of new cases. What is needed is one "
                    "bend more: one head with the feed-forward layer has {:.1f} %, two heads "
                    "without it {:.1f} %, one head alone {:.1f} %.",
                    s.queries, 100 * two_bent, 100 * one_bent, 100 * two, 100 * one)};
    return report;
}

}  // namespace

Experiment balanced_key() {
    return {
        "balanced_key",
        "Can one head pick the balanced key among (10, 0), (0, 10), (5, 5), (2, 2)?",
        "Not by its weights. A score is linear in the key and k3 = (k1 + k2) / 2, so that q . k3 "
        "is the mean of q . k1 and q . k2: never above both, whatever the query. With q . k1 = "
        "q . k2 = s the weight of k3 is 1 / (3 + e^(-0.6 s')), s' = s / sqrt(d_k): below 1/3, "
        "which it comes near as s grows. Two heads, each looking along one axis, and a "
        "feed-forward layer that combines what they found can do it. Whether the second head or "
        "the non-linear layer is what was missing, the trained models tell.\n\n"
        "Linear readings of the weights of one head are monotone along the line k1, k3, k2; "
        "two heads may subtract one from the other, which makes a hump.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
