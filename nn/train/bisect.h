// The first step of a run for which something holds: "grad_norm > 2", say. What metrics.jsonl has
// is read there. Everything else is looked at again: a step behind each state that was kept, and
// then all steps up to the first of these for which it holds. Read next: rewind.h, which takes the
// steps.
#pragma once

#include <tapestry/nn/train/rewind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// What is looked for.
struct StepCondition {
    enum class Quantity { loss, val_loss, grad_norm, update_ratio, non_finite };
    enum class Relation { above, at_least, below, at_most };

    Quantity quantity = Quantity::loss;
    std::string parameter = {};  ///< of update_ratio: one, or all of a module; empty: the largest
    Relation relation = Relation::above;
    double bound = 0;

    bool holds(double value) const;  ///< never for NaN
    /// Whether metrics.jsonl has it.
    bool is_recorded() const { return quantity < Quantity::update_ratio; }
};

/// "loss < 1.5", "update_ratio(blocks.0) >= 0.1"; or "non_finite": of the weights after the step.
/// Throws ValueError for anything else.
StepCondition parse_condition(std::string_view text);

struct FoundStep {
    std::optional<std::int64_t> step = {};  ///< nothing: it never held where it was looked for
    std::string what = {};                  ///< "grad_norm 2.25", "update_ratio 0.1 (head.weight)"
    /// Steps that were looked at alone. Empty: all were, in metrics.jsonl.
    std::vector<std::int64_t> probed = {};
    std::int64_t walk_first = 0, walk_last = 0;  ///< and all of these; 0: none
};

/// Of the steps after `after`. Throws ValueError where there are none, and for a parameter that the
/// model does not have; as Rewinder does.
FoundStep find_first(const RunHistory& history, const Rewinder& rewinder,
                     const StepCondition& condition, std::int64_t after = 0);

/// "looked at steps 1, 51, 101, then at each from 52 to 100; a short excursion between them may
/// have been missed": how much the answer is worth.
std::string looked_at(const FoundStep& found, const RunHistory& history);

}  // namespace tapestry
