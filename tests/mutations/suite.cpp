#include <tapestry/autograd/check/precision.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/tests/mutations/judge.h>
#include <tapestry/tests/mutations/suite.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tapestry::test {
namespace {

using catalog::all_cases, catalog::bind_case, catalog::BoundCase, catalog::checked_module,
    catalog::CheckedModule, catalog::make_inputs, catalog::OpCase;

using Values = std::vector<double>;

std::int64_t real_numel(const Tensors& inputs) {
    std::int64_t count = 0;
    for (const Tensor& x : inputs) count += is_floating(x.dtype()) ? x.numel() : 0;
    return count;
}

// The places on f's tape where a rule could be wrong.
std::vector<std::pair<Target, std::vector<Mutation>>> targets_of(const std::function<Tensor()>& f) {
    Tape tape;
    f();
    std::vector<std::pair<Target, std::vector<Mutation>>> targets;
    for (const auto& op : tape.entries()) {
        for (std::size_t i = 0; i < op->inputs().size(); ++i) {
            const Op::Operand& x = op->inputs()[i];
            if (x.slot < 0 || !is_floating(x.dtype) || numel(x.shape) == 0) continue;
            std::vector<Mutation> possible;
            for (const Mutation mutation : all_mutations()) {
                if (applies(mutation, *op, i)) possible.push_back(mutation);
            }
            targets.push_back({{op->number(), op->name(), i, x.dtype}, possible});
        }
    }
    return targets;
}

// Gradients of the leaves for a fixed random cotangent, after a backward pass with another one (a
// rule may return stale results).
Values gradient_of(const std::function<Tensor()>& f, const Tensors& leaves) {
    Tape tape;
    const Tensor y = f();
    Values all;
    if (!tape.follows(y)) return all;
    for (const std::uint64_t seed : {31U, 32U}) {
        Generator generator(seed);
        const Tensor w = cast(randn(y.shape(), generator, compute_dtype(y.dtype())), y.dtype());
        all.clear();
        for (const Tensor& g : tape.gradient(y, leaves, {.cotangent = w, .retain = true})) {
            const Values values = g.to_vector<double>();
            all.insert(all.end(), values.begin(), values.end());
        }
    }
    return all;
}

// One function, its leaves, and the mutants to try on it.
class Bench {
public:
    Bench(std::string title, std::function<Tensor()> f, Tensors leaves, const SuiteOptions& options)
        : title_(std::move(title)),
          f_(std::move(f)),
          leaves_(std::move(leaves)),
          options_(options) {
        right_ = gradient_of(f_, leaves_);
    }

    Values mutated(Mutation mutation, const Target& target) const {
        const Mutant mutant(mutation, target);
        return gradient_of(f_, leaves_);
    }

    bool matters(Mutation mutation, const Target& target, double threshold) const {
        return !(distance(mutated(mutation, target), right_) <= threshold);
    }

    // Mistakes that give the same numbers count as one.
    bool names_it(Mistake said, Mutation mutation, const Target& target,
                  const std::vector<Mutation>& possible) const {
        if (said == expected_mistake(mutation)) return true;
        const Values wrong = mutated(mutation, target);
        return std::any_of(possible.begin(), possible.end(), [&](Mutation other) {
            return expected_mistake(other) == said &&
                   distance(mutated(other, target), wrong) < 1e-9;
        });
    }

    // Tries one mutant. `check` runs with it in place.
    void attempt(Mutation mutation, const Target& target, const std::vector<Mutation>& possible,
                 const std::function<GradcheckReport()>& check, Counts& counts) const {
        const GradcheckReport report = [&] {
            const Mutant mutant(mutation, target);
            return check();
        }();
        ++counts.mutants;
        const auto told = [&](const char* what) {
            options_.told(fmt::format("{}: {}, operand {} of {} (#{}), {}\n{}", what, title_,
                                      target.operand, target.op, target.entry, to_string(mutation),
                                      to_string(report)));
        };
        if (report.verdict == Verdict::inconclusive) ++counts.inconclusive;
        if (report.verdict != Verdict::fail) {
            told("not detected");
            return;
        }
        ++counts.detected;
        const bool located = report.first_wrong && report.first_wrong->number == target.entry &&
                             report.first_wrong->op == target.op;
        if (located) {
            ++counts.located;
        } else {
            told("not located");
        }
        const bool named = report.first_wrong &&
                           names_it(report.first_wrong->cause.mistake, mutation, target, possible);
        if (named) {
            ++counts.named;
        } else if (located) {
            told("not named");
        }
    }

private:
    std::string title_;
    std::function<Tensor()> f_;
    Tensors leaves_;
    const SuiteOptions& options_;
    Values right_;
};

// Small non-empty samples, and a sample in which two operands are the same tensor.
std::vector<MutationCase> cases_of(const OpCase& row) {
    std::vector<MutationCase> cases;
    for (std::size_t i = 0; i < row.samples.size() && cases.size() < 3; ++i) {
        const Tensors inputs = make_inputs(row.samples[i], DType::f64, 17 + i);
        const std::int64_t n = real_numel(inputs);
        if (n == 0 || n > 300) continue;
        cases.push_back({&row, fmt::format("{} sample {}", row.title(), i), inputs, false,
                         bind_case(row, inputs)});
    }
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
        const Tensors inputs = make_inputs(row.samples[i], DType::f64, 17 + i);
        if (inputs.size() != 2 || real_numel(inputs) != 2 * inputs[0].numel()) continue;
        if (!(inputs[0].shape() == inputs[1].shape()) || inputs[0].numel() == 0) continue;
        if (inputs[0].numel() > 300) continue;
        BoundCase twice = bind_case(row, inputs);
        twice.f = [f = twice.f](const Tensors& x) { return f({x[0], x[0]}); };
        twice.inputs = {inputs[0]};
        twice.dual = {};
        cases.push_back(
            {&row, fmt::format("{} of x and x", row.title()), {inputs[0], inputs[0]}, true, twice});
        break;
    }
    return cases;
}

Tensors as_leaves(const Tensors& inputs, DType dtype) {
    Tensors leaves;
    for (const Tensor& x : inputs) leaves.push_back(cast(x, dtype).clone().set_requires_grad());
    return leaves;
}

// Calls each(case, bench, target, mutation, possible) for every mutant of every row that changes
// the gradient by more than `threshold`.
template <class Each>
void for_each_op_mutant(DType dtype, double threshold, const SuiteOptions& options, Each each) {
    int number = 0;
    for (const OpCase& row : all_cases()) {
        if (!row.differentiable || (is_half(dtype) && !row.no_half_gradient.empty())) continue;
        for (const MutationCase& one : cases_of(row)) {
            const Tensors leaves = as_leaves(one.bound.inputs, dtype);
            const std::function<Tensor()> f = [&one, leaves] { return one.bound.f(leaves); };
            const Bench bench(one.title, f, leaves, options);
            for (const auto& [target, possible] : targets_of(f)) {
                for (const Mutation mutation : possible) {
                    if (number++ % options.every != 0) continue;
                    if (!bench.matters(mutation, target, threshold)) continue;
                    each(one, bench, target, mutation, possible);
                }
            }
        }
    }
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
    mutants += other.mutants;
    detected += other.detected;
    inconclusive += other.inconclusive;
    named += other.named;
    located += other.located;
    return *this;
}

GradcheckReport check(const MutationCase& one) {
    // Entries inside recompute() have other numbers, so the mutant would be elsewhere.
    return gradcheck(one.bound.f, one.bound.inputs, {.preconditions = false});
}

void for_each_mutant(
    const SuiteOptions& options,
    const std::function<void(const MutationCase&, const Target&, Mutation)>& each) {
    for_each_op_mutant(
        DType::f64, 1e-6, options,
        [&each](const MutationCase& one, const Bench&, const Target& target, Mutation mutation,
                const std::vector<Mutation>&) { each(one, target, mutation); });
}

std::map<Mutation, Counts> mutate_ops(const SuiteOptions& options) {
    std::map<Mutation, Counts> counts;
    for_each_op_mutant(DType::f64, 1e-6, options,
                       [&](const MutationCase& one, const Bench& bench, const Target& target,
                           Mutation mutation, const std::vector<Mutation>& possible) {
                           bench.attempt(
                               mutation, target, possible, [&one] { return check(one); },
                               counts[mutation]);
                       });
    return counts;
}

std::map<Mutation, Counts> mutate_ops_in(DType dtype, const SuiteOptions& options) {
    std::map<Mutation, Counts> counts;
    for_each_op_mutant(
        dtype, is_half(dtype) ? 0.25 : 1e-2, options,
        [&](const MutationCase& one, const Bench&, const Target& target, Mutation mutation,
            const std::vector<Mutation>&) {
            Counts& count = counts[mutation];
            ++count.mutants;
            const Mutant mutant(mutation, target);
            const PrecisionReport report =
                compare_precisions(one.bound.f, one.bound.inputs, 1, dtype);
            if (report.verdict == Verdict::fail) ++count.detected;
            if (report.verdict == Verdict::inconclusive) ++count.inconclusive;
            if (report.verdict == Verdict::fail) return;
            options.told(fmt::format("{}, not detected: {} operand {}, {}\n{}", dtype, target.op,
                                     target.operand, to_string(mutation), to_string(report)));
        });
    return counts;
}

std::map<std::string, Counts> mutate_models(const SuiteOptions& options) {
    std::map<std::string, Counts> counts;
    int number = 0;
    for (const std::string name : {"mlp", "attention", "lstm", "gpt"}) {
        const CheckedModule checked = checked_module(name);
        Tensors leaves;
        const NamedTensors named = checked.leaves(DType::f64);
        for (const auto& [path, leaf] : named) leaves.push_back(leaf);
        checked.module->eval();  // the bench does not freeze dropout in its own runs
        const Bench bench(name, checked.value, leaves, options);
        // An op occurs many times in a model: uses one occurrence per kind, a different one for
        // each kind of mutant.
        std::map<std::string, std::vector<std::pair<Target, std::vector<Mutation>>>> by_op;
        for (const auto& found : targets_of(checked.value)) by_op[found.first.op].push_back(found);
        Generator generator(7);
        for (const auto& [op, found] : by_op) {
            for (const Mutation mutation : all_mutations()) {
                std::vector<std::size_t> able;
                for (std::size_t i = 0; i < found.size(); ++i) {
                    const auto& possible = found[i].second;
                    const bool can =
                        std::find(possible.begin(), possible.end(), mutation) != possible.end();
                    if (can) able.push_back(i);
                }
                if (able.empty() || number++ % options.every != 0) continue;
                const auto chosen = static_cast<std::size_t>(
                    randint(0, static_cast<std::int64_t>(able.size()), {}, generator).item());
                const auto& [target, possible] = found[able[chosen]];
                if (!bench.matters(mutation, target, 1e-6)) continue;
                bench.attempt(
                    mutation, target, possible,
                    [&checked, &named] {
                        return gradcheck(checked.value, named,
                                         {.certainty = 0.95, .preconditions = false});
                    },
                    counts[name]);
            }
        }
    }
    return counts;
}

namespace {
// Whether the function takes these numbers and its value and gradient are finite.
bool is_finite_in_f32(const ScaledCase& one) try {
    const BoundCase bound = bind_case(*one.row, one.inputs);
    const Tensors narrow = as_leaves(bound.inputs, DType::f32);
    const auto y = bound.f(narrow).to_vector<double>();
    const auto g = gradient_of([&] { return bound.f(narrow); }, narrow);
    const auto finite = [](double value) { return std::isfinite(value); };
    return std::all_of(y.begin(), y.end(), finite) && std::all_of(g.begin(), g.end(), finite);
} catch (const ValueError&) {  // a matrix that is no longer positive definite
    return false;
}
}  // namespace

ScaledCase random_case(std::uint64_t number, std::uint64_t seed) {
    Generator generator(seed * 1000003 + number);
    const auto choose = [&generator](std::size_t n) {
        return static_cast<std::size_t>(
            randint(0, static_cast<std::int64_t>(n), {}, generator).item());
    };
    std::vector<const OpCase*> rows;
    for (const OpCase& row : all_cases()) {
        if (row.differentiable) rows.push_back(&row);
    }
    for (;;) {
        ScaledCase one{rows[choose(rows.size())], 0, {}, {}, {}};
        one.sample = choose(one.row->samples.size());
        const Tensors drawn =
            make_inputs(one.row->samples[one.sample], DType::f64, seed + 3 * number);
        if (real_numel(drawn) == 0) continue;
        Values& powers = one.powers;
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            powers.push_back(uniform({}, -6, 6, generator, DType::f64).item());
        }
        for (int attempt = 0; attempt < 6; ++attempt) {
            one.inputs.clear();
            one.title = fmt::format("{} sample {}", one.row->title(), one.sample);
            for (std::size_t i = 0; i < drawn.size(); ++i) {
                if (!is_floating(drawn[i].dtype())) {
                    one.inputs.push_back(drawn[i]);
                    continue;
                }
                Values values = drawn[i].to_vector<double>();
                for (double& value : values) {  // the same numbers in f32
                    value = static_cast<float>(value * std::pow(10, powers[i]));
                }
                one.inputs.push_back(tensor(values, drawn[i].shape()));
                one.title += fmt::format(", input {} times 1e{:+.1f}", i, powers[i]);
            }
            if (is_finite_in_f32(one)) return one;
            for (double& power : powers) power = attempt == 4 ? 0 : power / 2;
        }
    }
}

GradcheckReport check(const ScaledCase& one, std::uint64_t number) {
    const BoundCase bound = bind_case(*one.row, one.inputs);
    return gradcheck(bound.f, bound.inputs,
                     {.dual = bound.dual, .preconditions = false, .seed = number});
}

FalseAlarms false_alarms(int cases, DType dtype, std::uint64_t seed, const Told& told) {
    FalseAlarms found;
    for (int i = 0; i < cases; ++i) {
        const auto number = static_cast<std::uint64_t>(i);
        const ScaledCase one = random_case(number, seed);
        Verdict verdict = Verdict::pass;
        Reason reason = Reason::none;
        std::string text;
        if (dtype == DType::f64) {
            const GradcheckReport report = check(one, number);
            verdict = report.verdict;
            reason = report.reason;
            text = to_string(report);
        } else {
            const BoundCase bound = bind_case(*one.row, one.inputs);
            try {
                const PrecisionReport report = compare_precisions(bound.f, bound.inputs, 1, dtype);
                verdict = report.verdict;
                reason = report.reason;
                text = to_string(report);
            } catch (const ValueError&) {  // scaled out of the domain: no factor of Cholesky's
                continue;
            }
        }
        ++found.cases;
        if (verdict == Verdict::pass) continue;
        if (verdict == Verdict::fail) ++found.alarms;
        if (verdict == Verdict::inconclusive) {
            ++found.inconclusive;
            ++found.reasons[std::string(to_string(reason))];
        }
        told(fmt::format("{} (case {}, {})\n{}", one.title, i, dtype, text));
    }
    return found;
}

}  // namespace tapestry::test
