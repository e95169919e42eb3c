// One check from beginning to end, which gradcheck() and gradgradcheck() are both made of, and what
// it asks besides differences: what must hold before, other oracles, which op is to blame, and the
// same at further points. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/autograd/check/subject.h>

namespace tapestry::checker {

/// Copies of the inputs that ask for their gradient, "input 0" and so on. Throws what gradcheck()
/// says of inputs.
NamedTensors named_leaves(const Tensors& inputs);
Tensors values_of(const NamedTensors& leaves);

/// The first derivatives of a function where its leaves stand now.
GradcheckReport check_subject(Subject& subject, const GradcheckOptions& options);

/// The same with the limits, bounds and points of `options`; `name` is what it is called.
GradcheckReport check_function(const Subject::Function& f, const NamedTensors& leaves,
                               const char* name, const GradcheckOptions& options);

/// "gradcheck(f, inputs{})" with what differs from the default options in place of "{}":
/// "gradcheck(f, inputs, {.seed = 7})".
std::string call_text(const std::string& call, const GradcheckOptions& options);

// ---- what must hold before (preconditions.cpp) --------------------------------------------------

/// Throws ValueError where an input overlaps itself (a stride of 0) or another: a step in one
/// number would be a step in several.
void refuse_overlaps(const Tensors& inputs);

/// "dropout (#4, ffn) gives other results ..." where two runs on the same inputs differ; empty if
/// they are the same to the last bit.
std::string find_randomness(Subject& subject);

/// What changes, and should not, when f runs with one thread or several, or inside recompute():
/// value and gradient, bit by bit. One sentence each.
std::vector<std::string> find_dependence_on_running(Subject& subject,
                                                    const std::vector<double>& weights);

/// What there is to say if gradients are not proportional to what comes in, or not the sum of those
/// of its parts: a backward rule is a linear function of the incoming gradient. `gradient`: that
/// for `weights`, [leaf][element].
std::string find_nonlinearity(Subject& subject, const std::vector<double>& weights,
                              const std::vector<std::vector<double>>& gradient);

// ---- oracles (oracles.cpp) ----------------------------------------------------------------------
// What others than the differences say of a gradient: dual numbers through a definition, and the
// transpose identity <v, J u> = <J^T v, u>. Both are exact but for rounding.

inline constexpr const char* kDualNumbers = "dual numbers";
inline constexpr const char* kTranspose = "transpose";

class Oracles {
public:
    /// Asks those that `options` name; all arguments must outlive it.
    Oracles(Subject& subject, const GradcheckOptions& options, const std::vector<double>& weights,
            const Neighbourhood& around);

    /// Of the slope of leaf i along a random direction. Who has no opinion is left out.
    std::vector<Opinion> ask(std::size_t i, const ClaimedGradient& claim);

    /// That the dual numbers are of another function; empty if they are not.
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
    double worth_;  // what f is worth, here and elsewhere: rounding on the way is a part of that
    std::string complaint_;
};

// ---- which op is to blame (locate.cpp) ----------------------------------------------------------
// Every entry of the tape is checked by itself: its own forward pass at the inputs it really had,
// moved a little, against its own rule for the gradient that really came and for a random one. A
// wrong gradient that an entry was handed is not its fault, so that one bug does not spoil the name
// of what lies before it.

/// The first entry, in the order of the tape, whose own rule is wrong; nothing if all are right.
/// weights: one per output of the subject; known: what was found of its leaves.
std::optional<WrongOp> find_wrong_op(Subject& subject, const std::vector<InputReport>& known,
                                     const std::vector<double>& weights,
                                     const GradcheckLimits& limits, std::uint64_t seed);

/// For a leaf whose gradient is wrong where no entry is: what it looks like, and whether f goes
/// round the tape. `first_wrong`: an element known to be wrong.
Cause find_cause(Subject& subject, std::size_t which, const std::vector<double>& weights,
                 const std::vector<double>& claimed, std::size_t first_wrong);

// ---- further points (whole_check.cpp) -----------------------------------------------------------
// A rule that is wrong somewhere may be right at x, where numbers are equal, or 0, or on one side
// of a branch.

/// What check() says where the leaves stand, and at options.points - 1 places around: every number
/// is moved at random by up to half of its own size (0 by a typical one), within bounds. Where f is
/// not defined there, it is tried nearer by. Of the reports that with the worst verdict, the first
/// of them, with what was found at each point. The leaves are put back.
GradcheckReport check_points(const NamedTensors& leaves, const GradcheckOptions& options,
                             const std::function<GradcheckReport()>& check);

}  // namespace tapestry::checker
