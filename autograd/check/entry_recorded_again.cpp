// An entry recorded again with other operands: in other layouts, with gradients for only some of
// them, or one tensor as two of them.
#include <tapestry/autograd/check/entry_caller.h>
#include <tapestry/autograd/check/layouts.h>
#include <tapestry/autograd/tape.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tapestry::checker {

std::vector<std::size_t> EntryCaller::needed() const {
    std::vector<std::size_t> chosen;
    for (const auto& [operand, values] : usual_) chosen.push_back(operand);
    return chosen;
}

// Copies of the operands: two may share memory.
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
        return followed ? std::optional(std::move(found)) : std::nullopt;
    } catch (const Error&) {  // an op may refuse operands
    } catch (const std::domain_error&) {
    }
    return {};
}

// The same, to compare others with: what is not finite proves nothing.
std::optional<EntryCaller::Again> EntryCaller::usual_again(
    const Tensors& inputs, const std::vector<std::size_t>& needed) const {
    auto found = again(inputs, needed);
    if (!found || !all_finite(found->answers) || !all_finite({{0, found->values}})) return {};
    return found;
}

std::optional<WrongOp> EntryCaller::operand_layouts() {
    static const char* const kStrides =
        "the op reads an operand, or what it has saved of it, as if it were contiguous: use its "
        "strides and offset, or make it contiguous first";
    const Tensors operands = separate();
    const auto as_they_are = usual_again(operands, needed());
    for (const Layout layout : kLayouts) {
        Tensors views = operands, dense = operands;
        bool any = false;
        for (std::size_t i = 0; i < views.size(); ++i) {
            const auto view = is_real(i) ? laid_out(views[i], layout) : std::nullopt;
            if (!view) continue;
            any = true;
            views[i] = *view;
            if (!keeps_numbers(layout)) dense[i] = view->clone();
        }
        if (!any) continue;
        const auto usual = keeps_numbers(layout) ? as_they_are : usual_again(dense, needed());
        const auto other = again(views, needed());
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
    const auto usual = all.size() > 1 ? usual_again(operands, all) : std::nullopt;
    if (!usual) return {};
    std::vector<std::vector<std::size_t>> sets;
    for (const std::size_t one : all) {
        sets.push_back({one});
        if (all.size() == 2) continue;  // all but this one is the other one
        sets.push_back(all);
        std::erase(sets.back(), one);
    }
    for (const auto& chosen : sets) {
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
    constexpr std::size_t kMost = 28;  // pairs that are tried
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t k = i + 1; k < all.size() && pairs.size() < kMost; ++k) {
            if (inputs_[all[i]].shape() == inputs_[all[k]].shape()) {
                pairs.emplace_back(all[i], all[k]);
            }
        }
    }
    for (const auto& [a, b] : pairs) {
        Tensors apart_in_memory = inputs_, together = inputs_;
        apart_in_memory[b] = inputs_[a].clone();
        together[b] = inputs_[a];
        const auto usual = usual_again(apart_in_memory, {a, b});
        const auto other = again(together, {a, b});
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

}  // namespace tapestry::checker
