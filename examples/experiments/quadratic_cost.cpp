// What does n^2 cost? One attention over n positions, forward and backward, in six forms: counted
// operations, measured time and memory, and the exponents of the power laws they follow.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/least_squares.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/tasks/long_copy.h>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kHeads = 2, kWidth = 32;

/// softmax(q k^T / sqrt(D)) v in plain ops, which keep the weights [T, S] for the way back.
class KeptWeights : public AttentionForm {
public:
    KeptWeights() : AttentionForm("KeptWeights") {}
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override {
        return matmul(attention_weights(q, k, options), v);
    }
};

/// A form, and the exponents that theory gives its time and its memory.
struct Form {
    std::string name;
    std::function<std::unique_ptr<AttentionForm>(std::int64_t length)> make;
    int time, memory;
    std::int64_t longest;  // 4096 keys' weights kept take 0.5 GB on the way back
};

std::vector<Form> forms(std::int64_t longest, std::uint64_t seed) {
    const examples::LongCopyOptions o{.dim = kHeads * kWidth, .heads = kHeads, .features = 64};
    std::vector<Form> all{{"softmax, weights kept",
                           [](std::int64_t) { return std::make_unique<KeptWeights>(); }, 2, 2,
                           std::min<std::int64_t>(longest, 4096)}};
    const std::vector<std::string> names = examples::contender_names(o);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto make = [o, i, seed](std::int64_t length) -> std::unique_ptr<AttentionForm> {
            Generator generator(seed);
            const AttentionFormFactory form = contenders(o, length, generator)[i].form;
            return form ? form() : std::make_unique<SoftmaxAttention>();
        };
        const int power = names[i] == "softmax" ? 2 : 1;
        all.push_back({names[i], make, power, power, longest});
    }
    return all;
}

struct Cost {
    double flops = 0;    // of the forward pass
    double seconds = 0;  // forward and backward, the best of a few
    double bytes = 0;    // at the highest, besides q, k and v
};

Cost cost_of(const AttentionForm& form, std::int64_t length, int repetitions) {
    Generator generator(1);
    const auto make = [&] {
        return randn({1, kHeads, length, kWidth}, generator).set_requires_grad();
    };
    const Tensor q = make(), k = make(), v = make();
    Cost cost{.seconds = 1e30};
    const std::size_t before = memory_statistics().current;
    reset_peak_memory();
    for (int i = 0; i < repetitions; ++i) {
        const auto start = examples::Clock::now();
        Tape tape;
        const Tensor loss = sum(form(q, k, v, {}));
        cost.flops = 0;
        for (const auto& op : tape.entries()) cost.flops += op->flops();
        tape.gradient(loss, {q, k, v});
        cost.seconds = std::min(cost.seconds, examples::seconds_since(start));
    }
    cost.bytes = static_cast<double>(memory_statistics().peak - before);
    return cost;
}

/// The costs of one form at all lengths, and their exponents over the longer ones, where what does
/// not grow no longer counts.
struct Measured {
    std::vector<double> lengths, flops, seconds, bytes;
    double flops_exponent = 0, time_exponent = 0, memory_exponent = 0;
};

Measured measure(const Form& form, const Setting& setting) {
    Measured m;
    for (std::int64_t length = 128; length <= form.longest; length *= 2) {
        const Cost cost = cost_of(*form.make(length), length, setting.pick(5, 3));
        m.lengths.push_back(static_cast<double>(length));
        m.flops.push_back(cost.flops);
        m.seconds.push_back(cost.seconds);
        m.bytes.push_back(cost.bytes);
    }
    const auto tail = [](const std::vector<double>& all) {
        return std::vector<double>(all.end() - 3, all.end());
    };
    m.flops_exponent = exponent(tail(m.lengths), tail(m.flops));
    m.time_exponent = exponent(tail(m.lengths), tail(m.seconds));
    m.memory_exponent = exponent(tail(m.lengths), tail(m.bytes));
    return m;
}

Plot plot_of(const std::string& title, const std::string& unit, const std::vector<Form>& all,
             const std::vector<Measured>& measured, double scale,
             std::vector<double> Measured::*what) {
    Plot plot{.title = title,
              .x = {.label = "positions n", .log = true},
              .y = {.label = unit, .log = true}};
    for (std::size_t i = 0; i < all.size(); ++i) {
        Series s{.name = all[i].name, .x = measured[i].lengths, .mark = Mark::line_and_points};
        for (const double value : measured[i].*what) s.y.push_back(scale * value);
        plot.series.push_back(s);
    }
    return plot;
}

// The first length from which on a form takes less time than softmax; 0 for none.
std::int64_t faster_from(const Measured& form, const Measured& softmax) {
    for (std::size_t i = 0; i < form.lengths.size(); ++i) {
        if (form.seconds[i] < softmax.seconds[i]) return static_cast<std::int64_t>(form.lengths[i]);
    }
    return 0;
}

Report::Old judge(const std::vector<Form>& all, const std::vector<Measured>& measured) {
    const Measured &kept = measured[0], &softmax = measured[1];
    bool counts = true, times = true, memory = true;
    double most = 0;  // the largest exponent of time of a linear form
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Measured& m = measured[i];
        counts = counts && std::abs(m.flops_exponent - all[i].time) < 0.15;
        times = times && std::abs(m.time_exponent - all[i].time) < 0.5;
        memory = memory && std::abs(m.memory_exponent - all[i].memory) < 0.25;
        if (all[i].time == 1) most = std::max(most, m.time_exponent);
    }
    return {
        counts && times && memory,
        fmt::format("Operations {} the exponents of theory. Time {}: softmax n^{:.2f}, the "
                    "others n^{:.2f} at the most. Memory is n^{:.2f} where softmax's weights "
                    "are kept, but n^{:.2f} where attention is one operation that computes them "
                    "again on the way back: {}.",
                    counts ? "have" : "do not have", times ? "does too" : "does not",
                    softmax.time_exponent, most, kept.memory_exponent, softmax.memory_exponent,
                    softmax.memory_exponent > 1.75
                        ? "quadratic, as the formula suggests"
                        : "the work is quadratic and the memory is not, against what is often "
                          "said")};
}

Report run(const Setting& setting) {
    const std::vector<Form> all = forms(setting.pick(8192, 1024), setting.seed);
    std::vector<Measured> measured;
    for (const Form& form : all) measured.push_back(measure(form, setting));
    Table exponents{"Exponents a of n^a, fitted over the three longest sequences",
                    {"form", "operations", "time", "theory", "memory", "theory of memory",
                     "faster than softmax from n"},
                    {}};
    Table costs{fmt::format("One attention, {} heads of {}, forward and backward", kHeads, kWidth),
                {"form", "n", "GFLOP forward", "ms", "MB"},
                {}};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Measured& m = measured[i];
        const std::int64_t from = faster_from(m, measured[1]);
        exponents.rows.push_back(
            {all[i].name, fixed(m.flops_exponent, 2), fixed(m.time_exponent, 2), all[i].time,
             fixed(m.memory_exponent, 2), all[i].memory, from == 0 ? Cell("-") : Cell(from)});
        for (std::size_t j = 0; j < m.lengths.size(); ++j) {
            costs.rows.push_back({all[i].name, static_cast<std::int64_t>(m.lengths[j]),
                                  fixed(m.flops[j] / 1e9, 3), fixed(1000 * m.seconds[j], 2),
                                  fixed(m.bytes[j] / 1e6, 1)});
        }
    }
    return {{exponents, costs},
            {{"time", "time of one attention, forward and backward",
              svg(plot_of("Time against length", "milliseconds", all, measured, 1000,
                          &Measured::seconds))},
             {"memory", "memory of one attention, forward and backward",
              svg(plot_of("Memory against length", "megabytes", all, measured, 1e-6,
                          &Measured::bytes))}},
            judge(all, measured)};
}

}  // namespace

Experiment quadratic_cost() {
    return {
        "quadratic_cost",
        "What does n^2 cost?",
        "Every one of n queries meets every one of n keys: n^2 products, and, it is said, n^2 "
        "weights to keep for the way back. A window w, k summaries or f features make that n w, "
        "n k or n f, which is linear in n. Costs follow c n^a with a = 2 or 1, once n is so "
        "large that what does not grow, or grows more slowly, no longer counts; c decides from "
        "which length on it matters.\n\n"
        "Sources: Vaswani et al. 2017, table 1; Beltagy et al. 2020 (window); Wang et al. 2020 "
        "(Linformer); Katharopoulos et al. 2020 (linear); Choromanski et al. 2020 (Performer); "
        "for memory Rabe and Staats 2021, \"Self-attention Does Not Need O(n^2) Memory\".",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
