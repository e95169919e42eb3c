// What a check found: for programs as a struct, for people on one screen, for others as JSON.
#pragma once

#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/shape.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// What somebody else than the tape says about one slope.
struct Opinion {
    std::string oracle = {};  ///< "dual numbers", "transpose"
    double slope = 0;
    double claimed = 0;  ///< by the tape, along the same direction
    double tolerance = 0;
    bool agrees = true;  ///< with the tape
};

/// One slope: what was claimed and what the differences say.
struct SlopeReport {
    std::string where = {};  ///< "at [2, 5]", "along direction 3"
    double claimed = 0;
    Judgement judgement = {};
};

/// A slope of which nothing could be said.
struct Unseen {
    std::string where = {};
    Reason reason = Reason::none;
};

/// One input or parameter.
struct InputReport {
    std::string name = {};
    Shape shape = {};
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    std::string method = {};  ///< "full Jacobian, 5 x 12", "every entry", "10 random directions"
    std::string note = {};    ///< "on a kink of relu (#3); the gradient is a subgradient"
    int compared = 0;
    int inconclusive = 0;
    std::vector<Unseen> unseen = {};  ///< the first of these
    double least_step = 0;            ///< of those that decided; 0: none did
    double most_step = 0;
    double noise = 0;             ///< the largest that was found in one evaluation
    double resolution = 0;        ///< the worst of those that passed (Judgement::resolution)
    int wrong = 0;                ///< entries that were seen to be wrong; there may be more
    std::size_t first_wrong = 0;  ///< the first of them, in memory order
    bool one_factor = false;      ///< they are off by one factor, seen along directions alone
    SlopeReport worst = {};       ///< the one that decided the verdict
    std::vector<Opinion> opinions = {};
};

/// An entry of a tape whose own rule is wrong.
struct WrongOp {
    std::string op = {};           ///< "layer_norm"
    std::string module_path = {};  ///< "blocks.3.norm"
    int number = 0;                ///< its place on the tape
    std::size_t operand = 0;       ///< whose gradient is wrong
    std::string shapes = {};       ///< "[4, 8], [8], [8] -> [4, 8]"
    std::string form = {};         ///< "" or "recorded": only where gradients are recorded
    std::string wrong = {};        ///< "3 entries are wrong, the first at [0, 2]"
    SlopeReport slope = {};
    Cause cause = {};
    int others = 0;  ///< further entries that are wrong
};

/// One of the points that were looked at.
struct PointReport {
    std::string what = {};  ///< "x", "random point 2"
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    /// The first numbers of the first inputs.
    std::vector<std::vector<double>> starts_with = {};
};

struct GradcheckReport {
    std::string subject = {};  ///< "order 1", "order 2", or what the caller calls it
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    std::vector<std::string> complaints =
        {};  ///< preconditions that do not hold, and what stands alone
    std::vector<InputReport> inputs = {};
    std::optional<WrongOp> first_wrong = {};
    std::optional<Cause> cause = {};       ///< where no single op is to blame
    std::string not_defined = {};          ///< where f said so first, and what it said
    std::string limit = {};                ///< "the limit of 1000 evaluations", if one was reached
    std::vector<PointReport> points = {};  ///< the report is of the first that is worst
    std::string reproduce = {};            ///< the call, in one line
    std::uint64_t seed = 1;
    double resolution = 0;  ///< the worst of the inputs
    double certainty = 1;   ///< that an error anywhere would have been seen, at least
    int runs = 0;           ///< of the function
    explicit operator bool() const { return verdict == Verdict::pass; }
};

/// "3 entries are wrong, the first at [0, 2]"; empty where none is known to be.
std::string wrong_entries(const InputReport& report);

/// One screen: the verdict, a line per input, and of what is wrong everything known.
std::string to_string(const GradcheckReport& report);
/// The same as one JSON object; docs/gradcheck_report.schema.json says what is in it.
std::string to_json(const GradcheckReport& report);

}  // namespace tapestry

/// "{}": see to_string.
template <>
struct fmt::formatter<tapestry::GradcheckReport> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::GradcheckReport& report,
                         fmt::format_context& context) const;
};
