#include <tapestry/autograd/check/gradcheck.h>

#include <tapestry/autograd/check/size_classes.h>
#include <tapestry/autograd/check/whole_check.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

using namespace checker;
using Values = std::vector<double>;

Examination examination_of(const GradcheckOptions& o) {
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

// Whether a rule computes in f32: no other leaves only its numbers, for weights that are not.
bool is_in_f32(const std::vector<Values>& gradient) {
    bool any = false;
    for (const Values& values : gradient) {
        for (const double x : values) {
            if (!std::isfinite(x) || x == 0) continue;
            if (rounded(Format::f32, x) != x) return false;
            any = true;
        }
    }
    return any;
}

bool has_nan(const std::vector<Values>& gradient) {
    return std::any_of(gradient.begin(), gradient.end(), [](const Values& values) {
        return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
    });
}

constexpr double kLargestDeviation = 1e-6;  // of a function from itself, to be called noise
// Gradients with shaken bits: of the incoming gradient times these factors, for plain functions. (A
// tape's ops are exact.)
constexpr double kShakenGradients[] = {1, -0x1p12, 0x1p30};

class Check {
public:
    Check(Subject& subject, const GradcheckOptions& options)
        : subject_(subject),
          options_(options),
          examination_(examination_of(options)),
          directions_(directions_for(options.certainty)) {
        require(options.differences || options.dual || options.transpose,
                "gradcheck: without differences, dual numbers or the transpose must be enabled");
        weights_ = random_weights(subject.outputs(), options.seed);
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
        // What a plain function deviates from itself is part of its noise, which shaken bits show.
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
        const ThreadsGuard threads(is_small() ? 1 : num_threads());
        around_ = subject_.look_around(options_.seed);
        collect_claims();
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

    // The weights of the claims: all outputs together; again with their sizes evened out, if they
    // are very different, or for a plain function each class of sizes by itself; each output
    // element by itself, if a method needs it.
    std::vector<Values> all_weights() {
        std::vector<Values> all{weights_};
        words_ = {"all outputs weighted"};
        const auto& leaves = subject_.leaves();
        const auto count_each =
            std::count_if(leaves.begin(), leaves.end(), [this](const auto& leaf) {
                return method_for(leaf.second) == GradcheckMethod::jacobian;
            });
        const auto count_all = static_cast<std::ptrdiff_t>(leaves.size());
        if (options_.limits.lost_may_pass) {
            if (Values even = evened(weights_, around_); even != weights_) {
                all.push_back(std::move(even));
                words_.emplace_back("outputs weighted by their sizes");
            }
        } else if (count_each < count_all && weights_.size() > 1 && !examination_.fixed) {
            const Values sizes = output_sizes(subject_, around_, options_.seed + 31);
            for (OutputClass& one : output_classes(sizes, weights_)) {
                all.push_back(std::move(one.weights));
                words_.push_back(std::move(one.words));
            }
        }
        together_ = all.size();
        for (std::size_t i = 0; i < weights_.size() && count_each > 0; ++i) {
            all.emplace_back(weights_.size(), 0.0);
            all.back()[i] = 1;
            words_.push_back(fmt::format("output element {}", i));
        }
        return all;
    }

    void collect_claims() {
        const std::vector<Values> all = all_weights();
        const auto& leaves = subject_.leaves();
        const auto gradients = subject_.gradients(all);
        // Do the rules give the same result for the same input again, with another call in between?
        const auto between = subject_.gradient(random_weights(weights_.size(), options_.seed + 3));
        const auto again = subject_.gradient(weights_);
        bool doubted = false;
        if (!has_nan(gradients[0])) {
            const Complaint memory =
                find_memory(subject_, weights_, around_.base.values, gradients[0], between, again);
            doubted = memory.verdict != Verdict::pass;
            if (doubted) complain(memory.text, memory.verdict);
        }
        claims_.resize(leaves.size());
        for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
            for (std::size_t w = 0; w < all.size(); ++w) {
                claims_[leaf].push_back({all[w], gradients[w][leaf], {}, words_[w], is_evened(w)});
            }
        }
        if (!subject_.overwritten().empty()) {
            complain(fmt::format("a backward rule writes into {}", subject_.overwritten()));
        }
        // Shaken bits would only show that.
        if (doubted || !subject_.overwritten().empty()) return;
        for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
            claims_[leaf][0].shaken.push_back(again[leaf]);
        }
        bool scales = false;
        if (options_.limits.format == Format::f64) {  // a rule that rounds is not linear
            const Complaint nonlinear =
                find_nonlinearity(subject_, weights_, around_.base.values, gradients[0]);
            if (nonlinear.verdict != Verdict::pass) complain(nonlinear.text, nonlinear.verdict);
            scales = !options_.limits.lost_may_pass && nonlinear.verdict != Verdict::fail;
        }
        // The last bits of the incoming gradient in the rule's own format.
        const int power = scales && is_in_f32(gradients[0]) ? -22 : -51;
        for (std::uint64_t k = 0; k < std::size(kShakenGradients); ++k) {
            const double factor = scales ? kShakenGradients[k] : 1;
            auto shaken = shaken_gradients(all, options_.seed + 10 + k, factor, power);
            for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
                for (std::size_t w = 0; w < all.size(); ++w) {
                    claims_[leaf][w].shaken.push_back(std::move(shaken[w][leaf]));
                }
            }
        }
    }

    // How far the claims are from themselves: for the incoming gradient times a power of two,
    // divided by it again, with the last bits of everything changed.
    std::vector<std::vector<Values>> shaken_gradients(std::vector<Values> weights,
                                                      std::uint64_t seed, double factor,
                                                      int power) {
        for (Values& w : weights) {
            w = with_shaken_bits(w, seed, power);
            for (double& value : w) value *= factor;
        }
        std::vector<std::vector<Values>> found;
        subject_.shaken(seed, [&] {
            const auto there = subject_.run_where_defined();
            if (!there || there->branch != around_.base.branch) return;
            subject_.where_defined([&] { found = subject_.gradients(weights); });
        });
        // On a kink, the last bits of the inputs select the branch, so they are not shaken.
        if (found.empty()) found = subject_.gradients(weights);
        for (auto& gradient : found) {
            for (Values& slopes : gradient) {
                for (double& slope : slopes) slope /= factor;
            }
        }
        return found;
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
        const auto& claims = claims_[i];
        switch (method_for(leaf)) {
            case GradcheckMethod::jacobian:
                found.method =
                    fmt::format("full Jacobian, {} x {}", subject_.outputs(), leaf.numel());
                compare_entries(subject_, i, around_, with_each(claims), examination_, found);
                break;
            case GradcheckMethod::directions:
                found.method =
                    fmt::format("{} random direction{}", directions_, directions_ == 1 ? "" : "s");
                report_.certainty = 1 - std::ldexp(1.0, -directions_);
                compare_directions(subject_, i, around_, together(claims), directions_,
                                   options_.seed + 100 * i, examination_, found);
                break;
            default:
                found.method = fmt::format("every entry, {}", leaf.numel());
                compare_entries(subject_, i, around_, together(claims), examination_, found);
        }
    }

    bool is_evened(std::size_t w) const {
        return options_.limits.lost_may_pass && w > 0 && w < together_;
    }

    // Of all outputs; by classes, if there are any.
    std::vector<ClaimedGradient> together(const std::vector<ClaimedGradient>& claims) const {
        const bool in_classes = !options_.limits.lost_may_pass && together_ > 1;
        return {claims.begin() + (in_classes ? 1 : 0),
                claims.begin() + static_cast<std::ptrdiff_t>(together_)};
    }

    // Of all outputs, and of each.
    std::vector<ClaimedGradient> with_each(std::vector<ClaimedGradient> claims) const {
        if (options_.limits.lost_may_pass) return claims;
        claims.erase(claims.begin() + 1, claims.begin() + static_cast<std::ptrdiff_t>(together_));
        return claims;
    }

    void ask_oracles() {
        Oracles oracles(subject_, options_, weights_, around_);
        for (std::size_t i = 0; i < report_.inputs.size(); ++i) {
            report_.inputs[i].opinions = oracles.ask(i, claims_[i][0]);
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
        report_.first_wrong =
            find_wrong_op(subject_, report_.inputs, weights_, options_.limits, options_.seed);
        if (report_.first_wrong) return;
        const auto wrong = std::find_if(report_.inputs.begin(), report_.inputs.end(),
                                        [](const auto& x) { return x.verdict == Verdict::fail; });
        if (wrong == report_.inputs.end() || wrong->worst.judgement.verdict != Verdict::fail)
            return;
        const auto i = static_cast<std::size_t>(wrong - report_.inputs.begin());
        report_.cause =
            find_cause(subject_, i, weights_, claims_[i][0].gradient, wrong->first_wrong);
    }

    Subject& subject_;
    const GradcheckOptions& options_;
    Examination examination_;
    int directions_;
    Values weights_;
    Neighbourhood around_;
    std::vector<std::vector<ClaimedGradient>> claims_;  // [leaf][weights]
    std::vector<std::string> words_;                    // [weights]
    std::size_t together_ = 1;                          // leading weights: those over all outputs
    std::size_t examined_ = 0;                          // number of inputs
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
                            "gradcheck: input {} is f32, whose rounding hides the differences; "
                            "pass f64, and see compare_precisions()",
                            i);
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
                                        const char* name, const GradcheckOptions& options) {
    require(options.format == Format::f64,
            "gradcheck: format = {} is an option of plain functions (check_gradient)",
            to_string(options.format));
    const auto budget = std::make_shared<Budget>(options.limits);
    const auto run = [&] {
        if (options.reset) options.reset();
        return f();
    };
    GradcheckReport report = check_points(leaves, options, [&] {
        Subject subject(run, leaves);
        subject.set_budget(budget);
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
