#include <tapestry/autograd/check/entry_caller.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/layouts.h>
#include <tapestry/autograd/check/whole_check.h>
#include <tapestry/core/create.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace tapestry::checker {

bool all_finite(const Answers& answers) {
    return std::all_of(answers.begin(), answers.end(),
                       [](const auto& one) { return is_finite(one.second); });
}

std::optional<Gap> gap_between(const Answers& usual, const Answers& other) {
    constexpr double kOtherwise = 1e-3;  // of the largest entry: sums in another order are closer
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

EntryCaller::EntryCaller(Op& op, Tensors inputs, Tensors outputs, std::uint64_t seed)
    : op_(op), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    for (const Tensor& y : outputs_) {
        const bool real = y.defined() && y.dtype() == DType::f64;
        incoming_.push_back(
            real ? tensor(random_weights(static_cast<std::size_t>(y.numel()), seed + 91), y.shape())
                 : Tensor());
    }
}

std::optional<WrongOp> EntryCaller::find() {
    const Values incoming = numbers_of(incoming_), inputs = numbers_of(inputs_),
                 outputs = numbers_of(outputs_);
    usual_ = asked(incoming_);
    if (usual_.empty() || !all_finite(usual_)) return {};
    if (auto wrong = overwriting(incoming, inputs, outputs)) return wrong;
    for (const auto ask : {&EntryCaller::twice, &EntryCaller::incoming_layouts,
                           &EntryCaller::without_one_output, &EntryCaller::operand_layouts,
                           &EntryCaller::some_needed, &EntryCaller::one_tensor_twice}) {
        if (auto wrong = (this->*ask)()) return wrong;
    }
    return {};
}

Answers EntryCaller::asked(const Tensors& incoming) {
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

WrongOp EntryCaller::named(Mistake mistake, const std::string& evidence, const char* hint,
                           const Gap& gap) const {
    WrongOp wrong = wrong_op_of(op_, gap.operand);
    wrong.slope.where = gap.by > 0
                            ? fmt::format("at {}", index_text(op_.inputs()[gap.operand].shape,
                                                              static_cast<std::int64_t>(gap.at)))
                            : "";
    wrong.slope.claimed = gap.other;
    wrong.slope.judgement.verdict = Verdict::fail;
    wrong.slope.judgement.numeric = gap.usual;
    wrong.cause = {mistake, evidence, hint};
    return wrong;
}

WrongOp EntryCaller::other_result(const std::string& how, const char* hint, const Gap& gap) const {
    return named(Mistake::convention,
                 fmt::format("the gradient of operand {} is another one {}: {:.1g} of its "
                             "largest entry apart",
                             gap.operand, how, gap.by),
                 hint, gap);
}

WrongOp EntryCaller::refused(const std::string& how, const char* hint, const Error& error) const {
    return named(Mistake::convention, fmt::format("the rule fails {}: {}", how, error.what()),
                 hint);
}

std::optional<WrongOp> EntryCaller::overwriting(const Values& incoming, const Values& inputs,
                                                const Values& outputs) const {
    static const char* const kOwns =
        "the rule works in place in memory that it does not own: where a value is used twice, the "
        "other use has been handed the same tensor";
    for (const auto& [what, before, now] :
         {std::tuple{"the incoming gradient's", incoming, numbers_of(incoming_)},
          std::tuple{"an operand's", inputs, numbers_of(inputs_)},
          std::tuple{"the output's", outputs, numbers_of(outputs_)}}) {
        const auto at = std::mismatch(before.begin(), before.end(), now.begin(),
                                      [](double a, double b) { return same_bits({a}, {b}); });
        if (at.first == before.end()) continue;
        WrongOp wrong =
            named(Mistake::overwrites,
                  fmt::format("{} element {} was {:.6g}, and is {:.6g} after the rule has run",
                              what, at.first - before.begin(), *at.first, *at.second),
                  kOwns);
        wrong.slope.where = fmt::format("{} element {}", what, at.first - before.begin());
        wrong.slope.claimed = *at.second;
        wrong.slope.judgement.numeric = *at.first;
        return wrong;
    }
    return {};
}

std::optional<WrongOp> EntryCaller::twice() {
    std::optional<Answers> second;
    try {
        second = asked(incoming_);
    } catch (const Error& error) {
        return named(Mistake::stale,
                     fmt::format("the rule fails when it is called again: {}", error.what()),
                     "it changes what it has saved; a tape may walk an entry several times");
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
            if (!keeps_numbers(layout)) dense[i] = view->clone();
        }
        if (!any) continue;
        const std::string how = fmt::format("if the incoming gradient is {}", to_string(layout));
        try {
            const auto found =
                gap_between(keeps_numbers(layout) ? usual_ : asked(dense), asked(views));
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
    for (std::size_t k = 0; k < 2 * incoming_.size() && real > 1; ++k) {
        const std::size_t i = k / 2;
        const bool alone = k % 2 == 1;
        if (!incoming_[i].defined()) continue;
        Tensors missing = incoming_, zero = incoming_;
        for (std::size_t other = 0; other < incoming_.size(); ++other) {
            if ((other == i) == alone || !incoming_[other].defined()) continue;
            missing[other] = Tensor();
            zero[other] = zeros(incoming_[other].shape(), DType::f64);
        }
        const std::string how = alone ? fmt::format("if a gradient arrives only at output {}", i)
                                      : fmt::format("if no gradient arrives at output {}", i);
        try {
            const auto found = gap_between(asked(zero), asked(missing));
            if (found) return other_result(how, kNone, *found);
        } catch (const Error& error) {
            return refused(how, kNone, error);
        }
    }
    return {};
}

}  // namespace tapestry::checker
