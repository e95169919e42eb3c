// Finds the first step of a run that meets a condition such as "grad_norm > 2". Quantities in
// metrics.jsonl are read from there. For the others it replays one step after each saved state,
// then every step before the first of these that meets the condition. Read next: replay.h, which
// takes the steps.
#pragma once

#include <tapestry/nn/train/replay.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// The condition to search for.
struct StepCondition {
    /// What is compared; update_ratio is ParameterFlow::ratio().
    enum class Quantity {
        loss,          ///< training loss of the step
        val_loss,      ///< validation loss after the step
        grad_norm,     ///< gradient norm before clipping
        update_ratio,  ///< update_rms / value_rms of a parameter
        non_finite     ///< whether a weight is NaN or infinite after the step
    };
    /// How it is compared with the bound.
    enum class Relation {
        above,     ///< quantity > bound
        at_least,  ///< quantity >= bound
        below,     ///< quantity < bound
        at_most    ///< quantity <= bound
    };

    Quantity quantity = Quantity::loss;  ///< left side
    std::string parameter = {};  ///< for update_ratio: a parameter, or a module for all of its
                                 ///< parameters; empty: the largest
    Relation relation = Relation::above;  ///< the comparison
    double bound = 0;                     ///< right side

    bool holds(double value) const;  ///< false for NaN
    /// Whether metrics.jsonl records the quantity.
    bool is_recorded() const { return quantity < Quantity::update_ratio; }
};

/// Parses "loss < 1.5", "update_ratio(blocks.0) >= 0.1" or "non_finite" (the weights after the
/// step). Throws ValueError for anything else.
StepCondition parse_condition(std::string_view text);

/// What find_step() found, and how.
struct FoundStep {
    std::optional<std::int64_t> step = {};  ///< empty: no step that was examined met the condition
    std::string what = {};                  ///< "grad_norm 2.25", "update_ratio 0.1 (head.weight)"
    /// Steps examined on their own. Empty: all steps were, in metrics.jsonl.
    std::vector<std::int64_t> probed = {};
    std::int64_t walk_first = 0,  ///< all steps from this one on were examined as well; 0: none
        walk_last = 0;            ///< last of these
};

/// Searches the steps after `after`. Throws ValueError if there are none, and for a parameter that
/// the model does not have; as Replayer does.
FoundStep find_first(const RunHistory& history, const Replayer& replayer,
                     const StepCondition& condition, std::int64_t after = 0);

/// How far to trust the answer: "looked at steps 1, 51, 101, then at each from 52 to 100; a short
/// excursion between them may have been missed".
std::string looked_at(const FoundStep& found, const RunHistory& history);

}  // namespace tapestry
