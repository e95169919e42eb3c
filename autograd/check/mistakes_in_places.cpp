// Right numbers in the wrong place, left unsummed, or the gradient of something else.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

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
            if (!same(w.claimed, model)) continue;
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
            if (!same(w.claimed, model)) continue;
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

Match looks_permuted(const Wrong& w) {
    const int rank = w.symptoms.shape.rank();
    if (rank < 2 || rank > 5) return {};
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end())) {
        // claimed = right permuted, so undo it: the shape it would have had, axes put back.
        Shape shape;
        std::vector<int> back(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            shape.push_back(w.symptoms.shape[order[i]]);
            back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
        }
        const Values undone =
            at_places(permuted(w.symptoms.claimed, shape, back), w.symptoms.places);
        if (!same(undone, w.right)) continue;
        return Cause{Mistake::permuted,
                     fmt::format("claimed = numeric with its axes in the order [{}], to {:.1g} "
                                 "of its norm",
                                 fmt::join(order, ", "), distance(undone, w.right)),
                     "a transpose is missing or one too many: of A B, the rules are g B^T and "
                     "A^T g; or a reshape where a transpose belongs"};
    }
    return {};
}

Match looks_shifted(const Wrong& w) {
    const auto told = [&w](const Values& undone, std::int64_t by, const std::string& along) {
        return Cause{Mistake::shifted,
                     fmt::format("claimed = numeric moved by {:+d} {}, to {:.1g} of its norm", by,
                                 along, distance(undone, w.right)),
                     "an index that starts at 1, or a loop that ends one early"};
    };
    for (const std::int64_t by : {1, -1}) {
        const Shape flat{static_cast<std::int64_t>(w.symptoms.claimed.size())};
        const Values undone =
            at_places(rolled(w.symptoms.claimed, flat, 0, -by), w.symptoms.places);
        if (same(undone, w.right)) return told(undone, by, "in memory order");
        for (int axis = 0; axis < w.symptoms.shape.rank(); ++axis) {
            if (w.symptoms.shape[axis] < 2) continue;
            const Values along = at_places(rolled(w.symptoms.claimed, w.symptoms.shape, axis, -by),
                                           w.symptoms.places);
            if (same(along, w.right)) return told(along, by, fmt::format("along axis {}", axis));
        }
    }
    return {};
}

Match looks_like_another_operand(const Wrong& w) {
    for (const auto& [operand, gradient] : w.symptoms.others) {
        if (!same(w.claimed, gradient)) continue;
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
    if (!frozen && !same(w.claimed, gradient_for(w.symptoms, w.symptoms.other_cotangent)))
        return {};
    return Cause{Mistake::stale,
                 frozen ? "claimed = what the rule claimed for another incoming gradient"
                        : "claimed = the right gradient for an earlier incoming gradient",
                 "the rule keeps something between calls: a buffer that is not filled again, "
                 "or is handed out before it is"};
}

}  // namespace tapestry::checker
