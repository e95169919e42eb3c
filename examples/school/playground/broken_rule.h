// A backward rule broken on purpose, from outside, to see what becomes of a training, and whether
// the gradient checker finds it. The op is left as it is; what its rule gives is spoilt on the way
// out. Read next: docs/gradient-checking.md.
#pragma once

#include <tapestry/autograd/check/report.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/nn/models/gpt_config.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::examples {

/// What is wrong with the gradient.
enum class Flaw { sign, twice, zero, shifted, transposed };

/// The gradient of one operand of an op, wherever that op is used.
struct BrokenRule {
    std::string op;  ///< "layer_norm"
    std::size_t operand = 0;
    Flaw flaw = Flaw::sign;
};

/// While it lives, the rule is broken on every tape of this thread; of no rule, nothing is.
class RuleBreaker final : public TapeObserver {
public:
    explicit RuleBreaker(std::optional<BrokenRule> rule) : rule_(std::move(rule)) {}

    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    std::optional<BrokenRule> rule_;
};

/// A rule of which there is something to break.
struct Breakable {
    std::string op;
    std::size_t operand = 0;
    std::string what = {};  ///< "weight", "input 1"
};

/// The gradients that a step of such a model computes, in the order of its tape.
std::vector<Breakable> breakable_rules(const GPTConfig& config);

/// The gradient checker's word on a model of this build that is small enough to be checked at once:
/// the same layers, heads and kinds of parts, but heads 4 wide, 4 tokens to look at, and 5 to know.
GradcheckReport check_build(const GPTConfig& config);

}  // namespace tapestry::examples
