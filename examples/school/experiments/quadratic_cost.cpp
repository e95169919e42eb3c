// What does n^2 cost? One attention over n positions, forward and backward, in eleven forms:
// counted operations, measured time, memory of tensors and of the process, the exponents of their
// power laws; and what the cheaper forms can no longer do.
#include <tapestry/examples/school/experiments/attention_costs.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>

#include <tapestry/core/error.h>

#include <algorithm>

namespace tapestry::experiments::quadratic_cost {
namespace {

std::int64_t longest(const Setting& setting) { return setting.pick(4096, 1024); }

std::string copy_name(const Form& form) { return form.name + ", copying"; }

constexpr double kRate = 3e-3;

// Whether one layer can see 128 positions back: neither a window of 64 nor a stride of 12 does.
bool reaches_far(const std::string& form) { return form != "window 64" && form != "strided"; }

// Copying needs no causal mask, so each form copies once.
std::vector<Form> copying_forms(const Setting& setting) {
    std::vector<Form> all;
    for (const Form& form : attention_forms()) {
        const bool plain = !form.causal && form.name != "softmax, weights kept";
        const bool chosen = form.name == "softmax" || form.name == "window 64";
        if (plain && (chosen || !setting.quick)) all.push_back(form);
    }
    return all;
}

// The middle of the rates with which the search begins.
double rate_of(const std::string& form) {
    if (form == "linear") return 16 * kRate;
    return form == "softmax" || form.starts_with("lsh") ? 4 * kRate : kRate;
}

std::vector<Trial> trials(const Setting& setting) {
    std::vector<Trial> all;
    for (const Form& form : copying_forms(setting)) {
        const auto run = [=, steps = setting.pick(300, 100)](std::uint64_t seed, double rate) {
            return copies(form, steps, rate, seed);
        };
        if (reaches_far(form.name)) {
            const double middle = rate_of(form.name);
            all.push_back(swept(setting, copy_name(form), {middle / 4, middle, 4 * middle}, run));
        } else {
            all.push_back({copy_name(form), [=](std::uint64_t seed) { return run(seed, kRate); }});
        }
    }
    for (const Form& form : attention_forms()) {
        all.push_back({form.name,
                       [=, most = longest(setting), times = setting.pick(3, 1)](std::uint64_t) {
                           return costs_of(form, most, times);
                       },
                       true});
    }
    return all;
}

// The shortest length from which a form is faster than softmax.
Cell faster_from(const std::string& form, std::int64_t most, const Outcomes& o) {
    for (std::int64_t length = 128; length <= most; length *= 2) {
        const std::string what = fmt::format("ms {}", length);
        if (o.of(form, what).mean < o.of("softmax", what).mean) return timed(Cell(length));
    }
    return timed("-");
}

Cell theory_of(const Form& form) {
    Cell cell(form.work);
    if (form.is_log) cell.text = "n log n";
    return cell;
}

Table exponents_table(const Setting& setting, const Outcomes& o) {
    Table table{"Exponents a of n^a, fitted over the three longest sequences",
                {"form", "operations", "theory", "time", "memory of tensors", "theory of memory",
                 "memory of the process", "faster than softmax from n"},
                {}};
    for (const Form& form : attention_forms()) {
        table.rows.push_back({form.name, fixed(o.of(form.name, "work").mean, 2), theory_of(form),
                              timed(fixed(o.of(form.name, "time"), 2)),
                              fixed(o.of(form.name, "memory").mean, 2), form.memory,
                              timed(fixed(o.of(form.name, "process"), 2)),
                              faster_from(form.name, longest(setting), o)});
    }
    return table;
}

Table costs_table(const Setting& setting, const Outcomes& o) {
    Table table{"One attention, 2 heads of 32, forward and backward",
                {"form and n", "GFLOP forward", "ms", "MB", "MB of the process"},
                {}};
    const std::int64_t most = longest(setting);
    for (const Form& form : attention_forms()) {
        for (std::int64_t n = 128; n <= most; n *= 2) {
            const auto of = [&](const char* what) {
                return o.of(form.name, fmt::format("{} {}", what, n));
            };
            const Cell process = 4 * n < most ? Cell("-") : timed(fixed(of("process MB"), 1));
            table.rows.push_back({fmt::format("{}, {}", form.name, n), fixed(of("GFLOP").mean, 3),
                                  timed(fixed(of("ms"), 2)), fixed(of("MB").mean, 1), process});
        }
    }
    return table;
}

Table copying_table(const Setting& setting, const Outcomes& o) {
    Table table{
        "What it costs in accuracy: 8 symbols copied over 128 positions, one layer; "
        "guessing: 12.5 %",
        {"form", "right", "loss, nats"},
        {}};
    for (const Form& form : copying_forms(setting)) {
        table.rows.push_back({form.name, percent(o.of(copy_name(form), "right")),
                              significant(o.of(copy_name(form), "loss"))});
    }
    return table;
}

Plot plot_of(const std::string& title, const std::string& unit, const std::string& what,
             const Setting& setting, const Outcomes& o) {
    Plot plot{.title = title,
              .x = {.label = "positions n", .log = true},
              .y = {.label = unit, .log = true}};
    for (const Form& form : attention_forms()) {
        if (form.causal) continue;  // skip parallel lines
        Series s{.name = form.name, .mark = Mark::line_and_points};
        for (std::int64_t n = 128; n <= longest(setting); n *= 2) {
            add_point(s, static_cast<double>(n), o.of(form.name, fmt::format("{} {}", what, n)));
        }
        s.dashed = plot.series.size() >= 6;  // six colours, eight forms
        plot.series.push_back(s);
    }
    return plot;
}

const Design kExact = Design::computed();
const Design kClock = Design::clocked("a repetition on one machine");
constexpr const char* kGuessing = "12.5 %, guessing";

Design copying_design(const std::string& form) {
    if (reaches_far(form)) {
        return Design::trained({.arms = {form + ", copying"}, .control = kGuessing});
    }
    return Design::trained(
        {.untuned = "the symbols are out of the layer's reach at any rate", .control = kGuessing});
}

Report report(const Setting& setting, const Outcomes& o) {
    Report report{
        .tables = {exponents_table(setting, o), costs_table(setting, o), copying_table(setting, o)},
        .figures = {{"time", "time of one attention, forward and backward",
                     svg(plot_of("Time against length", "milliseconds", "ms", setting, o))},
                    {"memory", "memory of one attention, forward and backward",
                     svg(plot_of("Memory against length", "megabytes", "MB", setting, o))}}};
    const std::string most = std::to_string(longest(setting));
    std::vector<double> linear(static_cast<std::size_t>(setting.seeds), 0);
    for (const Form& form : attention_forms()) {
        if (form.work != 1 || form.is_log) continue;
        const std::vector<double> times = o.values(form.name, "time");
        for (std::size_t i = 0; i < linear.size(); ++i) linear[i] = std::max(linear[i], times[i]);
    }
    report.decided = {{"time_is_quadratic", o.of("softmax", "time")},
                      {"linear_forms_are_linear", student(linear)},
                      {"sparse_is_n_log_n", exactly(o.of("strided", "work").mean)},
                      {"hashing_is_n_log_n", exactly(o.of("lsh 16 x 4", "work").mean)},
                      {"kept_weights_take_n2", o.of("softmax, weights kept", "process")},
                      {"attention_needs_n2_memory", o.of("softmax", "process")},
                      {"causal_halves", student(ratios(o.values("softmax, causal", "ms " + most),
                                                       o.values("softmax", "ms " + most)))},
                      {"softmax_copies", o.of("softmax, copying", "right")},
                      {"window_copies", o.of("window 64, copying", "right")}};
    for (const auto& [claim, form] : {std::pair{"strided_copies", "strided"},
                                      {"linformer_copies", "linformer 64"},
                                      {"linear_copies", "linear"},
                                      {"performer_copies", "performer 64"},
                                      {"hashing_copies", "lsh 16 x 4"}}) {
        report.decided[claim] =
            setting.quick ? unmeasured() : o.of(std::string(form) + ", copying", "right");
    }
    return report;
}

std::vector<Claim> claims() {
    const auto copying = [](const char* name, const char* kind, const char* form) {
        return Claim{name,
                     fmt::format("One layer of {} attention can copy over 128 positions.", kind),
                     "symbols right, one layer", above(0.95), copying_design(form)};
    };
    return {{"time_is_quadratic", "The time of softmax attention grows as n^2.", "exponent of time",
             between(1.6, 2.4), kClock},
            {"linear_forms_are_linear",
             "The time of window, Linformer, linear and Performer attention grows as n.",
             "the largest of their exponents", below(1.3), kClock},
            {"sparse_is_n_log_n", "Sparse (strided) attention costs n log n.",
             "exponent of its operations", below(1.25), kExact},
            {"hashing_is_n_log_n", "Attention by hashing (LSH) costs n log n.",
             "exponent of its operations", below(1.25), kExact},
            {"kept_weights_take_n2", "Where its weights are kept, attention takes n^2 memory.",
             "exponent of the process's memory", above(1.7), kClock},
            {"attention_needs_n2_memory", "Softmax attention needs n^2 memory.",
             "exponent of the process's memory, computed as one operation", above(1.7), kClock},
            {"causal_halves", "A causal mask halves the time.",
             "time over that without it, the longest sequence", between(0.4, 0.7), kClock},
            copying("softmax_copies", "softmax", "softmax"),
            copying("window_copies", "window", "window 64"),
            copying("strided_copies", "strided", "strided"),
            copying("linformer_copies", "Linformer", "linformer 64"),
            copying("linear_copies", "linear", "linear"),
            copying("performer_copies", "Performer", "performer 64"),
            copying("hashing_copies", "LSH", "lsh 16 x 4")};
}

}  // namespace

Experiment experiment() {
    return {
        "quadratic_cost",
        "What does n^2 cost?",
        "Every one of n queries meets every one of n keys: n^2 products, and, it is said, n^2 "
        "weights to keep for the way back. A window w, k summaries or f features make that n w, "
        "n k or n f, which is linear in n; strided attention with a stride of sqrt(n) makes it n "
        "sqrt(n), not n log n. Hashing sorts n vectors, so that each meets only those next to it: "
        "n log n, whose exponent over these lengths would be 1.13. Costs follow c n^a, once n is "
        "so large that what does not grow, or grows more slowly, no longer counts; c decides from "
        "which length on it matters. Memory is measured twice: of tensors, which the library "
        "counts, and of a process that does nothing else, in which all scratch is contained. What "
        "the cheaper forms leave out has its price: one layer of each learns to copy.\n\n"
        "Sources: Vaswani et al. 2017, table 1; Child et al. 2019 (strided); Beltagy et al. 2020 "
        "(window); Wang et al. 2020 (Linformer); Katharopoulos et al. 2020 (linear); Choromanski "
        "et al. 2020 (Performer); Kitaev et al. 2020 (hashing); for memory Rabe and Staats 2021, "
        "\"Self-attention Does Not Need O(n^2) Memory\".",
        claims(),
        trials,
        report};
}

}  // namespace tapestry::experiments::quadratic_cost
