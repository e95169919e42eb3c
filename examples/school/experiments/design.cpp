// Designs as text, and what they lack. Implements design.h.
#include <tapestry/examples/school/experiments/design.h>

#include <fmt/format.h>

namespace tapestry::experiments {

Design Design::drawn(const std::string& unit) { return {.source = Source::drawn, .unit = unit}; }

Design Design::clocked(const std::string& unit) {
    return {.source = Source::clocked, .unit = unit};
}

Design Design::trained(const OneModel& model) {
    return {.source = Source::trained,
            .unit = model.unit,
            .arms = model.arms,
            .untuned = model.untuned,
            .control = model.control};
}

Design Design::compared(const Comparison& comparison) {
    return {.source = Source::trained,
            .unit = comparison.unit,
            .equal = comparison.equal,
            .arms = comparison.arms,
            .score = comparison.score,
            .rates = comparison.rates,
            .untuned = comparison.untuned,
            .control = comparison.control};
}

std::string missing_from(const Design& design) {
    if (design.source == Source::none) return "has no design";
    if (design.source == Source::computed) return "";
    if (design.unit.empty()) return "does not say what one value is";
    if (design.source != Source::trained) return "";
    if (design.control.empty()) return "has no untrained control";
    if (design.equal != Equal::nothing && design.arms.empty()) {
        return "does not name the trials that it compares";
    }
    if (design.equal == Equal::nothing && design.arms.size() > 1) {
        return "does not say what the trials that it compares had the same of";
    }
    if (design.untuned.empty() && design.arms.empty()) {
        return "has neither trials with tuned rates nor a reason for one rate";
    }
    return "";
}

std::string text_of(const Design& design) {
    if (design.source == Source::none) return "None.";
    if (design.source == Source::computed) return "Computed: nothing is random.";
    std::string text = fmt::format("One value: {}.", design.unit);
    if (design.source == Source::clocked) return text + " Depends on the machine.";
    if (design.source == Source::drawn) return text + " Nothing is trained.";
    constexpr const char* kEqual[] = {"Against a bound", "Compared after equal steps",
                                      "Compared after equal time", "Compared at equal loss",
                                      "Compared after other steps, all else equal"};
    text += fmt::format(" {}, ", kEqual[static_cast<int>(design.equal)]);
    const std::string rates = design.rates.empty() ? "each at its best rate" : design.rates;
    text += design.untuned.empty()
                ? rates + ", which is inside its grid."
                : fmt::format("at a rate that is not tuned: {}.", design.untuned);
    if (!design.score.empty()) text += " Decides nothing if all are at the score's maximum.";
    if (design.equal == Equal::time) text += " Depends on the machine.";
    return text + fmt::format(" Untrained: {}.", design.control);
}

}  // namespace tapestry::experiments
