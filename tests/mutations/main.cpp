// The table of docs/gradient-checking.md: mutants detected, named and located, false alarms.
//
//     mutations [--every N] [--cases N] [--seed N] [--verbose]
//     mutations --templates N [--seed N] [--verbose] [--format f32]
//                                                          plain functions instead (judge.h)
//     mutations --case right/N [--seed N]                  the report of one case, or of wrong/N
//     mutations --sweeps [--only WORDS] [--every N] [--seed N] [--verbose]
//                                                          one kind of function at a time
//                                                          (sweeps.h)
//     mutations --serve [--seed N]                         serves them to another program (serve.h)
//     mutations --export FILE [--every N] [--cases N]      writes the cases instead (export.h)
//
// Exit status 1 if a figure is out of bounds.
#include <tapestry/examples/options/options.h>
#include <tapestry/tests/mutations/corpus_table.h>
#include <tapestry/tests/mutations/export.h>
#include <tapestry/tests/mutations/judge.h>
#include <tapestry/tests/mutations/serve.h>
#include <tapestry/tests/mutations/suite.h>
#include <tapestry/tests/mutations/sweeps.h>

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <iostream>

using namespace tapestry;
using namespace tapestry::test;

namespace {

struct Settings {
    int every = 1;
    int cases = 5000;
    std::uint64_t seed = 1;
    bool verbose = false;
    std::string exported;
    int templates = 0;
    std::string format = "f64";
    bool serve = false;
    std::string one;
    bool sweeps = false;
    std::string only;
};

template <class Key>
Counts total(const std::map<Key, Counts>& by) {
    Counts sum;
    for (const auto& [key, counts] : by) sum += counts;
    return sum;
}

int run(const Settings& s) {
    SuiteOptions options{.every = s.every};
    if (s.verbose) options.told = [](const std::string& text) { fmt::print("{}\n\n", text); };
    const auto started = std::chrono::steady_clock::now();
    const auto ops = mutate_ops(options);
    const auto f32_ops = mutate_ops_in(DType::f32, options);
    const auto bf16_ops = mutate_ops_in(DType::bf16, options);
    const auto models = mutate_models(options);
    const FalseAlarms wide = false_alarms(s.cases, DType::f64, s.seed, options.told);
    const FalseAlarms f32 = false_alarms(s.cases, DType::f32, s.seed, options.told);
    const FalseAlarms bf16 = false_alarms(s.cases, DType::bf16, s.seed, options.told);

    fmt::print("{:<24} {:>9} {:>9} {:>9} {:>9}\n", "mutation, ops in f64", "mutants", "detected",
               "named", "located");
    for (const auto& [mutation, c] : ops) {
        fmt::print("{:<24} {:>9} {:>8.1f}% {:>8.1f}% {:>8.1f}%\n", to_string(mutation), c.mutants,
                   c.percent(c.detected), c.percent(c.named), c.percent(c.located));
    }
    fmt::print("\n{:<24} {:>9} {:>9} {:>9} {:>9}\n", "inside a model", "mutants", "detected",
               "named", "located");
    for (const auto& [name, c] : models) {
        fmt::print("{:<24} {:>9} {:>8.1f}% {:>8.1f}% {:>8.1f}%\n", name, c.mutants,
                   c.percent(c.detected), c.percent(c.named), c.percent(c.located));
    }
    fmt::print("\n");
    const Counts op = total(ops), model = total(models);
    Table table;
    table.row("mutants detected, f64, ops", op.percent(op.detected), of(op.detected, op.mutants),
              op.detected == op.mutants, "100 %");
    const Counts op32 = total(f32_ops), op16 = total(bf16_ops);
    table.row("mutants detected, f32, ops", op32.percent(op32.detected),
              of(op32.detected, op32.mutants), op32.percent(op32.detected) >= 99, "99 %");
    const int seen = op16.detected + op16.inconclusive;
    table.row("mutants detected, bf16, ops", op16.percent(op16.detected),
              of(op16.detected, op16.mutants), op16.percent(op16.detected) >= 97, "97 %");
    table.row("mutants detected or INCONCLUSIVE, bf16, ops", op16.percent(seen),
              of(seen, op16.mutants), op16.percent(seen) >= 99, "99 %");
    table.row("cause named at first guess, ops", op.percent(op.named), of(op.named, op.mutants),
              op.percent(op.named) >= 90, "90 %");
    table.row("mutants detected inside a model", model.percent(model.detected),
              of(model.detected, model.mutants), model.detected == model.mutants, "100 %");
    table.row("the op named rightly inside a model", model.percent(model.located),
              of(model.located, model.mutants), model.percent(model.located) >= 95, "95 %");
    for (const auto& [name, found] :
         {std::pair{"f64", wide}, std::pair{"f32", f32}, std::pair{"bf16", bf16}}) {
        const double share = 100.0 * found.inconclusive / std::max(1, found.cases);
        std::string reasons;
        for (const auto& [reason, count] : found.reasons) {
            reasons += fmt::format(" {} {}", count, reason);
        }
        table.row(fmt::format("false alarms on correct gradients, {}", name), found.alarms,
                  fmt::format("of {}", found.cases), found.alarms == 0, "0");
        table.row(fmt::format("INCONCLUSIVE among those, {}{}", name, reasons), share,
                  of(found.inconclusive, found.cases), share < 2, "under 2 %");
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    fmt::print("{:.0f} s\n", took.count());
    return table.all_hold() ? 0 : 1;
}

Format format_called(const std::string& name) {
    for (const Format format : {Format::f64, Format::f32, Format::bf16, Format::f16}) {
        if (to_string(format) == name) return format;
    }
    fail("--format {}: neither f64, f32, bf16 nor f16", name);
}

// Prints the report of "right/17"; the status tells whether the verdict is allowed.
int print_case(const std::string& which, std::uint64_t seed, Format format) {
    const auto slash = which.find('/');
    const std::string kind = which.substr(0, slash);
    require(slash != std::string::npos && (kind == "right" || kind == "wrong"),
            "--case {}: neither right/NUMBER nor wrong/NUMBER", which);
    std::uint64_t number = 0;
    const char* const end = which.data() + which.size();
    const auto read = std::from_chars(which.data() + slash + 1, end, number);
    require(read.ec == std::errc() && read.ptr == end, "--case {}: no number after {}/", which,
            kind);
    const CorpusCase one =
        kind == "right" ? right_case(number, seed) : wrong_case(number, seed, format);
    std::string thrown;
    const auto report = checked(one, number, &thrown);
    fmt::print("{}{}\n{}\n", one.title, one.must_pass ? " (to be resolved)" : "",
               report ? to_string(*report) : thrown);
    if (!report) return 1;
    return report->verdict == (kind == "right" ? Verdict::fail : Verdict::pass) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    cli::Options options("mutations",
                         "How good is the gradient checker? Wrong rules planted everywhere.");
    Settings s;
    options.count("--every", s.every, "Only every so-many-th mutant");
    options.count("--cases", s.cases, "Correct gradients tried, in f64 and in f32", {0});
    options.seed(s.seed, "Of the correct gradients, and of the plain functions");
    options.flag("--verbose", s.verbose, "Print what got away");
    options.count("--templates", s.templates,
                  "So many right and as many wrong gradients of plain functions instead");
    options.text("--format", s.format, "Format of the wrong ones' numbers: f64, f32, bf16 or f16");
    options.text("--case", s.one, "Print the report of one of these functions: right/17, wrong/23");
    options.flag("--sweeps", s.sweeps, "One kind of function at a time, over all of its sizes");
    options.text("--only", s.only, "Only sweeps with these words in their names");
    options.flag("--serve", s.serve, "Answer questions about these functions, line by line");
    options.text("--export", s.exported, "Write the cases to this file instead");
    options.run([&s] {
        const Format format = format_called(s.format);
        if (s.sweeps) return print_sweeps({s.seed, s.every, s.only, s.verbose}) ? 0 : 1;
        if (!s.one.empty()) return print_case(s.one, s.seed, format);
        if (s.templates > 0) return print_corpus(s.templates, s.seed, s.verbose, format) ? 0 : 1;
        if (s.serve) {
            serve(std::cin, std::cout, s.seed);
            return cli::kSuccess;
        }
        if (s.exported.empty()) return run(s);
        export_cases(s.exported, s.cases, {.every = s.every});
        return cli::kSuccess;
    });
    return options.main(argc, argv);
}
