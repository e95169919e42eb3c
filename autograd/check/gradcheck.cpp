#include <tapestry/autograd/check/gradcheck.h>

#include <tapestry/autograd/check/claims.h>
#include <tapestry/autograd/check/conventions.h>
#include <tapestry/autograd/check/size_classes.h>
#include <tapestry/autograd/check/whole_check.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

using namespace checker;
using Values = std::vector<double>;

void check_errors(const GradcheckOptions& o) {
    for (const auto& [name, value] : {std::pair{"noise", o.noise},
                                      {"relative_noise", o.relative_noise},
                                      {"atol", o.atol.value_or(0)},
                                      {"rtol", o.rtol.value_or(0)}}) {
        require(value >= 0, "gradcheck: {} must be 0 or more, got {}", name, value);
    }
    for (const auto& [name, value] : {std::pair{"eps", o.eps.value_or(1)},
                                      {"limits.resolution", o.limits.resolution},
                                      {"limits.safety", o.limits.safety}}) {
        require(value > 0, "gradcheck: {} must be positive, got {}", name, value);
    }
}

Examination examination_of(const GradcheckOptions& o) {
    check_errors(o);
    const bool fixed = o.eps || o.atol || o.rtol;
    return {o.limits,
            fixed,
            o.eps.value_or(1e-6),
            o.atol.value_or(1e-5),
            o.rtol.value_or(1e-3),
            o.noise,
            o.relative_noise};
}

// An error is orthogonal to random signs with probability at most 1/2: given all signs except that
// of one wrong element, at most one choice of the last makes the sum 0.
int directions_for(double certainty) {
    require(certainty > 0 && certainty < 1, "gradcheck: certainty must be between 0 and 1, got {}",
            certainty);
    return std::max(1, static_cast<int>(std::ceil(-std::log2(1 - certainty))));
}

constexpr double kLargestDeviation = 1e-6;  // of a function from itself, to be called noise
class Check {
public:
    Check(Subject& subject, const GradcheckOptions& options)
        : subject_(subject),
          options_(options),
          examination_(examination_of(options)),
          directions_(directions_for(options.certainty)) {
        require(options.differences || options.dual || options.transpose,
                "gradcheck: without differences, dual numbers or the transpose must be enabled");
        // The numbers of a function with one output stay what its author knows.
        weights_ =
            subject.outputs() == 1 ? Values{1} : random_weights(subject.outputs(), options.seed);
        // What a small weight leaves of an output is lost in a narrow format.
        if (options.limits.format != Format::f64 && weights_.size() > 1) {
            for (double& w : weights_) w = even_weight(w);
        }
    }

    GradcheckReport run() {
        try {
            look();
        } catch (const Budget::Spent& spent) {
            stop_at(spent.limit);
        }
        report_.runs = subject_.runs();
        report_.not_defined = subject_.not_defined();
        return std::move(report_);
    }

private:
    void look() {
        // A plain function's deviation from itself is part of its noise, which shaken bits show.
        const double deviation = options_.limits.lost_may_pass ? 0 : kLargestDeviation;
        if (const std::string random = find_randomness(subject_, deviation); !random.empty()) {
            report_.verdict = Verdict::inconclusive;
            report_.reason = Reason::not_deterministic;
            report_.complaints.push_back(random);
            return;
        }
        if (options_.preconditions) {
            for (const std::string& complaint : find_dependence_on_running(subject_, weights_)) {
                complain(complaint);
            }
        }
        // Thousands of runs on a few numbers each: several threads would spend the time waiting for
        // each other. Their number changes no bit.
        const OwnThreadsGuard threads(is_small() ? 1 : num_threads());
        around_ = subject_.look_around(options_.seed);
        if (options_.preconditions) {
            conventions_ = find_broken_conventions(subject_, weights_, options_.seed);
        }
        collect_claims();
        for (const WrongOp& broken : conventions_) {
            // A rule that changes its caller's memory, or answers twice in two ways, may have been
            // heard of already.
            const Mistake mistake = broken.cause.mistake;
            const bool is_known = mistake == Mistake::overwrites ? !subject_.overwritten().empty()
                                  : mistake == Mistake::stale    ? !report_.complaints.empty()
                                                                 : false;
            if (!is_known) complain(convention_text(broken));
        }
        for (; examined_ < subject_.leaves().size(); ++examined_) examine_input(examined_);
        ask_oracles();
        conclude();
        if (report_.verdict == Verdict::fail && options_.explain) explain();
    }

    // Errors found so far remain; inputs not fully examined become inconclusive.
    void stop_at(const std::string& limit) {
        report_.limit = limit;
        if (concluded_) return;  // only the cause was still being sought
        for (std::size_t i = examined_; i < subject_.leaves().size(); ++i) {
            InputReport& input = report_of(i);
            if (input.method.empty()) input.method = "not looked at";
            if (input.verdict == Verdict::fail) continue;
            input.verdict = Verdict::inconclusive;
            input.reason = Reason::limit;
        }
        conclude();
        if (report_.verdict != Verdict::pass) return;
        report_.verdict = Verdict::inconclusive;
        report_.reason = Reason::limit;
    }

    void complain(std::string_view complaint, Verdict verdict = Verdict::fail) {
        report_.complaints.emplace_back(complaint);
        if (verdict <= report_.verdict) return;
        report_.verdict = verdict;
        const bool open = verdict == Verdict::inconclusive;
        report_.reason = open ? Reason::undeclared_error : Reason::none;
    }

    bool is_small() const {
        constexpr std::int64_t kSmall = 50000;
        std::int64_t numbers = static_cast<std::int64_t>(subject_.outputs());
        for (const auto& [name, leaf] : subject_.leaves()) numbers += leaf.numel();
        return numbers < kSmall;
    }

    static bool fits_jacobian(std::int64_t inputs, std::size_t outputs) {
        return static_cast<double>(inputs) * static_cast<double>(outputs) <= 256;
    }

    GradcheckMethod method_for(const Tensor& leaf) const {
        if (options_.method != GradcheckMethod::automatic) return options_.method;
        if (fits_jacobian(leaf.numel(), subject_.outputs())) return GradcheckMethod::jacobian;
        return leaf.numel() <= 256 ? GradcheckMethod::entries : GradcheckMethod::directions;
    }

    void collect_claims() {
        const auto& leaves = subject_.leaves();
        const auto each = std::count_if(leaves.begin(), leaves.end(), [this](const auto& leaf) {
            return method_for(leaf.second) == GradcheckMethod::jacobian;
        });
        const bool classes = each < static_cast<std::ptrdiff_t>(leaves.size());
        claims_.collect(each > 0, classes && !examination_.fixed,
                        [this](const Complaint& heard) { complain(heard.text, heard.verdict); });
    }

    // The report of leaf i, created if necessary.
    InputReport& report_of(std::size_t i) {
        const auto& [name, leaf] = subject_.leaves()[i];
        if (i == report_.inputs.size()) {
            report_.inputs.push_back({.name = name, .shape = leaf.shape()});
        }
        return report_.inputs[i];
    }

    void examine_input(std::size_t i) {
        const Tensor& leaf = subject_.leaves()[i].second;
        InputReport& found = report_of(i);
        if (leaf.numel() == 0) {
            found.method = "no entries";
            return;
        }
        if (!options_.differences) {
            found.method = "other oracles only";
            return;
        }
        if (method_for(leaf) == GradcheckMethod::jacobian) {
            found.method = fmt::format("full Jacobian, {} x {}", subject_.outputs(), leaf.numel());
            compare_entries(subject_, i, around_, claims_.with_each(i), examination_, found);
            return;
        }
        compare_together(i, claims_.together(i), found);
        // In a narrow format, what rounding hides in each class of outputs may show in all of them.
        const bool narrow = options_.limits.format != Format::f64;
        if (!narrow || found.verdict != Verdict::inconclusive || !claims_.has_classes()) return;
        InputReport of_all{.name = found.name, .shape = found.shape};
        compare_together(i, {&claims_.of_all_outputs(i), 1}, of_all);
        if (of_all.verdict == Verdict::fail) found = std::move(of_all);
    }

    // Of these claims: entry by entry, or along directions.
    void compare_together(std::size_t i, std::span<const ClaimedGradient> claims,
                          InputReport& found) {
        const Tensor& leaf = subject_.leaves()[i].second;
        if (method_for(leaf) != GradcheckMethod::directions) {
            found.method = fmt::format("every entry, {}", leaf.numel());
            compare_entries(subject_, i, around_, claims, examination_, found);
            return;
        }
        found.method =
            fmt::format("{} random direction{}", directions_, directions_ == 1 ? "" : "s");
        report_.certainty = 1 - std::ldexp(1.0, -directions_);
        compare_directions(subject_, i, around_, claims, directions_, options_.seed + 100 * i,
                           examination_, found);
    }

    void ask_oracles() {
        Oracles oracles(subject_, options_, weights_, around_);
        for (std::size_t i = 0; i < report_.inputs.size(); ++i) {
            report_.inputs[i].opinions = oracles.ask(i, claims_.of_all_outputs(i));
        }
        if (!oracles.complaint().empty()) complain(oracles.complaint());
    }

    void conclude() {
        concluded_ = true;
        for (InputReport& input : report_.inputs) conclude(input);
    }

    // Which oracle disagrees? Differences check the function itself, dual numbers its definition,
    // the transpose the rules as recorded.
    void conclude(InputReport& input) {
        std::string against;
        bool definition_agrees = false;
        for (const Opinion& opinion : input.opinions) {
            if (!opinion.agrees) against += (against.empty() ? "" : " and ") + opinion.oracle;
            definition_agrees =
                definition_agrees || (opinion.agrees && opinion.oracle == kDualNumbers);
        }
        const std::string& name = input.name;
        if (input.verdict == Verdict::fail && !against.empty()) {
            complain(fmt::format("{}: the tape disagrees with differences and {}", name, against));
        } else if (input.verdict == Verdict::fail && definition_agrees) {
            complain(
                fmt::format("{}: only the differences disagree: tape and dual numbers agree, so "
                            "look at the forward pass",
                            name));
        } else if (!against.empty()) {
            complain(fmt::format("{}: {} against the tape{}", name, against,
                                 input.verdict == Verdict::pass ? " and the differences" : ""));
        }
        if (!against.empty()) input.verdict = Verdict::fail;
        report_.resolution = std::max(report_.resolution, input.resolution);
        if (input.verdict > report_.verdict) {
            report_.verdict = input.verdict;
            report_.reason = input.reason;
        }
    }

    void explain() {
        // If f is a step function, the input's note explains everything.
        for (const InputReport& input : report_.inputs) {
            if (input.verdict == Verdict::fail && input.worst.judgement.constant) return;
        }
        // An op that breaks a convention misleads the search: it passes when tested by itself.
        const auto broken =
            std::find_if(conventions_.begin(), conventions_.end(), [](const WrongOp& wrong) {
                return wrong.cause.mistake == Mistake::convention ||
                       wrong.cause.mistake == Mistake::overwrites;
            });
        report_.first_wrong =
            broken != conventions_.end()
                ? std::optional(*broken)
                : find_wrong_op(subject_, report_.inputs, weights_, options_.limits, options_.seed);
        if (!report_.first_wrong && !conventions_.empty()) report_.first_wrong = conventions_[0];
        if (report_.first_wrong) return;
        const auto wrong = std::find_if(report_.inputs.begin(), report_.inputs.end(),
                                        [](const auto& x) { return x.verdict == Verdict::fail; });
        if (wrong == report_.inputs.end() || wrong->worst.judgement.verdict != Verdict::fail)
            return;
        const auto i = static_cast<std::size_t>(wrong - report_.inputs.begin());
        report_.cause = find_cause(subject_, i, weights_, claims_.of_all_outputs(i).gradient,
                                   wrong->first_wrong, options_.limits.format);
    }

    Subject& subject_;
    const GradcheckOptions& options_;
    Examination examination_;
    int directions_;
    Values weights_;
    Neighbourhood around_;
    Claims claims_{subject_, options_, weights_, around_};
    std::vector<WrongOp> conventions_ = {};  // entries that break one
    std::size_t examined_ = 0;               // number of inputs
    bool concluded_ = false;
    GradcheckReport report_;
};

}  // namespace

NamedTensors checker::named_leaves(const Tensors& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& x = inputs[i];
        require<DTypeError>(x.defined(), "gradcheck: input {} is undefined", i);
        require<DTypeError>(
            is_floating(x.dtype()),
            "gradcheck: input {} is {}, which has no gradient; let the function capture it", i,
            x.dtype());
        require<DTypeError>(x.dtype() == DType::f64,
                            "gradcheck: input {} is {}, whose rounding hides the differences; "
                            "pass f64, and see compare_precisions()",
                            i, x.dtype());
    }
    refuse_overlaps(inputs);
    NamedTensors leaves;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        leaves.emplace_back(fmt::format("input {}", i),
                            inputs[i].detach().clone().set_requires_grad());
    }
    return leaves;
}

Tensors checker::values_of(const NamedTensors& leaves) {
    Tensors values;
    for (const auto& [name, leaf] : leaves) values.push_back(leaf);
    return values;
}

GradcheckReport checker::check_subject(Subject& subject, const GradcheckOptions& options) {
    return Check(subject, options).run();
}

GradcheckReport checker::check_function(const Subject::Function& f, const NamedTensors& leaves,
                                        const char* name, const GradcheckOptions& options,
                                        const Subject::OfNumbers& of_numbers,
                                        std::shared_ptr<Budget> budget) {
    require(options.format == Format::f64,
            "gradcheck: format = {} is an option of plain functions (check_gradient)",
            to_string(options.format));
    require(!leaves.empty(), "gradcheck: there are no inputs");
    if (!budget) budget = std::make_shared<Budget>(options.limits);
    const auto run = [&] {
        if (options.reset) options.reset();
        return f();
    };
    GradcheckReport report = check_points(leaves, options, [&] {
        Subject subject(run, leaves);
        subject.set_budget(budget);
        subject.set_of_numbers(of_numbers);
        if (!options.far_steps || !options.bounds.empty()) subject.stay_near(options.bounds);
        return check_subject(subject, options);
    });
    report.subject = name;
    report.seed = options.seed;
    return report;
}

GradcheckReport gradcheck(const std::function<Tensor()>& f, const NamedTensors& leaves,
                          const GradcheckOptions& options) {
    GradcheckReport report =
        check_function([&f] { return Tensors{f()}; }, leaves, "order 1", options);
    report.reproduce = call_text("gradcheck(f, leaves{})", options);
    return report;
}

GradcheckReport gradcheck(const TensorFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options) {
    const NamedTensors leaves = named_leaves(inputs);
    const Tensors x = values_of(leaves);
    GradcheckReport report = gradcheck([&f, &x] { return f(x); }, leaves, options);
    report.reproduce = call_text("gradcheck(f, inputs{})", options);
    return report;
}

}  // namespace tapestry
