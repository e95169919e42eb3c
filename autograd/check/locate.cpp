// Finds the entry of the tape that is at fault, and describes its gradient.
#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/autograd/check/plain_op.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/core/create.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

constexpr std::int64_t kSmall = 24;  // up to this many entries, all are compared
constexpr int kDirections = 4;

// One entry by itself, as a function of those operands whose gradients are needed.
class EntryChecker {
public:
    /// `known`: the reports on the leaves of `whole`.
    EntryChecker(const Subject& whole, const std::vector<InputReport>& known, Op& op,
                 const Tensors& inputs, const GradcheckLimits& limits, std::uint64_t seed)
        : op_(op), examination_{.limits = limits}, seed_(seed) {
        NamedTensors leaves;
        Tensors operands = inputs, origins;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const Tensor& x = inputs[i];
            if (!x.defined() || x.dtype() != DType::f64 || !op.needs(i)) continue;
            operands[i] = x.detach().clone().set_requires_grad();
            leaves.emplace_back(fmt::format("operand {}", i), operands[i]);
            origins.push_back(x);
            which_.push_back(i);
            known_.push_back(of_leaf(whole, known, x));
        }
        if (leaves.empty()) return;
        subject_ = std::make_unique<Subject>([&op, operands] { return op.forward(operands); },
                                             std::move(leaves));
        subject_->stay_near_as(whole, origins);
    }

    std::optional<WrongOp> check(const Tensors& incoming, const Tensors& outgoing) {
        if (subject_ == nullptr || subject_->outputs() == 0) return {};
        const Neighbourhood around = subject_->look_around(seed_);
        const Values real = joined(incoming);
        // A seed other than that of the checker's output weights.
        const Values random = random_weights(real.size(), seed_ + 77);
        if (auto wrong = overwriting(random)) return wrong;
        if (auto wrong = remembering(random)) return wrong;
        const auto by_random = claims(random);
        const auto by_real = claims_of(real, outgoing);
        std::optional<WrongOp> unnamed;  // the first wrong operand; another may show the cause
        for (std::size_t k = 0; k < which_.size(); ++k) {
            auto wrong = wrong_operand(k, around, by_random[k], by_real[k]);
            if (wrong && wrong->cause.mistake != Mistake::unknown) return wrong;
            if (wrong && !unnamed) unnamed = std::move(wrong);
        }
        if (unnamed) return unnamed;
        const Tape scratch;  // while a tape is alive, rules use recordable ops
        const auto recorded = claims(random);
        for (std::size_t k = 0; k < which_.size(); ++k) {
            auto wrong = compare(k, around, recorded[k], by_real[k]);
            if (!wrong) continue;
            wrong->form = "as recorded for gradients of gradients";
            return wrong;
        }
        return {};
    }

private:
    // The report on x, if it is a leaf.
    static InputReport of_leaf(const Subject& whole, const std::vector<InputReport>& known,
                               const Tensor& x) {
        for (std::size_t i = 0; i < known.size(); ++i) {
            const Tensor& leaf = whole.leaves()[i].second;
            if (leaf.storage() == x.storage() && leaf.numel() == x.numel()) return known[i];
        }
        return {};
    }

    // Whether the rule leaves its incoming gradient unchanged: another entry may receive the same
    // tensor.
    std::optional<WrongOp> overwriting(const Values& weights) {
        const Tensors handed = subject_->as_cotangents(weights);
        op_.walk(handed);
        const Values now = joined(handed);
        const auto at = std::mismatch(weights.begin(), weights.end(), now.begin());
        if (at.first == weights.end()) return {};
        SlopeReport slope{.where = fmt::format("as it overwrites element {} of the incoming one",
                                               at.first - weights.begin()),
                          .claimed = *at.second};
        slope.judgement.verdict = Verdict::fail;
        slope.judgement.numeric = *at.first;
        return wrong_op(0, slope,
                        {Mistake::overwrites,
                         fmt::format("the incoming gradient's element {} was {:.6g}, and is {:.6g} "
                                     "after the rule has run",
                                     at.first - weights.begin(), *at.first, *at.second),
                         "the rule works in place in memory that it does not own: where a value "
                         "is used twice, the other use has been handed the same gradient"});
    }

    // Whether it gives the same result twice, with another call in between.
    std::optional<WrongOp> remembering(const Values& weights) {
        const Tensors once = op_.walk(subject_->as_cotangents(weights));
        op_.walk(subject_->as_cotangents(random_weights(weights.size(), seed_ + 78)));
        const Tensors again = op_.walk(subject_->as_cotangents(weights));
        for (std::size_t k = 0; k < which_.size(); ++k) {
            const Values first = gradient_at(once, k), second = gradient_at(again, k);
            const auto differs = [](double a, double b) {
                return !(a == b) && !(std::isnan(a) && std::isnan(b));
            };
            const auto at = std::mismatch(first.begin(), first.end(), second.begin(),
                                          [&](double a, double b) { return !differs(a, b); });
            if (at.first == first.end()) continue;
            SlopeReport slope{.where = "of an element, asked twice", .claimed = *at.second};
            slope.judgement.verdict = Verdict::fail;
            slope.judgement.numeric = *at.first;
            return wrong_op(k, slope,
                            {Mistake::stale, "the same incoming gradient gave two results",
                             "the rule keeps something between calls: a buffer that is not filled "
                             "again, or is handed out before it is"});
        }
        return {};
    }

    WrongOp wrong_op(std::size_t k, SlopeReport slope, Cause cause) const {
        WrongOp wrong = wrong_op_of(op_, which_[k]);
        wrong.slope = std::move(slope);
        wrong.cause = std::move(cause);
        return wrong;
    }

    Values joined(const Tensors& incoming) const {
        Values all;
        for (std::size_t i = 0; i < incoming.size(); ++i) {
            const auto n = static_cast<std::size_t>(numel(op_.outputs()[i].shape));
            const Values one = incoming[i].defined() ? incoming[i].to_vector<double>() : Values(n);
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }

    Values gradient_at(const Tensors& outgoing, std::size_t k) const {
        const Tensor& grad = outgoing[which_[k]];
        const auto n = static_cast<std::size_t>(numel(op_.inputs()[which_[k]].shape));
        return grad.defined() ? grad.to_vector<double>() : Values(n, 0.0);
    }

    // The rule's results for `weights`, and for weights changed in their last bits.
    std::vector<ClaimedGradient> claims(const Values& weights) {
        return claims_of(weights, op_.walk(subject_->as_cotangents(weights)));
    }

    std::vector<ClaimedGradient> claims_of(const Values& weights, const Tensors& outgoing) {
        const Values near = with_shaken_bits(weights, seed_ + 1);
        const Tensors shaken = op_.walk(subject_->as_cotangents(near));
        std::vector<ClaimedGradient> all;
        for (std::size_t k = 0; k < which_.size(); ++k) {
            all.push_back({weights, gradient_at(outgoing, k), {gradient_at(shaken, k)}});
        }
        return all;
    }

    std::optional<WrongOp> compare(std::size_t k, const Neighbourhood& around,
                                   const ClaimedGradient& claim, const ClaimedGradient& other) {
        const Op::Operand& operand = op_.inputs()[which_[k]];
        InputReport report{.name = {}, .shape = operand.shape};
        if (auto known = wrong_where_known(k, around, claim)) {
            report = std::move(*known);
        } else if (numel(operand.shape) <= kSmall) {
            compare_entries(*subject_, k, around, std::span(&claim, 1), examination_, report);
        } else {
            compare_directions(*subject_, k, around, std::span(&claim, 1), kDirections, seed_,
                               examination_, report);
        }
        if (report.verdict != Verdict::fail) return {};
        return wrong_op(report, k, claim, other);
    }

    std::optional<WrongOp> wrong_operand(std::size_t k, const Neighbourhood& around,
                                         const ClaimedGradient& by_random,
                                         const ClaimedGradient& by_real) {
        if (is_plain(op_) && known_[k].verdict == Verdict::fail) {
            return wrong_op(known_[k], k, by_real, by_random);
        }
        auto wrong = compare(k, around, by_random, by_real);
        return wrong ? std::move(wrong) : compare(k, around, by_real, by_random);
    }

    WrongOp wrong_op(const InputReport& report, std::size_t k, const ClaimedGradient& claim,
                     const ClaimedGradient& other) {
        WrongOp wrong =
            wrong_op(k, report.worst, find_cause(symptoms(k, claim, other, report.first_wrong)));
        wrong.wrong = wrong_entries(report);
        return wrong;
    }

    // A large leaf's wrong entry need not be searched again.
    std::optional<InputReport> wrong_where_known(std::size_t k, const Neighbourhood& around,
                                                 const ClaimedGradient& claim) {
        InputReport report = known_[k];
        if (report.wrong == 0 || report.one_factor || numel(report.shape) <= kSmall) return {};
        report.worst = examine_entry(*subject_, k, report.first_wrong, around, claim, examination_);
        if (report.worst.judgement.verdict != Verdict::fail) return {};
        report.shape = op_.inputs()[which_[k]].shape;
        return report;
    }

    Symptoms symptoms(std::size_t k, const ClaimedGradient& claim, const ClaimedGradient& other,
                      std::size_t first_wrong) {
        const Op::Operand& operand = op_.inputs()[which_[k]];
        Symptoms s{.shape = operand.shape, .claimed = claim.gradient, .cotangent = claim.weights};
        s.output = op_.outputs().size() == 1
                       ? op_.outputs()[0].shape
                       : Shape{static_cast<std::int64_t>(claim.weights.size())};
        s.other_cotangent = other.weights;
        s.other_claimed = other.gradient;
        s.rule = [this, k](const Values& cotangent) {
            return gradient_at(op_.walk(subject_->as_cotangents(cotangent)), k);
        };
        s.places = chosen_places(claim.gradient.size(), claim.weights.size(), first_wrong);
        measure_slopes(*subject_, k, examination_.limits.format, s);
        for (std::size_t i = 0; i < op_.inputs().size(); ++i) {
            if (i != which_[k] && operand.slot >= 0 && op_.inputs()[i].slot == operand.slot) {
                s.used_twice = true;
            }
        }
        for (std::size_t j = 0; j < which_.size(); ++j) {
            if (j == k || !(op_.inputs()[which_[j]].shape == operand.shape)) continue;
            Symptoms theirs{.shape = operand.shape,
                            .claimed = claim.gradient,
                            .places = s.places,
                            .cotangent = claim.weights};
            measure_slopes(*subject_, j, examination_.limits.format, theirs);
            if (theirs.places != s.places) continue;
            s.others.emplace_back(which_[j], numeric_gradient(theirs));
        }
        return s;
    }

    Op& op_;
    Examination examination_;
    std::uint64_t seed_;
    std::vector<std::size_t> which_;  // operand of each leaf
    std::vector<InputReport> known_;  // the report on the same leaf of `whole`
    std::unique_ptr<Subject> subject_;
};

// Observes the walk of the subject, and checks every entry as it is walked.
class TapeChecker final : public TapeObserver {
public:
    TapeChecker(const Subject& whole, const std::vector<InputReport>& known,
                const GradcheckLimits& limits, std::uint64_t seed)
        : whole_(whole), known_(known), limits_(limits), seed_(seed) {}

    void recorded(const Op& op, const Tensors& inputs, const Tensors&) override {
        if (!busy_) inputs_[&op] = inputs;
    }

    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override {
        const auto found = inputs_.find(&op);
        if (busy_ || found == inputs_.end()) return;
        busy_ = true;
        const NoGradGuard no_grad;
        auto wrong = EntryChecker(whole_, known_, op, found->second, limits_, seed_)
                         .check(incoming, outgoing);
        busy_ = false;
        if (!wrong) return;
        ++count_;
        if (!first_ || wrong->number < first_->number) first_ = std::move(wrong);
    }

    std::optional<WrongOp> first_wrong() {
        if (first_) first_->others = count_ - 1;
        return std::move(first_);
    }

private:
    const Subject& whole_;
    const std::vector<InputReport>& known_;
    GradcheckLimits limits_;
    std::uint64_t seed_;
    std::unordered_map<const Op*, Tensors> inputs_;
    std::optional<WrongOp> first_;
    int count_ = 0;
    bool busy_ = false;
};

// Operands that are constants to the tape although they hold numbers.
class ConstantOperands final : public TapeObserver {
public:
    struct Constant {
        std::string where;
        Values values;
    };

    void recorded(const Op& op, const Tensors& inputs, const Tensors&) override {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const bool constant = op.inputs()[i].slot < 0 && inputs[i].defined();
            if (!constant || inputs[i].dtype() != DType::f64) continue;
            all.push_back({fmt::format("operand {} of {}", i, op.described()),
                           inputs[i].to_vector<double>()});
        }
    }

    std::vector<Constant> all;
};

bool reaches_tape(Subject& subject) {
    Tape tape;
    const Tensors outputs = subject.outputs_on(tape);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&tape](const Tensor& y) { return tape.follows(y); });
}

// A constant of the tape that changes with the leaf: f bypassed the tape to compute it.
std::string changing_constant(Subject& subject, std::size_t which) {
    const auto constants = [&subject] {
        ConstantOperands watcher;
        Tape tape;
        subject.outputs_on(tape);
        return std::move(watcher.all);
    };
    const auto before = constants();
    std::vector<ConstantOperands::Constant> after;
    subject.shifted(which, [&] { subject.where_defined([&] { after = constants(); }); });
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        if (before[i].values != after[i].values) return before[i].where;
    }
    return {};
}

}  // namespace

WrongOp wrong_op_of(const Op& op, std::size_t operand) {
    WrongOp wrong{.op = op.name(), .module_path = op.module_path()};
    wrong.number = op.number();
    wrong.operand = operand;
    const auto listed = [](const auto& operands) {
        std::string text;
        for (const auto& x : operands) {
            text += fmt::format("{}{}", text.empty() ? "" : ", ", x.shape);
        }
        return text;
    };
    wrong.shapes = fmt::format("{} -> {}", listed(op.inputs()), listed(op.outputs()));
    return wrong;
}

std::optional<WrongOp> find_wrong_op(Subject& subject, const std::vector<InputReport>& known,
                                     const std::vector<double>& weights,
                                     const GradcheckLimits& limits, std::uint64_t seed) {
    TapeChecker checker(subject, known, limits, seed);
    Tape tape;
    const Tensors outputs = subject.outputs_on(tape);
    const Tensors cotangents = subject.as_cotangents(weights);
    Tensors asked;
    for (const auto& [name, leaf] : subject.leaves()) asked.push_back(leaf);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!tape.follows(outputs[i])) continue;
        tape.gradient(outputs[i], asked, {.cotangent = cotangents[i], .retain = true});
    }
    return checker.first_wrong();
}

Cause find_cause(Subject& subject, std::size_t which, const std::vector<double>& weights,
                 const std::vector<double>& claimed, std::size_t first_wrong, Format format) {
    if (!reaches_tape(subject)) {
        return {Mistake::detached, "the result is a constant to the tape: nothing was recorded",
                "a detach(), item() or NoGradGuard over all of it"};
    }
    if (const std::string where = changing_constant(subject, which); !where.empty()) {
        return {Mistake::detached,
                where + " changes with this input, but is a constant to the tape",
                "a detach(), item(), NoGradGuard, or arithmetic on data() on the way: the tape "
                "cannot follow what it has not recorded"};
    }
    Symptoms symptoms{
        .shape = subject.leaves()[which].second.shape(), .claimed = claimed, .cotangent = weights};
    symptoms.output = subject.output_shapes().size() == 1
                          ? subject.output_shapes()[0]
                          : Shape{static_cast<std::int64_t>(weights.size())};
    symptoms.places = chosen_places(claimed.size(), weights.size(), first_wrong);
    measure_slopes(subject, which, format, symptoms);
    return find_cause(symptoms);
}

}  // namespace tapestry::checker
