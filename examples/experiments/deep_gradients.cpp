// Where do gradients go in a deep stack? Transformer layers before any training, wired in four
// ways: the gradient's norm in each layer, over 2 to 32 layers.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/least_squares.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/tapestry.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kDim = 64, kBatch = 8, kLength = 16, kClasses = 32;

enum class Wiring { bare, normed, post_norm, pre_norm };

struct Way {
    Wiring wiring;
    std::string name, theory;
};

const std::vector<Way>& ways() {
    static const std::vector<Way> all{
        {Wiring::bare, "no residuals", "falls as c^depth"},
        {Wiring::normed, "no residuals, norms", "falls or grows as c^depth"},
        {Wiring::post_norm, "residuals, norm after", "last layer: the same at every depth"},
        {Wiring::pre_norm, "residuals, norm before", "last layer: 1 / sqrt(depth)"}};
    return all;
}

// x through the parts of a layer, joined in another way than the layer would.
Tensor pass(const EncoderLayer& layer, const Tensor& x, Wiring wiring) {
    const auto attend = [&](const Tensor& h) { return layer.attention(h); };
    const auto work = [&](const Tensor& h) { return layer.feed_forward(h); };
    switch (wiring) {
        case Wiring::bare: return work(attend(x));
        case Wiring::normed: return layer.feed_forward_norm(work(layer.attention_norm(attend(x))));
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

// Matrices uniform as Glorot's, as theory supposes: +-sqrt(6 / (in + out)); the packed W_Q, W_K,
// W_V are three.
void initialise(Module& module, Generator& generator) {
    for (auto& [name, parameter] : module.named_parameters()) {
        if (parameter.rank() != 2) continue;
        const std::int64_t out =
            name.ends_with("qkv.weight") ? parameter.size(0) / 3 : parameter.size(0);
        const double bound = std::sqrt(6.0 / static_cast<double>(out + parameter.size(1)));
        parameter.copy_(uniform(parameter.shape(), -bound, bound, generator));
    }
}

// ||d loss / d W|| for the last matrix of each layer, from the first layer on: [depth].
std::vector<double> gradient_norms(Wiring wiring, std::int64_t depth, std::uint64_t seed) {
    Generator generator(seed);
    Encoder encoder({.layers = depth, .layer = {.dim = kDim, .heads = 4}}, generator);
    Linear head(kDim, kClasses, true, generator);
    initialise(encoder, generator);
    initialise(head, generator);
    encoder.to(DType::f64);  // what is left after 32 layers may be very small
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

// The geometric mean over several stacks, whose gradients differ by chance.
std::vector<double> mean_norms(Wiring wiring, std::int64_t depth, const Setting& setting) {
    const int stacks = setting.pick(10, 4);
    std::vector<double> mean(static_cast<std::size_t>(depth), 1);
    for (int i = 0; i < stacks; ++i) {
        const std::vector<double> norms =
            gradient_norms(wiring, depth, 1000 * setting.seed + static_cast<std::uint64_t>(i));
        for (std::size_t l = 0; l < norms.size(); ++l) mean[l] *= std::pow(norms[l], 1.0 / stacks);
    }
    return mean;
}

struct Measured {
    std::vector<std::vector<double>> norms;  // for each depth
    double per_layer = 0;  // factor from a layer to the one before it, in the deepest stack
    double exponent = 0;   // a in depth^a, of the last layer's norm
};

Measured measure(Wiring wiring, const std::vector<double>& depths, const Setting& setting) {
    Measured m;
    std::vector<double> last, back, lows;
    for (const double depth : depths) {
        m.norms.push_back(mean_norms(wiring, static_cast<std::int64_t>(depth), setting));
        last.push_back(m.norms.back().back());
    }
    const std::vector<double>& deepest = m.norms.back();
    for (std::size_t i = 0; i < deepest.size(); ++i) {
        back.push_back(-static_cast<double>(i));
        lows.push_back(std::max(deepest[i], 1e-300));
    }
    m.per_layer = std::exp(fit_line(back, logs(lows)).slope);
    m.exponent = exponent({depths.end() - 3, depths.end()}, {last.end() - 3, last.end()});
    return m;
}

Report::Old judge(const std::vector<Measured>& m, double deepest) {
    const auto first_over_last = [&](std::size_t i) {
        return m[i].norms.back().front() / m[i].norms.back().back();
    };
    const bool vanish = first_over_last(0) < 1e-3;
    const bool post = std::abs(m[2].exponent) < 0.25, pre = std::abs(m[3].exponent + 0.5) < 0.2;
    const bool arrives = first_over_last(2) > 0.1 && first_over_last(3) > 0.1;
    return {
        vanish && arrives && post && pre,
        fmt::format(
            "At {} layers without residuals the first layer's gradient is {:.0e} of the last's, "
            "a factor of {:.2f} for each layer; norms alone already keep {:.2g} of it. With "
            "residuals it is {:.2g} of the last's where the norm comes after, and {:.2g} where it "
            "comes before. The last layer's gradient goes as depth^{:.2f} with "
            "the norm after (theory: 0) and depth^{:.2f} with the norm before (theory: -0.5).",
            deepest, first_over_last(0), m[0].per_layer, first_over_last(1), first_over_last(2),
            first_over_last(3), m[2].exponent, m[3].exponent)};
}

Report run(const Setting& setting) {
    const auto depths = setting.pick<std::vector<double>>({2, 4, 8, 16, 32}, {2, 4, 8, 16});
    std::vector<Measured> all;
    Table table{
        fmt::format("Gradient norms of {} layers before training, geometric means over stacks",
                    depths.back()),
        {"wiring", "first layer", "last layer", "first / last", "factor per layer back",
         "last layer goes as depth to the", "theory"},
        {}};
    Plot plot{.title = fmt::format("Gradients in a stack of {} layers", depths.back()),
              .x = {.label = "layer"},
              .y = {.label = "gradient norm", .log = true}};
    Table shallow{"Gradient norm of the first layer, by depth", {"wiring"}, {}};
    for (const double depth : depths) shallow.columns.push_back(fmt::format("{}", depth));
    for (const Way& way : ways()) {
        all.push_back(measure(way.wiring, depths, setting));
        const Measured& m = all.back();
        const std::vector<double>& deepest = m.norms.back();
        table.rows.push_back({way.name,
                              {deepest.front(), 3},
                              {deepest.back(), 3},
                              {deepest.front() / deepest.back(), 3},
                              fixed(m.per_layer, 3),
                              fixed(m.exponent, 2),
                              way.theory});
        Series s{.name = way.name, .mark = Mark::line_and_points};
        for (std::size_t i = 0; i < deepest.size(); ++i) {
            s.x.push_back(static_cast<double>(i + 1));
            s.y.push_back(std::max(deepest[i], 1e-300));
        }
        plot.series.push_back(s);
        std::vector<Cell> cells{way.name};
        for (const auto& norms : m.norms) cells.push_back({norms.front(), 3});
        shallow.rows.push_back(cells);
    }
    return {{table, shallow},
            {{"layers", "the gradient's norm in each layer", svg(plot)}},
            judge(all, depths.back())};
}

}  // namespace

Experiment deep_gradients() {
    return {
        "deep_gradients",
        "Where do gradients go in a deep stack?",
        "On its way back a gradient is multiplied by every layer's Jacobian. Without residuals "
        "these are products of matrices that shrink (relu alone halves the square of the norm), "
        "and what arrives falls with a power of the depth. x + f(x) has the Jacobian 1 + f', so "
        "that there is always the way around. Where the norm stands matters: after the sum, the "
        "last layer's gradient is as large at every depth, which is why such models need a "
        "warm-up; before f, the sums grow along the stack and the final norm divides by them, so "
        "that it falls as 1 / sqrt(depth).\n\n"
        "Sources: He et al. 2015, \"Deep Residual Learning\"; Xiong et al. 2020, \"On Layer "
        "Normalization in the Transformer Architecture\", theorem 1.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
