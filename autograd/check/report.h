// The result of a check: as a struct for programs, as text on one screen, and as JSON.
#pragma once

#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/shape.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// What another oracle than the tape finds for one slope.
struct Opinion {
    std::string oracle = {};  ///< "dual numbers", "transpose"
    double slope = 0;         ///< by the oracle
    double claimed = 0;       ///< by the tape, along the same direction
    double tolerance = 0;     ///< difference that both may have by rounding
    bool agrees = true;       ///< with the tape
};

/// One slope: the claim and what the differences show.
struct SlopeReport {
    std::string where = {};    ///< "at [2, 5]", "along direction 3"
    double claimed = 0;        ///< the slope by the tape
    Judgement judgement = {};  ///< what differences showed of it
};

/// A slope that could not be judged.
struct Unseen {
    std::string where = {};        ///< "at [2, 5]"
    Reason reason = Reason::none;  ///< why
};

/// Entries of about the same size that were checked together, along directions.
struct ClassReport {
    int entries = 0;        ///< their number
    double least = 0;       ///< the smallest claimed; 0: claimed to be 0
    double most = 0;        ///< the largest claimed
    std::string of = {};    ///< the outputs, if they were checked in classes as well
    double resolution = 0;  ///< worst of those that passed, relative to the smallest entry
};

/// One input or parameter.
struct InputReport {
    std::string name = {};            ///< "input 0", "blocks.0.norm.weight"
    Shape shape = {};                 ///< its shape
    Verdict verdict = Verdict::pass;  ///< the worst of its slopes
    Reason reason = Reason::none;     ///< why it is inconclusive
    std::string method = {};  ///< "full Jacobian, 5 x 12", "every entry", "10 random directions"
    std::string note = {};    ///< "on a kink of relu (#3); the gradient is a subgradient"
    int compared = 0;         ///< slopes that were compared
    int inconclusive = 0;     ///< of these, those that could not be judged
    std::vector<Unseen> unseen = {};        ///< only the first few
    double least_step = 0;                  ///< of the steps that decided; 0: none did
    double most_step = 0;                   ///< the largest of them
    double noise = 0;                       ///< largest found in one evaluation
    double resolution = 0;                  ///< worst of those that passed (Judgement::resolution)
    std::vector<ClassReport> classes = {};  ///< by size; empty if there is only one
    int wrong = 0;                          ///< entries found to be wrong; there may be more
    std::size_t first_wrong = 0;            ///< the first of them, in memory order
    bool one_factor = false;                ///< all by one factor, found only along directions
    SlopeReport worst = {};                 ///< the slope that decided the verdict
    std::vector<Opinion> opinions = {};     ///< of other oracles, if any were asked
};

/// An entry of a tape whose own rule is wrong.
struct WrongOp {
    std::string op = {};           ///< "layer_norm"
    std::string module_path = {};  ///< "blocks.3.norm"
    int number = 0;                ///< its index on the tape
    std::size_t operand = 0;       ///< the operand whose gradient is wrong
    std::string shapes = {};       ///< "[4, 8], [8], [8] -> [4, 8]"
    std::string form = {};         ///< empty, or "as recorded for gradients of gradients"
    std::string wrong = {};        ///< "3 entries are wrong, the first at [0, 2]"
    SlopeReport slope = {};        ///< the slope that shows it
    Cause cause = {};              ///< the probable mistake
    int others = 0;                ///< further entries that are wrong
};

/// One of the points that were checked.
struct PointReport {
    std::string what = {};            ///< "x", "random point 2"
    Verdict verdict = Verdict::pass;  ///< of this point
    Reason reason = Reason::none;     ///< why it is inconclusive
    /// The first numbers of the first inputs.
    std::vector<std::vector<double>> starts_with = {};
};

/// All that a check found. `if (!report)` holds for fail and inconclusive.
struct GradcheckReport {
    std::string subject = {};         ///< "order 1", "order 2", or the caller's name for it
    Verdict verdict = Verdict::pass;  ///< of everything together
    Reason reason = Reason::none;     ///< why it is inconclusive
    std::vector<std::string> complaints =
        {};  ///< preconditions that do not hold, and oracles that disagree
    std::vector<InputReport> inputs = {};     ///< in order
    std::optional<WrongOp> first_wrong = {};  ///< empty unless one op's own rule is wrong
    std::optional<Cause> cause = {};          ///< if no single op is at fault
    std::string not_defined = {};             ///< where f first was undefined, and its message
    std::string limit = {};                ///< "the limit of 1000 evaluations", if one was reached
    std::vector<PointReport> points = {};  ///< the report is of the first that is worst
    std::string reproduce = {};            ///< the call, in one line
    std::uint64_t seed = 1;                ///< GradcheckOptions::seed
    double resolution = 0;                 ///< the worst of the inputs
    double certainty = 1;  ///< lower bound on the probability that an error would have been found
    int runs = 0;          ///< evaluations of the function
    explicit operator bool() const { return verdict == Verdict::pass; }  ///< true for Verdict::pass
};

/// "3 entries are wrong, the first at [0, 2]"; empty where none is known to be.
std::string wrong_entries(const InputReport& report);

/// One screen: the verdict, a line per input, and everything known about errors.
std::string to_string(const GradcheckReport& report);
/// The same as one JSON object, described by docs/gradcheck_report.schema.json.
std::string to_json(const GradcheckReport& report);

}  // namespace tapestry

/// "{}": see to_string.
template <>
struct fmt::formatter<tapestry::GradcheckReport> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::GradcheckReport& report,
                         fmt::format_context& context) const;
};
