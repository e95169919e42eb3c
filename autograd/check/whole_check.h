// One complete check, the basis of gradcheck() and gradgradcheck(), and its parts other than
// differences: preconditions, other oracles, the op at fault, and further points.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/autograd/check/subject.h>

namespace tapestry::checker {

/// Copies of the inputs that require a gradient, named "input 0" and so on. Throws as gradcheck()
/// does for inputs.
NamedTensors named_leaves(const Tensors& inputs);
Tensors values_of(const NamedTensors& leaves);

/// Checks the first derivatives of a function at the current values of its leaves.
GradcheckReport check_subject(Subject& subject, const GradcheckOptions& options);

/// The same with the limits, bounds and points of `options`; `name` is the subject in the report.
/// `of_numbers`: f and its rule for plain numbers, if it is a plain function. `budget`: shared with
/// other parts of the same check.
GradcheckReport check_function(const Subject::Function& f, const NamedTensors& leaves,
                               const char* name, const GradcheckOptions& options,
                               const Subject::OfNumbers& of_numbers = {},
                               std::shared_ptr<Budget> budget = {});

/// "gradcheck(f, inputs{})" with "{}" replaced by the options that differ from their defaults:
/// "gradcheck(f, inputs, {.seed = 7})".
std::string call_text(const std::string& call, const GradcheckOptions& options);

// ---- preconditions (preconditions.cpp) ----------------------------------------------------------

/// Throws ValueError if an input overlaps itself (a stride of 0) or another: a step in one number
/// would be a step in several.
void refuse_overlaps(const Tensors& inputs);

/// "dropout (#4, ffn) gives other results ..." if two runs on the same inputs differ; empty if they
/// are equal to the last bit, or apart by no more than this part of the largest number.
std::string find_randomness(Subject& subject, double allowed = 0);

/// Changes of value or gradient, compared bit by bit, when f runs with another number of threads or
/// inside recompute(), where there should be none. One sentence each.
std::vector<std::string> find_dependence_on_running(Subject& subject,
                                                    const std::vector<double>& weights);

/// A fault of a rule itself, and its verdict.
struct Complaint {
    Verdict verdict = Verdict::pass;
    std::string text = {};
};

/// A complaint if the gradients `once` and `again` for the same weights, [leaf][element], are
/// further apart than an error that a check must see; `between` was asked for other weights.
/// `values`: the outputs here.
Complaint find_memory(Subject& subject, const std::vector<double>& weights,
                      const std::vector<double>& values,
                      const std::vector<std::vector<double>>& once,
                      const std::vector<std::vector<double>>& between,
                      const std::vector<std::vector<double>>& again);

/// A complaint if gradients are not proportional to the incoming gradient: a backward rule is a
/// linear function of it. `gradient`: the gradient for `weights`, [leaf][element]; `format`: of f's
/// numbers.
Complaint find_nonlinearity(Subject& subject, const std::vector<double>& weights,
                            const std::vector<double>& values,
                            const std::vector<std::vector<double>>& gradient, Format format);

// ---- oracles (oracles.cpp) ----------------------------------------------------------------------
// What oracles other than differences find for a gradient: dual numbers through a definition, and
// the transpose identity <v, J u> = <J^T v, u>. Both are exact except for rounding.

inline constexpr const char* kDualNumbers = "dual numbers";
inline constexpr const char* kTranspose = "transpose";

class Oracles {
public:
    /// Uses the oracles that `options` enable; all arguments must outlive it.
    Oracles(Subject& subject, const GradcheckOptions& options, const std::vector<double>& weights,
            const Neighbourhood& around);

    /// Opinions on the slope of leaf i along a random direction. Oracles without an opinion are
    /// omitted.
    std::vector<Opinion> ask(std::size_t i, const ClaimedGradient& claim);

    /// Set if the dual numbers compute another function; empty otherwise.
    const std::string& complaint() const { return complaint_; }

private:
    using Values = std::vector<double>;
    std::pair<double, double> weighted(const Values& slopes) const;
    bool is_the_function(const Values& values);
    Values dual_slopes(std::size_t i, const Values& u);
    void give(const char* oracle, const Values& slopes, const Claim& claim, std::size_t terms,
              std::vector<Opinion>& opinions) const;

    Subject& subject_;
    const GradcheckOptions& options_;
    const Values& weights_;
    const Neighbourhood& around_;
    double worth_;  // usual size of f, here and elsewhere: rounding is relative to it
    std::string complaint_;
};

// ---- the op at fault (locate.cpp) ---------------------------------------------------------------
// Every entry of the tape is checked by itself: its own forward pass at the inputs that it had,
// moved a little, against its own rule for the actual incoming gradient and for a random one. An
// entry is not blamed for a wrong incoming gradient, so one bug does not incriminate the ops before
// it.

/// The entry as the report names it, without what is wrong with its gradient of this operand.
WrongOp wrong_op_of(const Op& op, std::size_t operand);

/// The first entry, in the order of the tape, whose own rule is wrong; nullopt if all are right.
/// weights: one per output of the subject; known: the reports on its leaves.
std::optional<WrongOp> find_wrong_op(Subject& subject, const std::vector<InputReport>& known,
                                     const std::vector<double>& weights,
                                     const GradcheckLimits& limits, std::uint64_t seed);

/// For a leaf whose gradient is wrong although no entry is: what the gradient looks like, and
/// whether f bypasses the tape. `first_wrong`: an element known to be wrong.
Cause find_cause(Subject& subject, std::size_t which, const std::vector<double>& weights,
                 const std::vector<double>& claimed, std::size_t first_wrong, Format format);

// ---- further points (whole_check.cpp) -----------------------------------------------------------
// A rule that is wrong elsewhere may be right at x, where numbers are equal, or 0, or on one side
// of a branch.

/// The result of check() at the current values of the leaves, and at options.points - 1 points
/// around: every number is moved at random by up to half its size (a 0 by that of a typical
/// one), within bounds; closer if f is not defined there. Returns the first report with the worst
/// verdict, together with the result at each point. The leaves are restored.
GradcheckReport check_points(const NamedTensors& leaves, const GradcheckOptions& options,
                             const std::function<GradcheckReport()>& check);

}  // namespace tapestry::checker
