// The losses of an RNN, an LSTM and a Transformer after the same time and after the same steps,
// each at its best learning rate. Implements the second part of parallel_or_serial.h.
#include <tapestry/core/clock.h>
#include <tapestry/examples/school/experiments/parallel_or_serial.h>
#include <tapestry/examples/school/experiments/plot.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tapestry::experiments::parallel_or_serial {
namespace {

constexpr std::int64_t kRow = 128;        // characters
constexpr std::int64_t kLongRuns = 5;     // seeds that are trained for the longest time
constexpr double kEach = 16, kLong = 60;  // seconds
constexpr double kWarmUp = 50;            // steps

// The seconds and the steps after which the loss is measured.
constexpr double kTimes[] = {1, 2, 4, 8, 16, 32, 60};
constexpr double kQuick = 0.25;
constexpr std::int64_t kSteps[] = {250, 1000, 3000};
constexpr double kJudged[] = {4, 16, 60};

std::string after_seconds(double seconds) { return fmt::format("loss, {} s", seconds); }
std::string after_steps(std::int64_t steps) { return fmt::format("loss, {} steps", steps); }

/// A network that is being trained: steps of AdamW with clipped gradients and the schedule of
/// Vaswani et al. 2017, whose rate falls with the root of the steps and knows no end. So one run
/// tells the loss after any time.
class Training {
public:
    Training(const std::string& name, const ReadText& text, double rate, std::uint64_t seed)
        : network_(make_network(name, text.vocab, seed)),
          text_(text),
          data_(seed + 1),
          rate_(rate),
          optimizer_(decay_groups(*network_.module, 0.01), {.lr = rate, .beta2 = 0.99}),
          step_(optimizer_, {.clip = 1}) {}

    // False for a step that is not finite, which is not taken.
    bool take_step() {
        step_.zero_grad();
        const double loss = step_.gradients([&] { return loss_of(network_, text_, kRow, data_); });
        const double norm = step_.norm();
        if (!std::isfinite(loss) || !std::isfinite(norm)) return false;
        const double t = static_cast<double>(++steps_) / kWarmUp;
        step_.update(rate_ * std::min(t, 1 / std::sqrt(t)), norm);
        return true;
    }

    // Held out, nats per character; at most that of guessing.
    double loss() const {
        const NoGradGuard no_grad;
        Generator held_out(1);
        const Batch batch = text_.data->random_batch(Split::validation, 64, kRow, held_out);
        const double loss = cross_entropy(network_.logits(batch.inputs), batch.targets).item();
        const double guessing = std::log(static_cast<double>(text_.vocab));
        return std::isfinite(loss) ? std::min(guessing, loss) : guessing;
    }

    std::int64_t parameters() const { return network_.module->parameter_count(); }

private:
    Network network_;
    const ReadText& text_;
    Generator data_;
    double rate_;
    AdamW optimizer_;
    TrainStep step_;
    std::int64_t steps_ = 0;
};

// The median of a few steps after the first of them, in milliseconds, on all threads.
double median_step(const std::string& name, const ReadText& text, int steps) {
    Training training(name, text, 1e-3, 1);
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
        const auto start = Clock::now();
        training.take_step();
        if (i >= steps / 5) times.push_back(1e3 * seconds_since(start));
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
}

// Milliseconds of a step of each network. They are measured alternately and the least is taken, so
// what disturbs the machine for a while lengthens no network's steps.
std::map<std::string, double> milliseconds_of_steps(const Setting& s, const ReadText& text) {
    std::map<std::string, double> least;
    for (int round = 0; round < s.pick(5, 1); ++round) {
        for (const char* network : kNetworks) {
            const double now = median_step(network, text, s.pick(40, 5));
            const auto [at, is_new] = least.emplace(network, now);
            if (!is_new) at->second = std::min(at->second, now);
        }
    }
    return least;
}

// The steps of each time up to `seconds`, and those of kSteps up to `seconds` or, in runs that are
// judged, to kSteps[1], after which losses are compared.
std::map<std::int64_t, std::vector<std::string>> moments(double seconds, double milliseconds,
                                                         bool is_judged) {
    std::map<std::int64_t, std::vector<std::string>> all;
    const auto steps_in = [&](double time) {
        return std::max<std::int64_t>(1, std::llround(1e3 * time / milliseconds));
    };
    for (const double time : kTimes) {
        if (time < seconds) all[steps_in(time)].push_back(after_seconds(time));
    }
    const std::int64_t last = steps_in(seconds);
    all[last].push_back(after_seconds(seconds));
    all[last].emplace_back("loss");
    for (const std::int64_t steps : kSteps) {
        if (steps <= last || (is_judged && steps <= kSteps[1])) {
            all[steps].push_back(after_steps(steps));
        }
    }
    return all;
}

// Trains for the steps that fit into `seconds`. Numbers: the losses after times and steps, "loss"
// at the end.
Measured learn(const std::string& name, const ReadText& text, double seconds, double milliseconds,
               double rate, std::uint64_t seed) {
    Training training(name, text, rate, seed);
    Measured m{{{"ms", milliseconds}, {"parameters", static_cast<double>(training.parameters())}}};
    std::int64_t steps = 0;
    bool is_finite = true;
    const bool is_judged = seconds >= kEach && seed < kTuningSeeds;
    for (const auto& [moment, names] : moments(seconds, milliseconds, is_judged)) {
        for (; steps < moment && is_finite; ++steps) is_finite = training.take_step();
        const double loss = is_finite ? training.loss() : std::log(static_cast<double>(text.vocab));
        for (const std::string& number : names) m.numbers[number] = loss;
    }
    return m;
}

// The values of the seeds that were trained for long enough.
std::vector<double> values_of(const Outcomes& o, const std::string& trial,
                              const std::string& number) {
    std::vector<double> values;
    for (const Measured& seed : o.seeds(trial)) {
        const auto found = seed.numbers.find(number);
        if (found != seed.numbers.end()) values.push_back(found->second);
    }
    return values;
}

std::string name_of(const char* network) { return fmt::format("{}, learning", network); }

Interval gap(const Outcomes& o, const char* network, const std::string& number) {
    const std::vector<double> more = values_of(o, name_of(network), number),
                              less = values_of(o, name_of("Transformer"), number);
    if (more.empty() || more.size() != less.size()) return unmeasured();
    return student(differences(more, less));
}

Design against(const char* network, Equal equal) {
    return Design::compared({.arms = {name_of(network), name_of("Transformer")},
                             .equal = equal,
                             .rates = "each at the rate that is best after 16 seconds",
                             .control = "the loss of guessing for both, a difference of 0"});
}

// Where the search begins.
std::vector<double> rates(const std::string& network) {
    if (network == "LSTM") return {2e-2, 4e-2, 8e-2};
    return {5e-3, 1e-2, 2e-2};
}

}  // namespace

std::vector<Trial> learning_trials(const Setting& s, const ReadText& text) {
    std::vector<Trial> all;
    const std::map<std::string, double> times = milliseconds_of_steps(s, text);
    for (const char* network : kNetworks) {
        const double milliseconds = times.at(network);
        // Some seeds are trained for the longest time, the others and those that choose the rate
        // for less.
        const auto seconds = [s](std::uint64_t seed) {
            if (s.quick) return kQuick;
            return seed - s.seed < kLongRuns ? kLong : kEach;
        };
        Trial trial =
            swept(s, name_of(network), rates(network), [=](std::uint64_t seed, double rate) {
                return learn(network, text, seconds(seed), milliseconds, rate, seed);
            });
        // As its steps were measured; two at once take as long, and each longer than 60 s.
        trial.timed = true;
        all.push_back(std::move(trial));
    }
    return all;
}

std::vector<Claim> learning_claims() {
    std::vector<Claim> all;
    for (const char* network : {"RNN", "LSTM"}) {
        const std::string number =
            fmt::format("held-out loss, {}'s less the Transformer's", network);
        const char* name = std::string(network) == "RNN" ? "rnn" : "lstm";
        for (const double seconds : kJudged) {
            all.push_back(
                {fmt::format("learns_more_than_an_{}_{}", name, seconds),
                 fmt::format("After {} seconds the Transformer has learnt more than the {}.",
                             seconds, network),
                 number, above(0), against(network, Equal::time)});
        }
        all.push_back({fmt::format("learns_more_than_an_{}_per_step", name),
                       fmt::format("After {} steps the Transformer has learnt more than the {}.",
                                   kSteps[1], network),
                       number, above(0), against(network, Equal::steps)});
    }
    return all;
}

void add_learning(const Setting& s, const Outcomes& o, Report& report) {
    Table table{"Held-out loss, nats per character, after times on all threads and after steps",
                {"network", "parameters", "ms for a step", "best rate"},
                {}};
    std::vector<double> times(std::begin(kTimes), std::end(kTimes));
    if (s.quick) times = {kQuick};
    std::vector<std::string> numbers;
    for (const double seconds : times) numbers.push_back(after_seconds(seconds));
    for (const std::int64_t steps : kSteps) numbers.push_back(after_steps(steps));
    for (const std::string& number : numbers) {
        table.columns.push_back(number.substr(std::string("loss, ").size()));
    }
    Plot plot{.title = "What is learnt in a time",
              .x = {.label = "seconds on all threads", .log = true},
              .y = {.label = "held-out loss, nats per character", .log = true}};
    for (const char* network : kNetworks) {
        const std::string name = name_of(network);
        const Outcomes::Entry& entry = o.entry(name);
        table.rows.push_back({network, std::llround(o.of(name, "parameters").mean),
                              timed(fixed(o.of(name, "ms").mean, 1)),
                              entry.tried.empty() ? Cell("-") : Cell(entry.rate())});
        for (const std::string& number : numbers) {
            const std::vector<double> values = values_of(o, name, number);
            table.rows.back().push_back(values.empty() ? Cell("-")
                                                       : timed(fixed(student(values), 3)));
        }
        Series series{.name = network, .mark = Mark::line_and_points};
        for (const double seconds : times) {
            const std::vector<double> values = values_of(o, name, after_seconds(seconds));
            if (!values.empty()) add_point(series, seconds, student(values));
        }
        plot.series.push_back(series);
    }
    report.tables.push_back(table);
    report.remark = fmt::format(
        "Rates are those that are best after {} seconds, on three other seeds, also where the loss "
        "is that after other times or after steps. After {} steps of "
        "warm-up the rate falls with the root of the steps, so one run tells the loss after any "
        "time. The first {} seeds were trained for {} seconds, the others for {}.",
        kEach, kWarmUp, kLongRuns, kLong, kEach);
    report.figures.push_back({"learning", "the loss after a time", svg(plot)});
    for (const char* network : {"RNN", "LSTM"}) {
        const char* name = std::string(network) == "RNN" ? "rnn" : "lstm";
        for (const double seconds : kJudged) {
            report.decided[fmt::format("learns_more_than_an_{}_{}", name, seconds)] =
                gap(o, network, after_seconds(seconds));
        }
        report.decided[fmt::format("learns_more_than_an_{}_per_step", name)] =
            gap(o, network, after_steps(kSteps[1]));
    }
}

}  // namespace tapestry::experiments::parallel_or_serial
