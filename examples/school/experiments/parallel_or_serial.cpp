// One step after another, or all at once? An RNN, an LSTM and a Transformer with equally many
// parameters read the same characters: the length of the chain of dependent operations, how much
// may run at once, and the cost of a token by length and by threads. Their learning is in
// parallel_or_serial_learning.cpp.
#include <tapestry/core/clock.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/experiments/parallel_or_serial.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/stories/stories.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::parallel_or_serial {
namespace {

constexpr std::int64_t kDim = 64;

/// Maps characters to logits of the next: a recurrent network between an embedding and a head.
class RecurrentReader : public Module {
public:
    Embedding characters;
    std::unique_ptr<Recurrent> network;
    Linear head;

    RecurrentReader(RecurrentCell cell, std::int64_t vocab, std::int64_t hidden, Generator& g)
        : Module("RecurrentReader"),
          characters(vocab, kDim, g),
          network(make_recurrent(cell, {.input = kDim, .hidden = hidden}, g)),
          head(hidden, vocab, true, g) {
        register_module("characters", characters);
        register_module("network", *network);
        register_module("head", head);
    }
    Tensor operator()(const Tensor& ids) const { return head((*network)(characters(ids)).output); }
};

Network transformer(std::int64_t vocab, Generator& g) {
    const auto model = std::make_shared<GPT>(GPTConfig{.vocab = vocab,
                                                       .context = kLongest,
                                                       .layers = 2,
                                                       .heads = 4,
                                                       .dim = kDim,
                                                       .positions = Positions::rotary,
                                                       .deviation = 0.08},
                                             g);
    return {model, [model](const Tensor& ids) { return (*model)(ids); }};
}

}  // namespace

Network make_network(const std::string& name, std::int64_t vocab, std::uint64_t seed) {
    Generator generator(seed);
    Network reference = transformer(vocab, generator);
    if (name == "Transformer") return reference;
    const RecurrentCell cell = name == "RNN" ? RecurrentCell::rnn : RecurrentCell::lstm;
    std::int64_t width = 64;
    for (std::int64_t wider = width;; wider += 4) {
        if (RecurrentReader(cell, vocab, wider, generator).parameter_count() >
            reference.module->parameter_count()) {
            break;
        }
        width = wider;
    }
    const auto model = std::make_shared<RecurrentReader>(cell, vocab, width, generator);
    return {model, [model](const Tensor& ids) { return (*model)(ids); }};
}

Tensor loss_of(const Network& network, const ReadText& text, std::int64_t length,
               Generator& generator) {
    const Batch batch = text.data->random_batch(Split::train, 16, length, generator);
    return cross_entropy(network.logits(batch.inputs), batch.targets);
}

namespace {

ReadText characters() {
    const std::string text = examples::write_stories(1, 400'000).text;
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    return {tokenizer.vocab_size(), std::make_shared<const TextData>(tokenizer.encode(text))};
}

/// A forward pass from characters to logits.
struct Pass {
    std::int64_t chain = 0;  ///< the longest chain of dependent recorded operations, which no
                             ///< number of processors shortens
    double flops = 0;        ///< all of its work
};

Pass pass_of(const Network& network, std::int64_t length) {
    Tape tape;
    network.logits(zeros({1, length}, DType::i64));
    std::map<int, std::int64_t> depth;  // by slot
    Pass pass;
    for (const auto& entry : tape.entries()) {
        pass.flops += entry->flops();
        std::int64_t before = 0;
        for (const auto& input : entry->inputs()) {
            if (input.slot >= 0) before = std::max(before, depth[input.slot]);
        }
        for (const auto& output : entry->outputs()) depth[output.slot] = before + 1;
        pass.chain = std::max(pass.chain, before + 1);
    }
    return pass;
}

std::int64_t longest_chain(const Network& network, std::int64_t length) {
    return pass_of(network, length).chain;
}

std::vector<std::int64_t> lengths(const Setting& s) {
    return s.quick ? std::vector<std::int64_t>{32, 128}
                   : std::vector<std::int64_t>{32, 64, 128, 256, 512};
}

// Microseconds per character, forward and backward, the best of `repetitions`.
double cost(const Network& network, const ReadText& text, std::int64_t length, int repetitions) {
    Generator generator(1);
    double best = 1e9;
    for (int i = 0; i < repetitions; ++i) {
        network.module->zero_grad();
        const auto start = Clock::now();
        Tape tape;
        tape.backward(loss_of(network, text, length, generator));
        best = std::min(best, seconds_since(start));
    }
    return 1e6 * best / static_cast<double>(16 * length);
}

Measured costs(const std::string& name, const ReadText& text, const Setting& s,
               std::uint64_t seed) {
    const Network network = make_network(name, text.vocab, seed);
    Measured m;
    for (const std::int64_t length : lengths(s)) {
        m.numbers[fmt::format("us, {}", length)] = cost(network, text, length, s.pick(4, 2));
    }
    const std::int64_t longest = lengths(s).back();
    const ThreadsGuard one(1);
    m.numbers["us, one thread"] = cost(network, text, longest, s.pick(4, 2));
    return m;
}

std::vector<Trial> trials(const Setting& s) {
    const ReadText text = characters();
    std::vector<Trial> all = learning_trials(s, text);
    for (const std::string name : kNetworks) {
        all.push_back({name + ", cost",
                       [=](std::uint64_t seed) { return costs(name, text, s, seed); }, true});
    }
    return all;
}

// The exponent of the chain's length over the text's length.
double chain_exponent(const std::string& name) {
    const Network network = make_network(name, 64, 1);
    std::vector<double> chains;
    for (const std::int64_t length : {64, 128, 256}) {
        chains.push_back(static_cast<double>(longest_chain(network, length)));
    }
    return exponent({64, 128, 256}, chains);
}

// A network's forward pass over 256 characters.
Pass pass_of_256(const std::string& name) { return pass_of(make_network(name, 64, 1), 256); }

// How much longer the LSTM's chain is than the Transformer's.
double chain_ratio() {
    return static_cast<double>(pass_of_256("LSTM").chain) /
           static_cast<double>(pass_of_256("Transformer").chain);
}

// The work that may run at once on average, however wide the machine: all over the longest chain.
double width_of_work(const std::string& name) {
    const Pass pass = pass_of_256(name);
    return pass.flops / static_cast<double>(pass.chain);
}

Plot cost_plot(const Setting& s, const Outcomes& o) {
    Plot plot{.title = "Forward and backward, all threads",
              .x = {.label = "characters in a row", .log = true},
              .y = {.label = "microseconds per character", .log = true}};
    for (const std::string name : kNetworks) {
        Series series{.name = name, .mark = Mark::line_and_points};
        for (const std::int64_t length : lengths(s)) {
            add_point(series, static_cast<double>(length),
                      o.of(name + ", cost", fmt::format("us, {}", length)));
        }
        plot.series.push_back(series);
    }
    return plot;
}

std::vector<Table> tables_of(const Setting& s, const Outcomes& o) {
    Table chain{"Operations that wait for one another, characters to logits",
                {"network", "64", "128", "256", "exponent", "MFLOP, 256",
                 "kFLOP at once: work over chain, 256"},
                {}};
    Table time{"Microseconds per character, forward and backward, 16 rows", {"network"}, {}};
    for (const std::int64_t length : lengths(s)) time.columns.push_back(std::to_string(length));
    time.columns.push_back("last, one thread");
    for (const std::string name : kNetworks) {
        const Network network = make_network(name, 64, 1);
        chain.rows.push_back({name, longest_chain(network, 64), longest_chain(network, 128),
                              longest_chain(network, 256), fixed(chain_exponent(name), 2),
                              fixed(pass_of(network, 256).flops / 1e6, 1),
                              fixed(width_of_work(name) / 1e3, 0)});
        const std::string cost = name + ", cost";
        time.rows.push_back({name});
        for (const std::int64_t length : lengths(s)) {
            time.rows.back().push_back(
                timed(significant(o.of(cost, fmt::format("us, {}", length)))));
        }
        time.rows.back().push_back(timed(significant(o.of(cost, "us, one thread"))));
    }
    return {chain, time};
}

const Design kExact = Design::computed();
const Design kClock = Design::clocked("a repetition on one machine, with another seed");

Report report(const Setting& s, const Outcomes& o) {
    const std::string longest = fmt::format("us, {}", lengths(s).back());
    const auto gain = [&](const std::string& name) {  // speedup of all threads over one
        return student(ratios(o.values(name + ", cost", "us, one thread"),
                              o.values(name + ", cost", longest)));
    };
    const auto times_slower = [&](const std::string& length) {
        return student(
            ratios(o.values("LSTM, cost", length), o.values("Transformer, cost", length)));
    };
    Report report{
        .tables = tables_of(s, o),
        .figures = {{"cost", "what a character costs, by the length of the row",
                     svg(cost_plot(s, o))}},
        .decided = {{"rnn_is_serial", exactly(chain_exponent("RNN"))},
                    {"lstm_is_serial", exactly(chain_exponent("LSTM"))},
                    {"transformer_is_parallel", exactly(chain_exponent("Transformer"))},
                    {"wide_machine", exactly(chain_ratio())},
                    {"more_at_once", exactly(width_of_work("Transformer") / width_of_work("LSTM"))},
                    {"faster_per_token", s.quick ? unmeasured() : times_slower(longest)},  // of 512
                    {"faster_per_token_128", times_slower("us, 128")},
                    {"by_orders_of_magnitude", times_slower(longest)},
                    {"transformer_uses_threads", gain("Transformer")},
                    {"lstm_uses_threads", gain("LSTM")}}};
    add_learning(s, o, report);
    return report;
}

std::vector<Claim> claims() {
    std::vector<Claim> all{
        {"rnn_is_serial", "An RNN's chain of operations grows with the length.",
         "exponent of the longest chain", between(0.9, 1.1), kExact},
        {"lstm_is_serial", "An LSTM's does.", "exponent of the longest chain", between(0.9, 1.1),
         kExact},
        {"transformer_is_parallel", "A Transformer's does not.", "exponent of the longest chain",
         below(0.05), kExact},
        {"wide_machine",
         "A machine so wide that only the chain counts would read 256 characters an order of "
         "magnitude faster with a Transformer than with an LSTM.",
         "longest chain of 256 characters, LSTM's over the Transformer's", above(10), kExact},
        {"more_at_once",
         "In reading 256 characters a Transformer has an order of magnitude more work that may run "
         "at once than an LSTM.",
         "work over longest chain of 256 characters, the Transformer's over the LSTM's", above(10),
         kExact},
        {"faster_per_token",
         "A token of a row of 512 costs the Transformer less than the LSTM, at equal parameters.",
         "time, LSTM's over the Transformer's", above(1), kClock},
        {"faster_per_token_128",
         "A token of a row of 128 costs the Transformer less than the LSTM, at equal parameters.",
         "time, LSTM's over the Transformer's", above(1), kClock},
        {"by_orders_of_magnitude", "It is cheaper by an order of magnitude, on this machine.",
         "time, LSTM's over the Transformer's", above(10), kClock},
        {"transformer_uses_threads",
         "All threads together are at least 1.3 times as fast as one, for the Transformer.",
         "time with one thread over that with all", above(1.3), kClock},
        {"lstm_uses_threads", "They are for the LSTM, too: at least 1.3 times as fast.",
         "time with one thread over that with all", above(1.3), kClock}};
    const std::vector<Claim> learning = learning_claims();
    all.insert(all.end(), learning.begin(), learning.end());
    return all;
}

}  // namespace

Experiment experiment() {
    return {
        "parallel_or_serial",
        "One step after the other, or all at once?",
        "A recurrent network's state at t needs that at t - 1: T steps must wait for one another, "
        "however many processors there are. A Transformer's layer works on all positions at once, "
        "in a number of steps that does not grow with T; its work does, by T^2. How much faster "
        "that "
        "makes the run depends on how many processors there are to fill: on thousands it is "
        "said to be orders of magnitude, on the two cores of this page it cannot be, unless small "
        "products leave even those idle. So the sentence has three meanings: which must wait for "
        "which, what a token costs on this machine, and what a machine so wide that only the "
        "longest chain counts would make of it. How much is learnt in a time is another question: "
        "each network is trained for the steps that fit into 4, 16 and 60 seconds, by the "
        "milliseconds of a step as measured on all threads, at the rate that is best after 16.\n\n"
        "Source: Vaswani et al. 2017, section 4 and table 1.",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::parallel_or_serial
