// Breaks a backward rule on purpose, from outside, to see what happens to training and whether the
// gradient checker finds it. The op is unchanged; the gradient its rule returns is altered. Read
// next: docs/gradient-checking.md.
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

/// The error in the gradient.
enum class Flaw { sign, twice, zero, shifted, transposed };

/// The gradient of one operand of an op, everywhere that op is used.
struct BrokenRule {
    std::string op;  ///< "layer_norm"
    std::size_t operand = 0;
    Flaw flaw = Flaw::sign;
};

/// Breaks the rule on every tape of this thread while it lives; does nothing without a rule.
class RuleBreaker final : public TapeObserver {
public:
    explicit RuleBreaker(std::optional<BrokenRule> rule) : rule_(std::move(rule)) {}

    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    std::optional<BrokenRule> rule_;
};

/// A gradient that can be broken.
struct Breakable {
    std::string op;
    std::size_t operand = 0;
    std::string what = {};  ///< "weight", "input 1"
};

/// The gradients that a step of such a model computes, in tape order.
std::vector<Breakable> breakable_rules(const GPTConfig& config);

/// Checks the gradients of a small model of the same architecture: the same layers, heads and kinds
/// of parts, but heads of width 4, 4 tokens of context and a vocabulary of 5.
GradcheckReport check_build(const GPTConfig& config);

}  // namespace tapestry::examples
