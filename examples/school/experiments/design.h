// The design of a claim: what a referee asks of a number before its verdict. Where values come
// from and whether they are independent; for trained models, at which rate they are compared, what
// both had the same of, what a model knows that has not been trained; and whether the score could
// show a difference at all. run() in experiment.h refuses a claim without a design, and a design
// that its results contradict. Read next: claim.h.
#pragma once

#include <string>
#include <vector>

namespace tapestry::experiments {

/// Where a claim's number comes from.
enum class Source {
    none,      ///< not said, which run() refuses
    computed,  ///< exact: neither seeds nor a clock change it
    drawn,     ///< random numbers or untrained models, once for every seed
    clocked,   ///< times or memory, once for every seed
    trained    ///< trained models, one for every seed
};

/// What trained models that are compared have had the same of.
enum class Equal {
    nothing,  ///< nothing is compared: one model against a bound
    steps,    ///< if also of the same size, then the same operations
    time,     ///< on the clock, or the steps that fit into it
    loss,     ///< stopped at the same loss
    rest      ///< all but what the claim varies, which is the steps
};

/// One trained model against a bound.
struct OneModel {
    std::string untuned = {};            ///< why one rate will do
    std::vector<std::string> arms = {};  ///< the trial, if its rate is tuned
    std::string control = {};            ///< as in Design
    std::string unit = "a model";
};

/// Trained models against one another; the members are those of Design.
struct Comparison {
    std::vector<std::string> arms = {};
    Equal equal = Equal::steps;
    std::string score = {};
    std::string rates = {};
    std::string untuned = {};
    std::string control = {};
    std::string unit = "a difference of two models with the same seed";
};

/// The design of a claim's number.
struct Design {
    Source source = Source::none;
    std::string unit = {};  ///< what one value of the interval is: "a model"
    Equal equal = Equal::nothing;
    /// The trials that are compared. With tuned rates, the best rate of each must be inside its
    /// grid; with a score, not all may be at its maximum.
    std::vector<std::string> arms = {};
    std::string score = {};    ///< the arms' number with maximum 1; empty: a loss, with none
    std::string rates = {};    ///< of the arms, by the best of a grid; empty: each at its best
    std::string untuned = {};  ///< why the learning rate is not tuned; empty: it is, for every arm
    std::string control = {};  ///< what an untrained model, or guessing, would give

    /// A number that is computed exactly.
    static Design computed() { return {.source = Source::computed}; }
    /// A number of random vectors or untrained models; `unit` is what each seed draws.
    static Design drawn(const std::string& unit);
    /// A time or a number of bytes, measured once for every seed; `unit` is what is measured.
    static Design clocked(const std::string& unit);
    static Design trained(const OneModel& model);
    static Design compared(const Comparison& comparison);

    bool operator==(const Design&) const = default;
};

/// The first thing that a design lacks: "has no untrained control"; empty if it is whole.
std::string missing_from(const Design& design);

/// "One value: a model. Compared after equal steps, each at its best rate. Untrained: 6 %."
std::string text_of(const Design& design);

}  // namespace tapestry::experiments
