#include <tapestry/autograd/check/conventions.h>

#include <tapestry/autograd/check/layouts.h>
#include <tapestry/autograd/check/plain_op.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/core/create.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr double kOtherwise = 1e-3;  // of the largest entry: sums in another order are closer

// What an entry gives back, by operand; those that are not asked for are missing.
using Answers = std::map<std::size_t, Values>;

bool is_finite(const Answers& answers) {
    return std::all_of(answers.begin(), answers.end(), [](const auto& one) {
        return std::all_of(one.second.begin(), one.second.end(),
                           [](double x) { return std::isfinite(x); });
    });
}

// The first operand, of those in both, whose answers are visibly apart.
struct Gap {
    std::size_t operand = 0, at = 0;
    double by = 0, usual = 0, other = 0;
};

std::optional<Gap> gap_between(const Answers& usual, const Answers& other) {
    for (const auto& [operand, values] : usual) {
        const auto found = other.find(operand);
        if (found == other.end() || found->second.size() != values.size()) continue;
        const double size = std::max(largest(values), largest(found->second));
        Gap most{operand};
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double by = std::abs(values[i] - found->second[i]);
            if (by <= kOtherwise * size || by / size <= most.by) continue;  // NaN is apart
            most = {operand, i, std::isfinite(by) ? by / size : 1, values[i], found->second[i]};
        }
        if (most.by > 0) return most;
    }
    return {};
}

Values numbers_of(const Tensors& tensors) {
    Values all;
    for (const Tensor& x : tensors) {
        if (!x.defined() || x.dtype() != DType::f64) continue;
        const Values one = x.to_vector<double>();
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

// One entry, called in every way.
class EntryCaller {
public:
    EntryCaller(Op& op, Tensors inputs, Tensors outputs, std::uint64_t seed)
        : op_(op), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
        for (const Tensor& y : outputs_) {
            const bool real = y.defined() && y.dtype() == DType::f64;
            incoming_.push_back(
                real ? tensor(random_weights(static_cast<std::size_t>(y.numel()), seed + 91),
                              y.shape())
                     : Tensor());
        }
    }

    std::optional<WrongOp> find() {
        usual_ = asked(incoming_);
        if (usual_.empty() || !is_finite(usual_)) return {};
        for (const auto ask : {&EntryCaller::twice, &EntryCaller::incoming_layouts,
                               &EntryCaller::without_one_output, &EntryCaller::operand_layouts,
                               &EntryCaller::some_needed, &EntryCaller::one_tensor_twice}) {
            if (auto wrong = (this->*ask)()) return wrong;
        }
        return {};
    }

private:
    bool is_real(std::size_t i) const {
        return inputs_[i].defined() && inputs_[i].dtype() == DType::f64;
    }

    Answers asked(const Tensors& incoming) {
        const Tensors outgoing = op_.walk(incoming);
        Answers answers;
        for (std::size_t i = 0; i < outgoing.size(); ++i) {
            if (!op_.needs(i) || !is_real(i)) continue;
            answers[i] = outgoing[i].defined()
                             ? outgoing[i].to_vector<double>()
                             : Values(static_cast<std::size_t>(inputs_[i].numel()), 0.0);
        }
        return answers;
    }

    WrongOp named(Mistake mistake, const std::string& evidence, const char* hint,
                  const Gap& gap = {}) const {
        WrongOp wrong{.op = op_.name(), .module_path = op_.module_path()};
        wrong.number = op_.number();
        wrong.operand = gap.operand;
        for (const Op::Operand& x : op_.inputs()) {
            wrong.shapes += fmt::format("{}{}", wrong.shapes.empty() ? "" : ", ", x.shape);
        }
        wrong.slope.where =
            gap.by > 0 ? fmt::format("at {}", index_text(op_.inputs()[gap.operand].shape,
                                                         static_cast<std::int64_t>(gap.at)))
                       : "";
        wrong.slope.claimed = gap.other;
        wrong.slope.judgement.verdict = Verdict::fail;
        wrong.slope.judgement.numeric = gap.usual;
        wrong.cause = {mistake, evidence, hint};
        return wrong;
    }

    WrongOp other_result(const std::string& how, const char* hint, const Gap& gap) const {
        return named(Mistake::convention,
                     fmt::format("the gradient of operand {} is another one {}: {:.1g} of its "
                                 "largest entry apart",
                                 gap.operand, how, gap.by),
                     hint, gap);
    }

    WrongOp refused(const std::string& how, const char* hint, const Error& error) const {
        return named(Mistake::convention, fmt::format("the rule fails {}: {}", how, error.what()),
                     hint);
    }

    std::optional<WrongOp> twice();
    std::optional<WrongOp> incoming_layouts();
    std::optional<WrongOp> without_one_output();
    std::optional<WrongOp> operand_layouts();
    std::optional<WrongOp> some_needed();
    std::optional<WrongOp> one_tensor_twice();

    // The entry recorded again for other operands, of which the chosen ones require a gradient;
    // nullopt if its forward pass records nothing, or not for these.
    struct Again {
        Values values;
        Answers answers;
    };
    std::optional<Again> again(Tensors inputs, const std::vector<std::size_t>& needed) const;
    std::vector<std::size_t> needed() const;
    Tensors separate() const;

    Op& op_;
    Tensors inputs_, outputs_, incoming_;
    Answers usual_ = {};
};

std::optional<WrongOp> EntryCaller::twice() {
    static const char* const kOwns =
        "the rule works in place in memory that it does not own: where a value is used twice, the "
        "other use has been handed the same tensor";
    const Values incoming = numbers_of(incoming_), inputs = numbers_of(inputs_),
                 outputs = numbers_of(outputs_);
    std::optional<Answers> second;
    try {
        second = asked(incoming_);
    } catch (const Error& error) {
        return named(Mistake::stale,
                     fmt::format("the rule fails when it is called again: {}", error.what()),
                     "it changes what it has saved; a tape may walk an entry several times");
    }
    for (const auto& [what, before, now] :
         {std::tuple{"the incoming gradient's", incoming, numbers_of(incoming_)},
          std::tuple{"an operand's", inputs, numbers_of(inputs_)},
          std::tuple{"the output's", outputs, numbers_of(outputs_)}}) {
        const auto at = std::mismatch(before.begin(), before.end(), now.begin(),
                                      [](double a, double b) { return same_bits({a}, {b}); });
        if (at.first == before.end()) continue;
        return named(Mistake::overwrites,
                     fmt::format("{} element {} was {:.6g}, and is {:.6g} after the rule has run",
                                 what, at.first - before.begin(), *at.first, *at.second),
                     kOwns);
    }
    const auto found = gap_between(usual_, *second);
    if (!found) return {};
    return named(Mistake::stale,
                 fmt::format("the same incoming gradient gave two results, {:.1g} of the largest "
                             "entry apart",
                             found->by),
                 "the rule keeps something between calls, or changes what it has saved", *found);
}

std::optional<WrongOp> EntryCaller::incoming_layouts() {
    static const char* const kStrides =
        "the rule reads its incoming gradient as if it were contiguous: use its strides and "
        "offset, or make it contiguous first (a sum, transpose, slice or cat after the op hands "
        "over such views)";
    for (const Layout layout : kLayouts) {
        Tensors views = incoming_, dense = incoming_;
        bool any = false;
        for (std::size_t i = 0; i < views.size(); ++i) {
            const auto view = views[i].defined() ? laid_out(views[i], layout) : std::nullopt;
            if (!view) continue;
            any = true;
            views[i] = *view;
            dense[i] = view->clone();
        }
        if (!any) continue;
        const std::string how = fmt::format("if the incoming gradient is {}", to_string(layout));
        try {
            const auto found = gap_between(asked(dense), asked(views));
            if (found) return other_result(how, kStrides, *found);
        } catch (const Error& error) {
            return refused(how, kStrides, error);
        }
    }
    return {};
}

std::optional<WrongOp> EntryCaller::without_one_output() {
    static const char* const kNone =
        "an output that nothing uses receives no gradient: its tensor is undefined, and means 0";
    const auto real = std::count_if(incoming_.begin(), incoming_.end(),
                                    [](const Tensor& g) { return g.defined(); });
    for (std::size_t i = 0; i < incoming_.size() && real > 1; ++i) {
        if (!incoming_[i].defined()) continue;
        Tensors missing = incoming_, zero = incoming_;
        missing[i] = Tensor();
        zero[i] = zeros(incoming_[i].shape(), DType::f64);
        const std::string how = fmt::format("if no gradient arrives at output {}", i);
        try {
            const auto found = gap_between(asked(zero), asked(missing));
            if (found) return other_result(how, kNone, *found);
        } catch (const Error& error) {
            return refused(how, kNone, error);
        }
    }
    return {};
}

// ---- recorded again -----------------------------------------------------------------------------

std::vector<std::size_t> EntryCaller::needed() const {
    std::vector<std::size_t> chosen;
    for (const auto& [operand, values] : usual_) chosen.push_back(operand);
    return chosen;
}

// The operands in memory of their own: two may be one tensor.
Tensors EntryCaller::separate() const {
    Tensors operands = inputs_;
    for (const std::size_t i : needed()) operands[i] = inputs_[i].clone();
    return operands;
}

std::optional<EntryCaller::Again> EntryCaller::again(Tensors inputs,
                                                     const std::vector<std::size_t>& needed) const {
    for (Tensor& x : inputs) {
        if (x.defined()) x = x.detach();
    }
    Tensors leaves;
    for (const std::size_t i : needed) {
        // One tensor as several operands stays one leaf.
        const auto same = std::find_if(needed.begin(), needed.end(), [&](std::size_t k) {
            return k < i && inputs[k].storage() == inputs[i].storage();
        });
        inputs[i] = same != needed.end() ? inputs[*same] : inputs[i].set_requires_grad();
        leaves.push_back(inputs[i]);
    }
    try {
        Tape scratch;
        const Tensors outputs = op_.forward(inputs);
        Again found{numbers_of(outputs), {}};
        bool followed = false;
        for (std::size_t k = 0; k < std::min(outputs.size(), incoming_.size()); ++k) {
            if (!incoming_[k].defined() || !scratch.follows(outputs[k])) continue;
            followed = true;
            const NoGradGuard no_grad;
            const Tensors slopes =
                scratch.gradient(outputs[k], leaves, {.cotangent = incoming_[k], .retain = true});
            for (std::size_t n = 0; n < needed.size(); ++n) {
                const Values one = slopes[n].to_vector<double>();
                Values& sum = found.answers[needed[n]];
                sum.resize(one.size());
                for (std::size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
            }
        }
        if (!followed || !is_finite(found.answers) || !is_finite({{0, found.values}})) return {};
        return found;
    } catch (const Error&) {  // an op may refuse operands
        return {};
    }
}

std::optional<WrongOp> EntryCaller::operand_layouts() {
    static const char* const kStrides =
        "the op reads an operand, or what it has saved of it, as if it were contiguous: use its "
        "strides and offset, or make it contiguous first";
    for (const Layout layout : kLayouts) {
        Tensors views = separate(), dense = views;
        bool any = false;
        for (std::size_t i = 0; i < views.size(); ++i) {
            const auto view = is_real(i) ? laid_out(views[i], layout) : std::nullopt;
            if (!view) continue;
            any = true;
            views[i] = *view;
            dense[i] = view->clone();
        }
        if (!any) continue;
        const auto usual = again(dense, needed()), other = again(views, needed());
        if (!usual || !other) continue;
        const std::string how = fmt::format("if an operand is {}", to_string(layout));
        if (const auto value = gap_between({{0, usual->values}}, {{0, other->values}})) {
            return named(Mistake::convention,
                         fmt::format("the value is another one {}: {:.1g} of its largest element "
                                     "apart",
                                     how, value->by),
                         kStrides);
        }
        const auto found = gap_between(usual->answers, other->answers);
        if (found) return other_result(how, kStrides, *found);
    }
    return {};
}

std::optional<WrongOp> EntryCaller::some_needed() {
    const std::vector<std::size_t> all = needed();
    const Tensors operands = separate();
    const auto usual = all.size() > 1 ? again(operands, all) : std::nullopt;
    if (!usual) return {};
    constexpr std::size_t kMany = 4;  // from here on: each alone, and all but each
    const std::size_t sets = std::size_t{1} << std::min(all.size(), std::size_t{16});
    for (std::size_t set = 1; set + 1 < sets; ++set) {
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < all.size() && i < 16; ++i) {
            if ((set >> i & 1U) != 0) chosen.push_back(all[i]);
        }
        if (all.size() >= kMany && chosen.size() > 1 && chosen.size() + 1 < all.size()) continue;
        const auto other = again(operands, chosen);
        const auto found = other ? gap_between(usual->answers, other->answers) : std::nullopt;
        if (!found) continue;
        return other_result(
            fmt::format("if only those of {} are needed", fmt::join(chosen, " and ")),
            "needs(i) tells which gradients are wanted: the results must still be in their "
            "operands' places",
            *found);
    }
    return {};
}

std::optional<WrongOp> EntryCaller::one_tensor_twice() {
    const std::vector<std::size_t> all = needed();
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
        const std::size_t a = all[k], b = all[k + 1];
        if (!(inputs_[a].shape() == inputs_[b].shape())) continue;
        Tensors apart_in_memory = inputs_, together = inputs_;
        apart_in_memory[b] = inputs_[a].clone();
        together[b] = inputs_[a];
        const auto usual = again(apart_in_memory, {a, b}), other = again(together, {a, b});
        if (!usual || !other) continue;
        Values sum = usual->answers.at(a);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += usual->answers.at(b)[i];
        const auto found = gap_between({{a, sum}}, {{a, other->answers.at(a)}});
        if (!found) continue;
        return other_result(fmt::format("if operands {} and {} are one tensor", a, b),
                            "both uses contribute, and neither may be written into the other",
                            *found);
    }
    return {};
}

// ---- every entry --------------------------------------------------------------------------------

class ConventionChecker final : public TapeObserver {
public:
    explicit ConventionChecker(std::uint64_t seed) : seed_(seed) {}

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
        if (!busy_ && !is_plain(op)) known_[&op] = {inputs, outputs};
    }

    void walked(Op& op, const Tensors&, Tensors&) override {
        const auto found = known_.find(&op);
        if (busy_ || found == known_.end()) return;
        busy_ = true;
        const NoGradGuard no_grad;
        auto wrong = EntryCaller(op, found->second.first, found->second.second, seed_).find();
        if (wrong) all_.push_back(*std::move(wrong));
        known_.erase(found);  // an entry is walked again for every output of the subject
        busy_ = false;
    }

    std::vector<WrongOp> wrong() {
        std::stable_sort(all_.begin(), all_.end(),
                         [](const WrongOp& a, const WrongOp& b) { return a.number < b.number; });
        return std::move(all_);
    }

private:
    std::uint64_t seed_;
    std::unordered_map<const Op*, std::pair<Tensors, Tensors>> known_;
    std::vector<WrongOp> all_;
    bool busy_ = false;
};

}  // namespace

std::vector<WrongOp> find_broken_conventions(Subject& subject, const std::vector<double>& weights,
                                             std::uint64_t seed) {
    std::vector<Values> before;
    Tensors leaves;
    for (const auto& [name, leaf] : subject.leaves()) {
        leaves.push_back(leaf);
        before.push_back(leaf.to_vector<double>());
    }
    ConventionChecker checker(seed);
    {
        Tape tape;
        const Tensors outputs = subject.outputs_on(tape);
        const Tensors cotangents = subject.as_cotangents(weights);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!tape.follows(outputs[i])) continue;
            try {
                tape.gradient(outputs[i], leaves, {.cotangent = cotangents[i], .retain = true});
            } catch (const AutogradError&) {  // a saved tensor has been changed, as found already
                break;
            }
        }
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (same_bits(leaves[i].to_vector<double>(), before[i])) continue;
        std::copy(before[i].begin(), before[i].end(), leaves[i].mutable_data<double>());
    }
    return checker.wrong();
}

std::string convention_text(const WrongOp& wrong) {
    const std::string path =
        wrong.module_path.empty() ? "" : fmt::format(", {}", wrong.module_path);
    return fmt::format("{} (#{}{}): {}", wrong.op, wrong.number, path, wrong.cause.evidence);
}

}  // namespace tapestry::checker
