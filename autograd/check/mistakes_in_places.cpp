// Right numbers in the wrong place, left unsummed, or the gradient of something else.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>

namespace tapestry::checker {
namespace {

// The cotangent at the first or last place of some broadcast axes, 0 elsewhere.
Values one_place(const Wrong& w, const std::vector<int>& axes, bool last) {
    Values cotangent = w.symptoms.cotangent;
    for (std::size_t i = 0; i < cotangent.size(); ++i) {
        auto flat = static_cast<std::int64_t>(i);
        bool kept = true;
        for (int axis = w.symptoms.output.rank() - 1; axis >= 0; --axis) {
            const std::int64_t index = flat % w.symptoms.output[axis];
            flat /= w.symptoms.output[axis];
            const bool here = index == (last ? w.symptoms.output[axis] - 1 : 0);
            kept = kept && (here || std::find(axes.begin(), axes.end(), axis) == axes.end());
        }
        if (!kept) cotangent[i] = 0;
    }
    return cotangent;
}

}  // namespace

Match looks_unsummed(const Wrong& w) {
    if (!broadcasts(w.symptoms.shape, w.symptoms.output)) return {};
    const std::vector<int> axes = broadcast_axes(w.symptoms.shape, w.symptoms.output);
    std::vector<std::vector<int>> choices;
    for (const int axis : axes) choices.push_back({axis});
    if (axes.size() > 1) choices.push_back(axes);
    const std::string where =
        fmt::format("{} was repeated to {}", w.symptoms.shape, w.symptoms.output);
    for (const auto& chosen : choices) {
        std::int64_t count = 1;
        for (const int axis : chosen) count *= w.symptoms.output[axis];
        for (const bool last : {false, true}) {
            const Values model = gradient_for(w.symptoms, one_place(w, chosen, last));
            if (!explains(w, w.claimed, model)) continue;
            return Cause{Mistake::missing_sum,
                         fmt::format("{}; claimed = what the {} of {} places along axis {} "
                                     "contributes, {}",
                                     where, last ? "last" : "first", count, chosen.front(),
                                     closeness(w, model)),
                         "what was broadcast on the way there must be summed on the way back"};
        }
        for (const double factor : {static_cast<double>(count), 1 / static_cast<double>(count)}) {
            Values model = w.right;
            for (double& value : model) value *= factor;
            if (!explains(w, w.claimed, model)) continue;
            const std::string how =
                fmt::format("{}; claimed = numeric {} {}, the places along axis {}, {}", where,
                            factor > 1 ? "*" : "/", count, chosen.front(), closeness(w, model));
            if (factor > 1) {
                return Cause{Mistake::doubled_sum, how,
                             "the sum over the broadcast axis is taken twice"};
            }
            return Cause{Mistake::factor, how,
                         "a mean over the broadcast axis where a sum belongs"};
        }
    }
    return {};
}

Match looks_like_another_operand(const Wrong& w) {
    for (const auto& [operand, gradient] : w.symptoms.others) {
        if (!explains(w, w.claimed, gradient)) continue;
        return Cause{Mistake::stale,
                     fmt::format("claimed = the right gradient of operand {}, {}", operand,
                                 closeness(w, gradient)),
                     fmt::format("it belongs to operand {}: saved tensors or results in the "
                                 "wrong order",
                                 operand)};
    }
    return {};
}

Match looks_stale(const Wrong& w) {
    if (w.symptoms.other_cotangent.empty()) return {};
    const bool frozen =
        norm(w.symptoms.other_claimed) > 0 && same(w.symptoms.claimed, w.symptoms.other_claimed);
    const Values earlier = gradient_for(w.symptoms, w.symptoms.other_cotangent);
    if (!frozen && !explains(w, w.claimed, earlier)) return {};
    return Cause{Mistake::stale,
                 frozen ? "claimed = what the rule claimed for another incoming gradient"
                        : "claimed = the right gradient for an earlier incoming gradient",
                 "the rule keeps something between calls: a buffer that is not filled again, "
                 "or is handed out before it is"};
}

}  // namespace tapestry::checker
