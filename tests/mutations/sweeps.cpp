#include <tapestry/tests/mutations/sweeps.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/tests/mutations/sweeps_of_wrong.h>
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;
using Wanted = std::function<bool(const PlainCase&)>;

const Template& template_called(std::string_view name) {
    const auto& all = hard_templates();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [name](const Template& one) { return one.name == name; });
    require(found != all.end(), "sweeps: there is no template {}", name);
    return *found;
}

Trial tried(const PlainCase& one, std::uint64_t seed, double relative_noise) {
    GradcheckOptions options;
    options.bounds = one.bounds;
    options.format = one.format;
    options.seed = seed;
    options.relative_noise = relative_noise;
    return {check_pullback(one.f, one.pullback, one.x, options, one.shape, one.output),
            fmt::format("n = {}; {}", one.x.size(), one.note)};
}

// Cases of a template, drawn until one is wanted.
Sweep of_template(std::string name, int cases, std::string_view from, Wanted wanted,
                  double relative_noise = 0) {
    const auto run = [from, wanted = std::move(wanted), relative_noise](Draw& draw,
                                                                        std::uint64_t seed) {
        for (;;) {
            const PlainCase one = template_called(from).draw(draw);
            if (wanted(one)) return tried(one, seed, relative_noise);
        }
    };
    return {std::move(name), cases, run};
}

bool any(const PlainCase&) { return true; }

Wanted noted(std::string text) {
    return [text = std::move(text)](const PlainCase& one) {
        return one.note.find(text) != std::string::npos;
    };
}

// The case has `from` to `to` of what its note begins with a number of.
Wanted between(std::size_t from, std::size_t to) {
    return [from, to](const PlainCase& one) {
        std::size_t count = 0;
        std::from_chars(one.note.data(), one.note.data() + one.note.size(), count);
        return count >= from && count <= to;
    };
}

Wanted of_size(std::size_t from, std::size_t to) {
    return [from, to](const PlainCase& one) { return one.x.size() >= from && one.x.size() <= to; };
}

// ---- by kind ------------------------------------------------------------------------------------

void add_cancelling(std::vector<Sweep>& all) {
    for (const char* name : {"(1 - cos x) / x^2", "(x - sin x) / x^3", "(e^x - 1) / x"}) {
        all.push_back(of_template(name, 200, "small quotient", [name](const PlainCase& one) {
            return one.x.size() == 1 && noted(name)(one);
        }));
    }
    all.push_back(of_template(
        "five of (1 - cos x) / x^2", 100, "small quotient",
        [](const PlainCase& one) { return one.x.size() == 5 && noted("(1 - cos x) / x^2")(one); }));
    all.push_back(
        of_template("coefficients of SO(3), angle 1e-7 to 0.1", 200, "SO(3) coefficients", any));
    all.push_back(of_template("Rodrigues' formula", 200, "rotation", any));
    for (const char* name : {"log(1 + x)", "sqrt(x^2 + 1) - x", "1 - 1 / (1 + x)",
                             "-x + sqrt(x^2 - 4)", "1 - tanh x", "acos(1 - x)"}) {
        all.push_back(of_template(name, 200, "small difference", [name](const PlainCase& one) {
            return one.x.size() == 1 && noted(name)(one);
        }));
    }
    all.push_back(of_template("sum of x^2, underflowing", 200, "underflow", any));
}

void add_saturated(std::vector<Sweep>& all) {
    constexpr std::array kSizes{20, 30, 50, 100, 300};
    for (const std::int64_t rows : {1, 3}) {
        for (const int size : kSizes) {
            const auto wanted = [rows, size](const PlainCase& one) {
                return one.shape[0] == rows && one.shape[1] == 4 &&
                       noted(fmt::format("logits of size {}", size))(one);
            };
            const auto title = [rows, size](const char* of) {
                return fmt::format("{} [{}, 4], logits of size {}", of, rows, size);
            };
            all.push_back(of_template(title("log softmax"), 200, "saturated log softmax", wanted));
            all.push_back(of_template(title("softmax"), 60, "saturated softmax", wanted));
        }
    }
    for (const int size : {20, 50, 100, 300}) {
        all.push_back(of_template(fmt::format("-log sigmoid, size {}", size), 60, "-log sigmoid",
                                  noted(fmt::format("logits of size {}", size))));
    }
}

// The same as ops, whose tapes are checked
void add_ops(std::vector<Sweep>& all) {
    using Function = Tensor (*)(const Tensor&);
    constexpr std::pair<const char*, Function> kOps[] = {
        {"log softmax", [](const Tensor& x) { return log_softmax(x); }},
        {"softmax", [](const Tensor& x) { return softmax(x); }},
        {"-log sigmoid", [](const Tensor& x) { return softplus(neg(x)); }}};
    for (const auto& named : kOps) {
        for (const double size : {20.0, 30.0, 50.0, 100.0, 300.0}) {
            const Function f = named.second;
            const auto run = [f, size](Draw& draw, std::uint64_t seed) {
                Values x(12);
                for (double& value : x) {
                    value = size * std::sqrt(-2 * std::log(draw.between(1e-12, 1))) *
                            std::cos(draw.between(0, 6.283185307179586));
                }
                const auto on_tape = [f](const Tensors& in) { return f(in[0]); };
                return Trial{gradcheck(on_tape, {tensor(x, {3, 4})}, {.seed = seed}),
                             fmt::format("logits of size {}", size)};
            };
            all.push_back(
                {fmt::format("op {} [3, 4], logits of size {}", named.first, size), 60, run});
        }
    }
}

void add_inexact(std::vector<Sweep>& all) {
    constexpr std::pair<std::size_t, std::size_t> kTerms[] = {{10, 31}, {32, 316}, {317, 1000}};
    for (const auto& range : kTerms) {
        const std::size_t from = range.first, to = range.second;
        all.push_back(
            of_template(fmt::format("backward adds {} to {} terms in any order", from, to), 100,
                        "backward in any order", between(from, to)));
        all.push_back(of_template(
            fmt::format("both add {} to {} terms in any order, noise declared", from, to), 100,
            "both in any order", between(from, to), 1e-13));
    }
    for (const char* solver : {"CG", "Jacobi"}) {
        for (const char* tolerance : {"1e-03", "1e-05", "1e-07", "1e-09", "1e-11", "1e-13"}) {
            if (solver[0] == 'J' && tolerance[4] == '3' && tolerance[3] == '0') continue;
            all.push_back(of_template(fmt::format("adjoint by {}, residual {}", solver, tolerance),
                                      50, solver[0] == 'C' ? "adjoint by CG" : "adjoint by Jacobi",
                                      noted(tolerance)));
        }
    }
    for (const char* digits : {"1e-12", "1e-10", "1e-09", "1e-08", "1e-07"}) {
        all.push_back(of_template(fmt::format("backward good to {}", digits), 200,
                                  "good to some digits", noted(digits)));
    }
    for (const auto& [from, to] : {std::pair{1, 1}, {2, 6}, {20, 40}}) {
        all.push_back(
            of_template(fmt::format("f in f64, backward in f32, {} to {} numbers", from, to), 100,
                        "backward in f32",
                        of_size(static_cast<std::size_t>(from), static_cast<std::size_t>(to))));
    }
}

void add_beside(std::vector<Sweep>& all) {
    all.push_back(of_template("a jump of 1e-6 to 10, 1e-13 to 0.1 away", 800, "jump beside", any));
    all.push_back(of_template("kinks", 200, "near a kink", any));
    all.push_back(of_template("noise in cells", 200, "noise in cells", any));
    all.push_back(of_template("ripples", 200, "ripples", any));
    for (const char* tolerance : {"1e-13", "1e-12", "1e-11", "1e-10"}) {
        all.push_back(of_template(fmt::format("Heun's steps, tolerance {}", tolerance), 25,
                                  "chosen steps", noted(tolerance)));
    }
    all.push_back(of_template("2 sin x, x 1e4 to 1e14", 200, "large argument", of_size(1, 1)));
    all.push_back(
        of_template("variance in one pass, 1 to 1e8 away", 200, "one-pass variance", any));
    all.push_back(of_template("area, 1 to 1e8 away", 200, "area", any));
    all.push_back(of_template("differences of large numbers", 200, "cancellation", any));
    all.push_back(of_template("bicubic interpolation in f32", 100, "bicubic in f32", any));
    all.push_back(of_template("exponential of a matrix", 100, "matrix exponential", any));
}

// ---- the table ----------------------------------------------------------------------------------

struct VerdictCounts {
    int pass = 0, open = 0, fail = 0;
    double beyond = 0;  // the worst wrong one that passed: off by, over the stated resolution
};

std::uint64_t sweep_seed(const Sweep& sweep, int number, std::uint64_t seed) {
    std::uint64_t hash = seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(number);
    for (const char letter : sweep.name) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    }
    return hash;
}

VerdictCounts run_sweep(const Sweep& sweep, const SweepOptions& options) {
    VerdictCounts counts;
    for (int number = 0; number < sweep.cases; number += options.every) {
        const std::uint64_t seed = sweep_seed(sweep, number, options.seed);
        Draw draw(seed);
        const Trial trial = sweep.run(draw, seed);
        const Verdict verdict = trial.report.verdict;
        counts.pass += verdict == Verdict::pass;
        counts.open += verdict == Verdict::inconclusive;
        counts.fail += verdict == Verdict::fail;
        double beyond = 0;
        if (verdict == Verdict::pass && trial.off > 0) {
            beyond = trial.off / trial.report.resolution;
        }
        counts.beyond = std::max(counts.beyond, beyond);
        const bool unexpected = sweep.is_wrong ? beyond > 1 : verdict == Verdict::fail;
        if (unexpected && options.verbose) {
            fmt::print("{}, case {}: {}\n{}\n", sweep.name, number, trial.note, trial.report);
        }
    }
    return counts;
}

std::vector<Sweep> all_sweeps() {
    std::vector<Sweep> all;
    add_cancelling(all);
    add_saturated(all);
    add_ops(all);
    add_inexact(all);
    add_beside(all);
    for (Sweep& wrong : sweeps_of_wrong()) all.push_back(std::move(wrong));
    return all;
}

}  // namespace

bool print_sweeps(const SweepOptions& options) {
    fmt::print("| sweep | PASS | INCONCLUSIVE | FAIL | off by, over r |\n|---|---|---|---|---|\n");
    bool holds = true;
    VerdictCounts right;
    for (const Sweep& sweep : all_sweeps()) {
        if (sweep.name.find(options.only) == std::string::npos) continue;
        const VerdictCounts counts = run_sweep(sweep, options);
        fmt::print("| {}{} | {} | {} | {} | {} |\n", sweep.is_wrong ? "wrong: " : "", sweep.name,
                   counts.pass, counts.open, counts.fail,
                   sweep.is_wrong ? fmt::format("{:.2g}", counts.beyond) : "");
        std::fflush(stdout);
        holds = holds && (sweep.is_wrong ? counts.beyond <= 1 : counts.fail == 0);
        if (sweep.is_wrong) continue;
        right.pass += counts.pass;
        right.open += counts.open;
        right.fail += counts.fail;
    }
    fmt::print("| all right ones | {} | {} | {} | |\n", right.pass, right.open, right.fail);
    return holds;
}

}  // namespace tapestry::test
