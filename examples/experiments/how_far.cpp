// How far does information travel? Four kinds of networks with the same number of parameters copy
// symbols over 8 to 512 positions. The task and the Transformer are those of tasks/long_copy.h; the
// recurrent networks read with one LSTM or RNN and write with another.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/least_squares.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/tasks/long_copy.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {
namespace {

using examples::copy_batch;
using examples::CopyBatch;
using examples::CopyModel;
using examples::LongCopyOptions;

constexpr std::int64_t kBudget = 20'000;  // parameters

const std::vector<std::string> kNetworks{"RNN", "LSTM", "LSTM, Bahdanau", "Transformer"};

/// A network that copies: from a batch to logits [B, symbols, alphabet].
struct Copier {
    std::shared_ptr<Module> module;
    std::function<Tensor(const CopyBatch&)> logits;
};

// Reads symbols and silence, in one direction; then writes. Each symbol is asked for after the
// true ones before it, which say nothing of it.
Copier recurrent_copier(const LongCopyOptions& o, RecurrentCell cell, Alignment alignment,
                        std::int64_t width, Generator& generator) {
    const auto model = std::make_shared<Seq2Seq>(Seq2SeqConfig{.source_vocab = o.alphabet + 1,
                                                               .target_vocab = o.alphabet + 1,
                                                               .dim = 16,
                                                               .hidden = width,
                                                               .cell = cell,
                                                               .bidirectional = false,
                                                               .alignment = alignment},
                                                 generator);
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
                            name == "LSTM, Bahdanau" ? Alignment::bahdanau : Alignment::none, width,
                            generator);
}

// As wide as the budget allows.
Copier widest(const std::string& name, const LongCopyOptions& o) {
    Copier best = make_copier(name, o, 4);
    for (std::int64_t width = 6;; width += 2) {
        Copier next = make_copier(name, o, width);
        if (next.module->parameter_count() > kBudget) return best;
        best = std::move(next);
    }
}

struct Learned {
    double accuracy = 0;
    std::int64_t parameters = 0, steps = 0;
};

// Trains until all is right, or the steps are over.
Learned learn(const std::string& name, const LongCopyOptions& o) {
    const Copier copier = widest(name, o);
    AdamW optimizer(decay_groups(*copier.module, 0), {.lr = o.rate, .beta2 = 0.99});
    Generator data(o.seed + 1);
    const std::int64_t steps = train(
        optimizer,
        {.steps = o.steps,
         .schedule = warmup_cosine_schedule(
             {.rate = o.rate, .min_rate = o.rate / 20, .warmup = o.steps / 10, .steps = o.steps})},
        {.loss =
             [&] {
                 const CopyBatch batch = copy_batch(o, data);
                 return cross_entropy(copier.logits(batch), batch.targets);
             },
         .evaluate = {},
         .report = [](const StepMetrics& m) { return m.loss > 0.01; }});
    return {examples::copy_accuracy(copier.logits, o), copier.module->parameter_count(), steps};
}

// The largest |d (what comes out last) / d x_t| of a new network, for t counted from the end, over
// that at t = 1: [length]. In f64, for it may be as small as 1e-200.
std::vector<double> reach(const std::string& name, std::int64_t length, std::uint64_t seed) {
    constexpr std::int64_t width = 32;
    Generator generator(seed);
    const Tensor x = randn({1, length, width}, generator, DType::f64).set_requires_grad();
    const auto gradient = [&](Module& module, const std::function<Tensor()>& output) {
        module.to(DType::f64);
        Tape tape;
        const Tensor last = slice(output(), 1, length - 1, length);  // [1, 1, C]
        const Tensor g =
            tape.gradient(sum(last * randn(last.shape(), generator, DType::f64)), {x})[0];
        return max(abs(g), {0, 2}).to_vector<double>();  // [T]
    };
    std::vector<double> norms;
    if (name == "Transformer") {
        EncoderLayer layer({.dim = width, .heads = 2, .norm_first = true}, generator);
        norms = gradient(layer, [&] { return layer(x); });
    } else {
        const auto network =
            make_recurrent(name == "RNN" ? RecurrentCell::rnn : RecurrentCell::lstm,
                           {.input = width, .hidden = width}, generator);
        norms = gradient(*network, [&] { return (*network)(x).output; });
    }
    std::reverse(norms.begin(), norms.end());
    const double one_step = norms.at(1);
    for (double& norm : norms) norm /= one_step;
    return norms;
}

struct Row {
    std::string name;
    std::vector<Learned> learned;  // for each distance
    std::int64_t furthest = 0;     // distance up to which four of five symbols are right
};

std::vector<Row> compare(const std::vector<std::int64_t>& distances, LongCopyOptions o) {
    std::vector<Row> rows;
    for (const std::string& name : kNetworks) {
        Row row{name, {}};
        bool reached = true;
        for (const std::int64_t distance : distances) {
            o.distance = distance;
            row.learned.push_back(learn(name, o));
            reached = reached && row.learned.back().accuracy >= 0.8;
            if (reached) row.furthest = distance;
        }
        rows.push_back(row);
    }
    return rows;
}

Table accuracy_table(const std::vector<Row>& rows, const std::vector<std::int64_t>& distances,
                     const LongCopyOptions& o) {
    Table table{
        fmt::format("Symbols copied right ({} of {} kinds, {} steps at the most; guessing: "
                    "{:.1f} %)",
                    o.symbols, o.alphabet, o.steps, 100.0 / static_cast<double>(o.alphabet)),
        {"network"},
        {}};
    for (const std::int64_t distance : distances) table.columns.push_back(std::to_string(distance));
    table.columns.insert(table.columns.end(),
                         {"steps at the longest", "parameters, least", "parameters, most"});
    for (const Row& row : rows) {
        std::vector<Cell> cells{row.name};
        std::int64_t least = kBudget, most = 0;
        for (const Learned& learned : row.learned) {
            cells.push_back(percent(learned.accuracy));
            least = std::min(least, learned.parameters);
            most = std::max(most, learned.parameters);
        }
        cells.insert(cells.end(), {row.learned.back().steps, least, most});
        table.rows.push_back(cells);
    }
    return table;
}

Plot accuracy_plot(const std::vector<Row>& rows, const std::vector<std::int64_t>& distances) {
    Plot plot{.title = "Copying over a distance",
              .x = {.label = "positions between symbol and copy", .log = true},
              .y = {.label = "symbols right", .low = 0, .high = 1}};
    for (const Row& row : rows) {
        Series s{.name = row.name, .mark = Mark::line_and_points};
        for (std::size_t i = 0; i < distances.size(); ++i) {
            s.x.push_back(static_cast<double>(distances[i]));
            s.y.push_back(row.learned[i].accuracy);
        }
        plot.series.push_back(s);
    }
    return plot;
}

/// How gradients fade in networks that have not learned yet.
struct Fading {
    Table table{
        "Gradient of the last output with respect to the input d steps before, over that one "
        "step before; new networks of width 32, f64",
        {"network", "d = 8", "d = 32", "d = 128", "per step", "theory per step"},
        {}};
    Plot plot{.title = "How far a gradient reaches in a new network",
              .x = {.label = "steps back"},
              .y = {.label = "gradient, over that one step back", .log = true}};
};

Fading measure_fading(std::uint64_t seed) {
    Fading fading;
    for (const auto& [name, theory] :
         {std::pair{"RNN", "< 0.58"}, {"LSTM", "0.5 or more"}, {"Transformer", "1"}}) {
        const std::vector<double> all = reach(name, 129, seed);
        Series s{.name = name};
        for (std::size_t d = 1; d < all.size(); ++d) {
            s.x.push_back(static_cast<double>(d));
            s.y.push_back(all[d]);
        }
        const double factor = std::exp(fit_line(s.x, logs(s.y)).slope);
        fading.table.rows.push_back(
            {name, {all[8], 2}, {all[32], 2}, {all[128], 2}, fixed(factor, 3), theory});
        fading.plot.series.push_back(s);
    }
    return fading;
}

Report::Old judge(const std::vector<Row>& rows, std::int64_t longest, const Table& fading) {
    const auto furthest = [&](std::size_t i) { return rows[i].furthest; };
    const std::int64_t recurrent = std::max(furthest(0), furthest(1));
    const double rnn = fading.number("RNN", "per step"), lstm = fading.number("LSTM", "per step");
    const bool order = furthest(0) <= furthest(1) && recurrent < longest;
    const bool attend = furthest(2) == longest && furthest(3) == longest;
    const bool fade =
        rnn < lstm && lstm < 0.8 && std::abs(fading.number("Transformer", "per step") - 1) < 0.05;
    return {
        order && attend && fade,
        fmt::format("Four of five symbols are right over {} positions with the RNN, {} "
                    "with the LSTM, {} with Bahdanau's attention, {} with the Transformer, of {} "
                    "tried. A step back multiplies a new RNN's gradient by {:.2f} and an LSTM's "
                    "by {:.2f}: what is 128 steps away does not exist for their training. "
                    "Through attention nothing fades.",
                    furthest(0), furthest(1), furthest(2), furthest(3), longest, rnn, lstm)};
}

Report run(const Setting& setting) {
    const LongCopyOptions o{.symbols = 4,
                            .alphabet = 8,
                            .heads = 2,
                            .steps = 300,
                            .batch = 16,
                            .rate = 1e-2,
                            .seed = setting.seed};
    const std::vector<std::int64_t> distances =
        setting.pick<std::vector<std::int64_t>>({8, 16, 32, 128, 512}, {8, 64});
    const std::vector<Row> rows = compare(distances, o);
    const Fading fading = measure_fading(setting.seed);
    return {{accuracy_table(rows, distances, o), fading.table},
            {{"copying", "symbols copied right", svg(accuracy_plot(rows, distances))},
             {"fading", "gradients of new networks", svg(fading.plot)}},
            judge(rows, distances.back(), fading.table)};
}

}  // namespace

Experiment how_far() {
    return {
        "how_far",
        "How far does information travel?",
        "Between a symbol and its copy, d positions later, a recurrent network takes d steps, and "
        "each multiplies the gradient by the step's derivative. An RNN's is W_hh times tanh' <= 1; "
        "with entries uniform in +-1/sqrt(H) the largest eigenvalue of W_hh is near 1/sqrt(3) = "
        "0.58. Along an LSTM's cell it is the forget gate, which begins at sigmoid(0) = 1/2 and "
        "can learn to be 1, if anything of the gradient is left to learn from. Attention, "
        "Bahdanau's or the Transformer's, goes from any position to any other in one step.\n\n"
        "Sources: Bengio et al. 1994, \"Learning Long-Term Dependencies with Gradient Descent Is "
        "Difficult\"; Hochreiter and Schmidhuber 1997; Bahdanau et al. 2014; Vaswani et al. 2017, "
        "table 1; the task: Arjovsky et al. 2015.",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
