// What if training goes wrong? Four mistakes made on purpose in the training of a small language
// model of stories, beside the same training without them.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/story_model.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

/// Token and position vectors, a stack of layers, logits: a GPT whose layers may lack what makes it
/// one.
class Reader : public Module {
public:
    Embedding token;
    PositionalEncoding position;
    Encoder encoder;
    Linear head;

    Reader(const StoryText& text, const TransformerLayerConfig& layer, std::int64_t layers,
           Generator& generator)
        : Module("Reader"),
          token(text.table.size(), layer.dim, generator),
          position(Positions::learned, kContext, layer.dim, generator),
          encoder({.layers = layers, .layer = layer, .final_norm = layer.norm_first}, generator),
          head(layer.dim, text.table.size(), true, generator) {
        register_module("token", token);
        register_module("position", position);
        register_module("encoder", encoder);
        register_module("head", head);
    }
    Tensor operator()(const Tensor& ids) const { return head(encoder(position(token(ids)))); }

    static constexpr std::int64_t kContext = 32;
};

/// A training, right or wrong.
struct Recipe {
    std::string name;
    double rate = 3e-3;
    std::int64_t warmup = 20;
    bool causal = true;
    bool zero_grad = true;
    std::int64_t layers = 2;
    bool norm_first = true;
};

struct Outcome {
    std::vector<double> losses;  // of each step, up to the first that is not finite
    double trained = 0;          // mean of the last ten
    double alone = 0;            // held out, with a model that sees only what comes before a word
    double grad_norm = 0;        // at the end
};

// The loss of the word after each beginning of a piece, where the model is given that beginning
// alone: what it would have to do to write. With a causal model it is the ordinary loss.
double loss_alone(const Reader& model, const StoryText& text) {
    const NoGradGuard no_grad;
    Generator generator(1);
    const Batch batch = text.data.random_batch(Split::validation, 32, Reader::kContext, generator);
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t length = 4; length <= Reader::kContext; length += 4, ++count) {
        const Tensor logits = model(slice(batch.inputs, 1, 0, length));
        sum += cross_entropy(slice(logits, 1, length - 1, length),
                             slice(batch.targets, 1, length - 1, length))
                   .item();
    }
    return sum / static_cast<double>(count);
}

Outcome train_as(const Recipe& recipe, const StoryText& text, const Setting& setting) {
    const std::int64_t steps = setting.pick(250, 100);
    Generator weights(setting.seed), data(setting.seed + 1);
    Reader model(text,
                 {.dim = 64, .heads = 4, .norm_first = recipe.norm_first, .causal = recipe.causal},
                 recipe.layers, weights);
    AdamW optimizer(decay_groups(model, 0), {.lr = recipe.rate, .beta2 = 0.99});
    const auto batch_loss = [&] {
        const Batch batch = text.data.random_batch(Split::train, 16, Reader::kContext, data);
        return cross_entropy(model(batch.inputs), batch.targets);
    };
    TrainStep train_step(optimizer, {.clip = 0});
    Outcome outcome;
    for (std::int64_t step = 0; step < steps; ++step) {  // phase by phase, to leave one out
        if (recipe.zero_grad) train_step.zero_grad();
        const double loss = train_step.gradients(batch_loss);
        outcome.grad_norm = train_step.norm();
        if (!std::isfinite(loss) || !std::isfinite(outcome.grad_norm)) break;
        outcome.losses.push_back(loss);
        const double rise = static_cast<double>(step + 1) / static_cast<double>(recipe.warmup);
        train_step.update(recipe.rate * std::min(1.0, rise), outcome.grad_norm);
    }
    const std::size_t last = std::min<std::size_t>(10, outcome.losses.size());
    for (std::size_t i = outcome.losses.size() - last; i < outcome.losses.size(); ++i) {
        outcome.trained += outcome.losses[i] / static_cast<double>(last);
    }
    outcome.alone = loss_alone(model, text);
    return outcome;
}

const std::vector<Recipe>& recipes() {
    static const std::vector<Recipe> all{
        {.name = "right"},
        {.name = "rate 100 times as high", .rate = 0.3},
        {.name = "deep, norm after", .rate = 4e-3, .warmup = 60, .layers = 6, .norm_first = false},
        {.name = "the same, no warm-up",
         .rate = 4e-3,
         .warmup = 1,
         .layers = 6,
         .norm_first = false},
        {.name = "no mask", .causal = false},
        {.name = "no zero_grad", .zero_grad = false}};
    return all;
}

Plot plot_of(const std::vector<Outcome>& outcomes) {
    Plot plot{.title = "Six trainings", .x = {.label = "step"}, .y = {.label = "loss", .low = 0}};
    plot.y.high = 10;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        Series s{.name = recipes()[i].name, .dashed = i == 0 || i == 2};
        double smooth = outcomes[i].losses.front();
        for (std::size_t step = 0; step < outcomes[i].losses.size(); ++step) {
            smooth = 0.8 * smooth + 0.2 * outcomes[i].losses[step];
            s.x.push_back(static_cast<double>(step + 1));
            s.y.push_back(std::min(smooth, 10.0));
        }
        plot.series.push_back(s);
    }
    return plot;
}

Report::Old judge(const std::vector<Outcome>& o, double knowing_nothing) {
    const bool high = o[1].trained > o[0].trained + 1;
    const bool cold = o[3].trained > o[2].trained + 0.3;
    const bool cheats = o[4].trained < o[0].trained - 0.3 && o[4].alone > o[0].alone + 0.5;
    const bool stale = o[5].trained > o[0].trained + 0.3;
    return {
        high && cold && cheats && stale,
        fmt::format(
            "Right: {:.2f} nats per word (knowing nothing: {:.2f}). Rate 100 times as high: "
            "{:.2f}. Six layers with the norm after: {:.2f} with warm-up, {:.2f} without it: {}. "
            "Without mask {:.2f} in training, but {:.2f} where the next word is not there to be "
            "copied (right: {:.2f}). Without zero_grad {:.2f}: {}.",
            o[0].trained, knowing_nothing, o[1].trained, o[2].trained, o[3].trained,
            cold ? "it does not learn" : "this one survives", o[4].trained, o[4].alone, o[0].alone,
            o[5].trained,
            stale ? "old gradients outweigh the new"
                  : "Adam divides by their size, and the harm is small")};
}

Report run(const Setting& setting) {
    const StoryText text = story_text(200'000);
    std::vector<Outcome> outcomes;
    Table table{"Trainings, loss in nats per word",
                {"training", "first step", "last ten steps", "held out, later words hidden",
                 "gradient norm at the end", "finite steps"},
                {}};
    for (const Recipe& recipe : recipes()) {
        outcomes.push_back(train_as(recipe, text, setting));
        const Outcome& o = outcomes.back();
        table.rows.push_back({recipe.name, fixed(o.losses.front(), 2), fixed(o.trained, 2),
                              fixed(o.alone, 2), Cell(o.grad_norm, 3), o.losses.size()});
    }
    const double knowing_nothing = std::log(static_cast<double>(text.table.size()));
    return {{table},
            {{"losses", "the loss in six trainings, smoothed", svg(plot_of(outcomes))}},
            judge(outcomes, knowing_nothing)};
}

}  // namespace

Experiment what_goes_wrong() {
    return {
        "what_goes_wrong",
        "What if training goes wrong?",
        "Four mistakes, and what each does. A learning rate far too high: every step jumps over "
        "the valley, and the loss stays high. No warm-up where the norm comes after the sum: "
        "gradients are large at first and Adam's averages are of few steps; the model is thrown "
        "to where it does not learn. No mask: every word can look at its successor, which is the "
        "answer; the loss falls nearly to 0, and the model cannot write. A forgotten zero_grad: "
        "each step follows the sum of all gradients since the first one, as if with a momentum "
        "that never fades.\n\n"
        "Sources: Goodfellow et al. 2016, \"Deep Learning\", section 8.3; Xiong et al. 2020, \"On "
        "Layer Normalization in the Transformer Architecture\"; Vaswani et al. 2017, section "
        "3.2.3.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
