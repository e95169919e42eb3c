// How do gradients travel through a deep stack? The gradient norm in each layer of untrained
// Transformers, wired in four ways, with 2 to 32 layers.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/tapestry.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::deep_gradients {
namespace {

constexpr std::int64_t kDim = 64, kBatch = 8, kLength = 16, kClasses = 32;

enum class Wiring { bare, normed, residual, post_norm, pre_norm };

struct Way {
    Wiring wiring;
    std::string name, theory;
};

const std::vector<Way>& ways() {
    static const std::vector<Way> all{
        {Wiring::bare, "no residuals", "falls as c^depth"},
        {Wiring::normed, "no residuals, norms", "falls or grows as c^depth"},
        {Wiring::residual, "residuals, no norms", "-"},
        {Wiring::post_norm, "residuals, norm after", "last layer: the same at every depth"},
        {Wiring::pre_norm, "residuals, norm before", "last layer: 1 / sqrt(depth)"}};
    return all;
}

// Passes x through the parts of a layer, wired differently from the layer itself.
Tensor pass(const EncoderLayer& layer, const Tensor& x, Wiring wiring) {
    const auto attend = [&](const Tensor& h) { return layer.attention(h); };
    const auto work = [&](const Tensor& h) { return layer.feed_forward(h); };
    switch (wiring) {
        case Wiring::bare: return work(attend(x));
        case Wiring::normed: return layer.feed_forward_norm(work(layer.attention_norm(attend(x))));
        case Wiring::residual: {
            const Tensor h = x + attend(x);
            return h + work(h);
        }
        case Wiring::post_norm: {
            const Tensor h = layer.attention_norm(x + attend(x));
            return layer.feed_forward_norm(h + work(h));
        }
        case Wiring::pre_norm: {
            const Tensor h = x + attend(layer.attention_norm(x));
            return h + work(layer.feed_forward_norm(h));
        }
    }
    return {};
}

// Glorot's uniform initialization, which the theory assumes: +-sqrt(6 / (in + out)); the packed
// W_Q, W_K, W_V count as three matrices.
void initialise(Module& module, Generator& generator) {
    for (auto& [name, parameter] : module.named_parameters()) {
        if (parameter.rank() != 2) continue;
        const std::int64_t out =
            name.ends_with("qkv.weight") ? parameter.size(0) / 3 : parameter.size(0);
        const double bound = std::sqrt(6.0 / static_cast<double>(out + parameter.size(1)));
        parameter.copy_(uniform(parameter.shape(), -bound, bound, generator));
    }
}

// ||d loss / d W|| for the last matrix of each layer, starting with the first layer: [depth].
std::vector<double> gradient_norms(Wiring wiring, std::int64_t depth, std::uint64_t seed) {
    Generator generator(seed);
    Encoder encoder({.layers = depth, .layer = {.dim = kDim, .heads = 4}}, generator);
    Linear head(kDim, kClasses, true, generator);
    initialise(encoder, generator);
    initialise(head, generator);
    encoder.to(DType::f64);  // gradients after 32 layers may be tiny
    head.to(DType::f64);
    const Tensor x = randn({kBatch, kLength, kDim}, generator, DType::f64);
    const Tensor targets = randint(0, kClasses, {kBatch, kLength}, generator);
    Tape tape;
    Tensor h = x;
    for (const auto& layer : encoder.layers) h = pass(*layer, h, wiring);
    if (wiring == Wiring::pre_norm) h = layer_norm(h);
    tape.backward(cross_entropy(head(h), targets));
    std::vector<double> norms;
    for (const auto& layer : encoder.layers) {
        const Tensor& g = layer->feed_forward.down.weight.grad();
        norms.push_back(sqrt(sum(g * g)).item());
    }
    return norms;
}

// The geometric mean over four random stacks.
std::vector<double> mean_norms(Wiring wiring, std::int64_t depth, std::uint64_t seed) {
    constexpr int kStacks = 4;
    std::vector<double> mean(static_cast<std::size_t>(depth), 1);
    for (std::uint64_t i = 0; i < kStacks; ++i) {
        const std::vector<double> norms = gradient_norms(wiring, depth, 1000 * seed + i);
        for (std::size_t l = 0; l < norms.size(); ++l) mean[l] *= std::pow(norms[l], 1.0 / kStacks);
    }
    return mean;
}

std::vector<double> depths(const Setting& setting) {
    return setting.pick<std::vector<double>>({2, 4, 8, 16, 32}, {2, 4, 8, 16});
}

// Logarithms: their means over the seeds give geometric means.
Measured measure(Wiring wiring, const std::vector<double>& depths, std::uint64_t seed) {
    Measured m;
    std::vector<double> last, back, lows;
    for (const double depth : depths) {
        const auto norms = mean_norms(wiring, static_cast<std::int64_t>(depth), seed);
        last.push_back(norms.back());
        m.numbers[fmt::format("first of {}", depth)] = std::log(norms.front());
        if (depth < depths.back()) continue;
        for (const double norm : norms) {
            back.push_back(-static_cast<double>(back.size()));
            lows.push_back(std::log(std::max(norm, 1e-300)));
        }
    }
    m.curves["norms"] = lows;
    m.numbers["first"] = lows.front();
    m.numbers["last"] = lows.back();
    m.numbers["first / last"] = (lows.front() - lows.back()) / std::log(10);
    m.numbers["per layer"] = fit_line(back, lows).slope;
    m.numbers["exponent"] =
        exponent({depths.end() - 3, depths.end()}, {last.end() - 3, last.end()});
    return m;
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    for (const Way& way : ways()) {
        all.push_back({way.name, [=, d = depths(setting)](std::uint64_t seed) {
                           return measure(way.wiring, d, seed);
                       }});
    }
    return all;
}

// Geometric mean and interval of a number whose logarithm was measured.
Interval geometric(const Interval& logs, double base = std::exp(1)) {
    return {{std::pow(base, logs.mean), std::pow(base, logs.low), std::pow(base, logs.high),
             logs.count}};
}

Cell ranged(const Interval& i, int digits = 3) {
    Cell cell(fmt::format("{:.{}g} ({:.3g} to {:.3g})", i.mean, digits, i.low, i.high));
    cell.value = i.mean;
    cell.interval = i;
    return cell;
}

Table deepest_table(const Setting& setting, const Outcomes& o) {
    Table table{fmt::format("Gradient norms of {} layers before training: geometric means over new "
                            "stacks, and 95 % intervals",
                            depths(setting).back()),
                {"wiring", "first layer", "last layer", "first / last", "factor per layer back",
                 "last layer goes as depth to the", "theory"},
                {}};
    for (const Way& way : ways()) {
        const auto of = [&](const char* what) { return o.of(way.name, what); };
        table.rows.push_back(
            {way.name, ranged(geometric(of("first"))), ranged(geometric(of("last"))),
             ranged(geometric(of("first / last"), 10)), ranged(geometric(of("per layer"))),
             fixed(of("exponent"), 2), way.theory});
    }
    return table;
}

Table first_layer_table(const Setting& setting, const Outcomes& o) {
    Table table{"Gradient norm of the first layer, by depth", {"wiring"}, {}};
    for (const double depth : depths(setting)) table.columns.push_back(fmt::format("{}", depth));
    for (const Way& way : ways()) {
        table.rows.push_back({way.name});
        for (const double depth : depths(setting)) {
            table.rows.back().push_back(
                ranged(geometric(o.of(way.name, fmt::format("first of {}", depth)))));
        }
    }
    return table;
}

Plot plot_of(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = fmt::format("Gradients in a stack of {} layers", depths(setting).back()),
              .x = {.label = "layer"},
              .y = {.label = "gradient norm", .log = true}};
    for (const Way& way : ways()) {
        plot.series.push_back(exp_of(curve_of(o, way.name, "norms", 0)));
        plot.series.back().mark = Mark::line_and_points;
    }
    return plot;
}

const Design kNew = Design::drawn("the geometric mean of four new stacks");

Report report(const Setting& setting, const Outcomes& o) {
    const auto way = [&](Wiring wiring) {
        return std::ranges::find(ways(), wiring, &Way::wiring)->name;
    };
    const auto kept = [&](Wiring wiring) { return o.of(way(wiring), "first / last"); };
    return {.tables = {deepest_table(setting, o), first_layer_table(setting, o)},
            .figures = {{"layers", "the gradient's norm in each layer", svg(plot_of(setting, o))}},
            .decided = {{"vanishes", kept(Wiring::bare)},
                        {"norms_alone_do_not_help", kept(Wiring::normed)},
                        {"residuals_alone", kept(Wiring::residual)},
                        {"residuals_norm_after", kept(Wiring::post_norm)},
                        {"residuals_norm_before", kept(Wiring::pre_norm)},
                        {"last_layer_norm_after", o.of(way(Wiring::post_norm), "exponent")},
                        {"last_layer_norm_before", o.of(way(Wiring::pre_norm), "exponent")}}};
}

std::vector<Claim> claims() {
    const std::string kept = "logarithm to base 10 of the first layer's gradient over the last's";
    const std::string exponent = "exponent of the depth in the norm of the last layer's gradient";
    return {{"vanishes", "Without residuals and norms the gradient of a deep stack vanishes.", kept,
             below(-3), kNew},
            {"norms_alone_do_not_help",
             "Norms without residuals do not keep the gradient of a deep stack.", kept, below(-1),
             kNew},
            {"residuals_alone", "Residuals carry the gradient of a deep stack without norms.", kept,
             between(-1, 1), kNew},
            {"residuals_norm_after", "Residuals carry the gradient, with the norm after the sum.",
             kept, between(-1, 1), kNew},
            {"residuals_norm_before", "Residuals carry the gradient, with the norm before f.", kept,
             between(-1, 1), kNew},
            {"last_layer_norm_after",
             "With the norm after, the last layer's gradient is the same at every depth.", exponent,
             between(-0.25, 0.25), kNew},
            {"last_layer_norm_before",
             "With the norm before, the last layer's gradient falls as 1 / sqrt(depth).", exponent,
             between(-0.75, -0.25), kNew}};
}

}  // namespace

Experiment experiment() {
    return {
        "deep_gradients",
        "Where do gradients go in a deep stack?",
        "On its way back a gradient is multiplied by every layer's Jacobian. Without residuals "
        "these are products of matrices that shrink (relu by itself halves the square of the "
        "norm), "
        "and what arrives falls as c^depth: how fast is a matter of the initialisation, here "
        "Glorot's. x + f(x) has the Jacobian 1 + f', so "
        "that there is always the way around; without a norm the product may also grow. Where the "
        "norm stands matters: after the sum, the "
        "last layer's gradient is as large at every depth, which is why such models need a "
        "warm-up; before f, the sums grow along the stack and the final norm divides by them, so "
        "that it falls as 1 / sqrt(depth).\n\n"
        "Sources: He et al. 2015, \"Deep Residual Learning\"; Xiong et al. 2020, \"On Layer "
        "Normalization in the Transformer Architecture\", theorem 1.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::deep_gradients
