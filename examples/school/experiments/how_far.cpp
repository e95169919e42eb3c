// How far does information travel? Five kinds of network of equal size copy symbols over 8 to 64
// positions, each at its best rate; and how far gradients reach in untrained networks.
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/tasks/long_copy.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace tapestry::experiments::how_far {
namespace {

using examples::CopyBatch;
using examples::CopyModel;
using examples::LongCopyOptions;

// ---- networks that copy, all with the same number of parameters. The task and the Transformer are
// in tasks/long_copy.h; the recurrent networks read with one RNN or LSTM and write with another

constexpr std::int64_t kBudget = 20'000;  // parameters

// A model that maps a batch to logits [B, symbols, alphabet].
struct Copier {
    std::shared_ptr<Module> module;
    std::function<Tensor(const CopyBatch&)> logits;
};

// Adds `value` to the bias of an LSTM's forget gate: at 1, the gate starts at sigmoid(1) = 0.73
// instead of 1/2. Does nothing for other networks.
void set_forget_bias(Recurrent& network, double value) {
    if (!network.has_cell() || value == 0) return;
    const std::int64_t hidden = network.config().hidden;
    for (RecurrentWeights& w : network.weights) {  // gates in the order i, f, g, o
        Tensor forget = views::slice(w.bias_ih.detach(), 0, hidden, 2 * hidden);
        forget.copy_(forget.clone() + value);
    }
}

// Reads symbols and silence in one direction, then writes. The decoder gets the preceding true
// symbols, which tell next to nothing of the next.
Copier recurrent_copier(const LongCopyOptions& o, RecurrentCell cell, Alignment alignment,
                        double forget_bias, std::int64_t width, Generator& generator) {
    const auto model = std::make_shared<Seq2Seq>(Seq2SeqConfig{.source_vocab = o.alphabet + 1,
                                                               .target_vocab = o.alphabet + 1,
                                                               .dim = 16,
                                                               .hidden = width,
                                                               .cell = cell,
                                                               .bidirectional = false,
                                                               .alignment = alignment},
                                                 generator);
    set_forget_bias(*model->encoder, forget_bias);
    set_forget_bias(*model->decoder, forget_bias);
    return {model, [model, o](const CopyBatch& batch) {
                const Tensor begin =
                    full({batch.ids.size(0), 1}, static_cast<double>(o.alphabet), DType::i64);
                const Tensor before = slice(batch.targets, 1, 0, o.symbols - 1);
                const Tensor y =
                    (*model)(slice(batch.ids, 1, 0, o.distance), {}, concat({begin, before}, 1));
                return slice(y, 2, 0, o.alphabet);
            }};
}

Copier make_copier(const std::string& name, LongCopyOptions o, std::int64_t width) {
    Generator generator(o.seed);
    if (name == "Transformer") {
        o.dim = width;
        const auto model = std::make_shared<CopyModel>(o, AttentionFormFactory{}, generator);
        return {model, [model](const CopyBatch& batch) { return (*model)(batch.ids); }};
    }
    return recurrent_copier(o, name == "RNN" ? RecurrentCell::rnn : RecurrentCell::lstm,
                            name == "LSTM, Bahdanau" ? Alignment::bahdanau : Alignment::none,
                            name == "LSTM, forget bias 1" ? 1 : 0, width, generator);
}

const std::vector<std::string>& copier_names() {
    static const std::vector<std::string> names{"RNN", "LSTM, forget bias 0", "LSTM, forget bias 1",
                                                "LSTM, Bahdanau", "Transformer"};
    return names;
}

// As wide as the budget of 20,000 parameters allows.
Copier widest_copier(const std::string& name, const LongCopyOptions& o) {
    Copier best = make_copier(name, o, 4);
    for (std::int64_t width = 6;; width += 2) {
        Copier next = make_copier(name, o, width);
        if (next.module->parameter_count() > kBudget) return best;
        best = std::move(next);
    }
}

// ---- the experiment

constexpr std::int64_t kReach = 129;  // positions of the untrained networks
const std::vector<std::string> kNew{"RNN", "LSTM, forget bias 0", "LSTM, forget bias 1",
                                    "Transformer"};

std::vector<std::int64_t> distances(const Setting& setting) {
    return setting.pick<std::vector<std::int64_t>>({8, 16, 32, 64}, {16, 32});
}

std::string copy_name(const std::string& network, std::int64_t distance) {
    return fmt::format("{}, {} positions", network, distance);
}

std::string new_name(const std::string& network) { return "new " + network; }

// Sequences of one side of a split by hash: one in four occurs in no training. There are 4096, and
// a run draws more than that.
CopyBatch batch_of(bool held_out, const LongCopyOptions& o, Generator& generator) {
    std::vector<std::int64_t> symbols;
    while (std::ssize(symbols) < o.batch * o.symbols) {
        std::string sequence;
        std::vector<std::int64_t> drawn;
        for (std::int64_t i = 0; i < o.symbols; ++i) {
            drawn.push_back(
                static_cast<std::int64_t>(static_cast<double>(o.alphabet) * generator.uniform()));
            sequence += static_cast<char>('0' + drawn.back());
        }
        if (examples::held_out(sequence, 4) != held_out) continue;
        symbols.insert(symbols.end(), drawn.begin(), drawn.end());
    }
    const Tensor targets = tensor(symbols, {o.batch, o.symbols});
    const Tensor silence = full({o.batch, o.distance}, static_cast<double>(o.alphabet), DType::i64);
    return {concat({targets, silence}, 1), targets};
}

// The share of symbols that are right, and the loss.
std::pair<double, double> examine(const Copier& copier, const CopyBatch& batch) {
    const NoGradGuard no_grad;
    const Tensor logits = copier.logits(batch);
    const Tensor right = to(eq(argmax(logits), batch.targets), DType::f64);
    return {mean(right).item(), cross_entropy(logits, batch.targets).item()};
}

Measured copied(const std::string& name, LongCopyOptions o) {
    const Copier copier = widest_copier(name, o);
    AdamW optimizer(decay_groups(*copier.module, 0), {.lr = o.rate, .beta2 = 0.99});
    Generator data(o.seed + 1000), other(o.seed + 2000);
    LongCopyOptions asked = o;
    asked.batch = 256;
    const CopyBatch unseen = batch_of(true, asked, other);
    Measured m;
    m.numbers["parameters"] = static_cast<double>(copier.module->parameter_count());
    m.numbers["right, untrained"] = examine(copier, unseen).first;
    m.numbers["steps"] = static_cast<double>(o.steps);  // until the loss is below 0.01
    train(
        optimizer,
        {.steps = o.steps,
         .schedule = warmup_cosine_schedule(
             {.rate = o.rate, .min_rate = o.rate / 20, .warmup = o.steps / 10, .steps = o.steps})},
        {.loss =
             [&] {
                 const CopyBatch batch = batch_of(false, o, data);
                 return cross_entropy(copier.logits(batch), batch.targets);
             },
         .evaluate = {},
         .report =
             [&](const StepMetrics& step) {
                 double& first = m.numbers["steps"];
                 if (step.loss < 0.01) first = std::min(first, static_cast<double>(step.step));
                 return true;
             }});
    const auto [right, loss] = examine(copier, unseen);
    m.numbers["right"] = right;
    m.numbers["loss"] = loss;
    return m;
}

// The largest |d (last output) / d x_t| of an untrained network, for t counted from the end,
// relative to t = 1: [length]. In f64, since it may be as small as 1e-200. The Transformer's input
// includes positions, without which all distant inputs would look alike.
std::vector<double> reach(const std::string& name, std::uint64_t seed) {
    constexpr std::int64_t width = 32;
    Generator generator(seed);
    const Tensor x = randn({1, kReach, width}, generator, DType::f64).set_requires_grad();
    const auto gradient = [&](Module& module, const std::function<Tensor()>& output) {
        module.to(DType::f64);
        Tape tape;
        const Tensor last = slice(output(), 1, kReach - 1, kReach);  // [1, 1, C]
        const Tensor g =
            tape.gradient(sum(last * randn(last.shape(), generator, DType::f64)), {x})[0];
        return max(abs(g), {0, 2}).to_vector<double>();  // [T]
    };
    std::vector<double> norms;
    if (name == "Transformer") {
        EncoderLayer layer({.dim = width, .heads = 2, .norm_first = true}, generator);
        const Tensor positions = sinusoidal_positions(kReach, width, 0, DType::f64);
        norms = gradient(layer, [&] { return layer(x + positions); });
    } else {
        const auto network =
            make_recurrent(name == "RNN" ? RecurrentCell::rnn : RecurrentCell::lstm,
                           {.input = width, .hidden = width}, generator);
        set_forget_bias(*network, name == "LSTM, forget bias 1" ? 1 : 0);
        norms = gradient(*network, [&] { return (*network)(x).output; });
    }
    std::reverse(norms.begin(), norms.end());
    const double one_step = norms.at(1);
    for (double& norm : norms) norm /= one_step;
    return norms;
}

Measured faded(const std::string& name, std::uint64_t seed) {
    const std::vector<double> all = reach(name, seed);
    std::vector<double> steps, norms(all.begin() + 1, all.end());
    for (std::size_t d = 1; d < all.size(); ++d) steps.push_back(static_cast<double>(d));
    return {{{"8", all[8]},
             {"32", all[32]},
             {"128", all[128]},
             {"per step", std::exp(fit_line(steps, logs(norms)).slope)}},
            {{"fading", logs(norms)}}};
}

// What never learns has no best rate but the slowest: so the search for those begins wide.
std::vector<double> rates(const std::string& network, std::int64_t distance) {
    const bool attends = network == "Transformer" || network == "LSTM, Bahdanau";
    if (attends || distance < 32) return {4e-3, 1e-2, 2.5e-2};
    return {6.4e-4, 1.6e-3, 4e-3, 1e-2, 2.5e-2};
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    for (const std::string& name : copier_names()) {
        for (const std::int64_t distance : distances(setting)) {
            all.push_back(swept(setting, copy_name(name, distance), rates(name, distance),
                                [=](std::uint64_t seed, double rate) {
                                    return copied(name, {.distance = distance,
                                                         .symbols = 4,
                                                         .alphabet = 8,
                                                         .heads = 2,
                                                         .steps = 300,
                                                         .batch = 16,
                                                         .rate = rate,
                                                         .seed = seed});
                                }));
        }
    }
    for (const std::string& name : kNew) {
        all.push_back({new_name(name), [=](std::uint64_t seed) { return faded(name, seed); }});
    }
    return all;
}

Table accuracy_table(const Setting& setting, const Outcomes& o) {
    Table table{
        "Symbols of unseen sequences copied right (4 symbols of 8 kinds, 300 steps; guessing: 12.5 "
        "%)",
        {"network", "parameters", "untrained"},
        {}};
    for (const std::int64_t d : distances(setting)) table.columns.push_back(std::to_string(d));
    table.columns.push_back("steps to a loss of 0.01 at the longest, 300 if never");
    for (const std::string& name : copier_names()) {
        const auto at = [&](std::int64_t d) { return copy_name(name, d); };
        const std::string nearest = at(distances(setting).front());
        table.rows.push_back({name, std::llround(o.of(nearest, "parameters").mean),
                              percent(o.of(nearest, "right, untrained"))});
        for (const std::int64_t d : distances(setting)) {
            table.rows.back().push_back(percent(o.of(at(d), "right")));
        }
        table.rows.back().push_back(fixed(o.of(at(distances(setting).back()), "steps"), 0));
    }
    return table;
}

Table fading_table(const Outcomes& o) {
    Table table{
        "Gradient of the last output with respect to the input d steps before, over that "
        "one step before; new networks of width 32, f64",
        {"network", "d = 8", "d = 32", "d = 128", "per step", "theory per step"},
        {}};
    constexpr const char* theory[] = {"< 0.58", "0.5 or more", "0.73 or more", "1"};
    for (std::size_t i = 0; i < kNew.size(); ++i) {
        const std::string name = new_name(kNew[i]);
        table.rows.push_back({kNew[i], significant(o.of(name, "8"), 2),
                              significant(o.of(name, "32"), 2), significant(o.of(name, "128"), 2),
                              fixed(o.of(name, "per step"), 3), theory[i]});
    }
    return table;
}

Plot accuracy_plot(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = "Copying over a distance",
              .x = {.label = "positions between symbol and copy", .log = true},
              .y = {.label = "symbols right", .low = 0, .high = 1}};
    for (const std::string& name : copier_names()) {
        Series s{.name = name, .mark = Mark::line_and_points};
        for (const std::int64_t d : distances(setting)) {
            add_point(s, static_cast<double>(d), o.of(copy_name(name, d), "right"));
        }
        plot.series.push_back(s);
    }
    return plot;
}

Plot fading_plot(const Outcomes& o) {
    Plot plot{.title = "How far a gradient reaches in a new network",
              .x = {.label = "steps back"},
              .y = {.label = "gradient, over that one step back", .log = true}};
    for (const std::string& name : kNew) {
        plot.series.push_back(exp_of(curve_of(o, new_name(name), "fading")));
        plot.series.back().name = name;
        plot.series.back().colour = name == kNew.back() ? 4 : -1;  // as in the other picture
    }
    return plot;
}

// Designs of the claims.
constexpr const char* kUntrained = "12.5 % right, as by guessing, in the table";
const Design kNewNetwork = Design::drawn("a new network");
Design at_longest(const char* network) {
    return Design::trained(
        {.arms = {copy_name(network, distances({}).back())}, .control = kUntrained});
}
Design against_rnn(const char* network) {
    return Design::compared({.arms = {copy_name(network, 16), copy_name("RNN", 16)},
                             .score = "right",
                             .control = kUntrained});
}

Report report(const Setting& setting, const Outcomes& o) {
    const std::int64_t longest = distances(setting).back();
    const auto right = [&](const std::string& network, std::int64_t d) {
        return o.values(copy_name(network, d), "right");
    };
    const auto per_step = [&](const std::string& network) {
        return o.values(new_name(network), "per step");
    };
    Report report{.tables = {accuracy_table(setting, o), fading_table(o)},
                  .figures = {{"copying", "symbols copied right", svg(accuracy_plot(setting, o))},
                              {"fading", "gradients of new networks", svg(fading_plot(o))}}};
    report.decided = {
        {"rnn_fades", student(per_step("RNN"))},
        {"gates_ease", student(differences(per_step("LSTM, forget bias 0"), per_step("RNN")))},
        {"bias_eases", student(per_step("LSTM, forget bias 1"))},
        {"attention_does_not_fade", student(per_step("Transformer"))},
        {"rnn_loses", student(right("RNN", longest))},
        {"rnn_learns_nothing", student(right("RNN", longest))},
        {"lstm_outreaches",
         student(differences(right("LSTM, forget bias 0", 16), right("RNN", 16)))},
        {"bias_outreaches",
         student(differences(right("LSTM, forget bias 1", 16), right("RNN", 16)))},
        {"bahdanau_reaches", student(right("LSTM, Bahdanau", longest))},
        {"transformer_reaches", student(right("Transformer", longest))}};
    return report;
}

std::vector<Claim> claims() {
    return {{"rnn_fades",
             "A step back shrinks a new RNN's gradient at least as much as its largest eigenvalue.",
             "factor per step", below(0.58), kNewNetwork},
            {"gates_ease", "The gates of a new LSTM ease the fading.",
             "factor per step, LSTM with forget bias 0 less RNN", above(0.05), kNewNetwork},
            {"bias_eases", "With a forget bias of 1 a step keeps at least about sigmoid(1) = 0.73.",
             "factor per step", above(0.7), kNewNetwork},
            {"attention_does_not_fade", "Through a new layer of attention nothing fades.",
             "factor per step, positions in the input", between(0.99, 1.01), kNewNetwork},
            {"rnn_loses", "An RNN does not copy over the longest distance.", "symbols right",
             below(0.5), at_longest("RNN")},
            {"rnn_learns_nothing", "What is that far away does not exist for an RNN's training.",
             "symbols right at the longest distance; guessing is 0.125", below(0.145),
             at_longest("RNN")},
            {"lstm_outreaches", "An LSTM copies better than an RNN over 16 positions.",
             "symbols right, LSTM with forget bias 0 less RNN", above(0.02),
             against_rnn("LSTM, forget bias 0")},
            {"bias_outreaches",
             "An LSTM with a forget bias of 1 copies better than an RNN over 16 positions.",
             "symbols right over 16 positions, LSTM with forget bias 1 less RNN", above(0.02),
             against_rnn("LSTM, forget bias 1")},
            {"bahdanau_reaches", "With Bahdanau's attention an LSTM copies over 64 positions.",
             "symbols right at the longest", above(0.95), at_longest("LSTM, Bahdanau")},
            {"transformer_reaches", "A Transformer copies over 64 positions.",
             "symbols right at the longest", above(0.95), at_longest("Transformer")}};
}

}  // namespace

Experiment experiment() {
    return {
        "how_far",
        "How far does information travel?",
        "Between a symbol and its copy, d positions later, a recurrent network takes d steps, and "
        "each multiplies the gradient by the step's derivative. An RNN's is W_hh times tanh' <= 1; "
        "with entries uniform in +-1/sqrt(H) the largest eigenvalue of W_hh is near 1/sqrt(3) = "
        "0.58. Along an LSTM's cell it is the forget gate, which begins at sigmoid(0) = 1/2, or at "
        "sigmoid(1) = 0.73 with a bias of 1, and can learn to be 1, if anything of the gradient is "
        "left to learn from. Attention, Bahdanau's or the Transformer's, goes from any position to "
        "any other in one step. A new layer's attention treats all that is far nearly alike, so "
        "that its flat line shows little; what trained networks copy shows more.\n\n"
        "Sources: Bengio et al. 1994, \"Learning Long-Term Dependencies with Gradient Descent Is "
        "Difficult\"; Hochreiter and Schmidhuber 1997; forget bias: Gers et al. 2000, Jozefowicz "
        "et al. 2015; Bahdanau et al. 2014; Vaswani et al. 2017, table 1; the task: Arjovsky et "
        "al. 2015.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::how_far
