// The first NaN or infinity of a step: which operation produced it, forward or backward, from which
// numbers; or which parameter or input already contained it.
//
// Not every infinity is an error. A mask sets scores to -inf so that softmax turns them into 0:
// masked_fill is a `where` with the constant -inf, an additive mask is a constant read by `add` or
// `attention`, `concat` may append a border of it, `pad` may fill with it. So:
//
//   - -inf from a constant that one of the first four reads, or with which `pad` fills, is
//     intended, and so is -inf in any output of an entry that reads such a tensor (scores that are
//     masked, then moved, divided, shifted by their maximum);
//   - everything else is a finding: any NaN, any +inf, -inf from finite numbers (log 0, a sum too
//     large), a parameter that is not finite, and any infinity in the backward pass.
//
// A constant is only examined when its result is not finite: NaN in elements that a `where` masks
// out, or in a row that is never read, is harmless. Read next: inspector.h, which feeds it.
#pragma once

#include <tapestry/nn/inspect/statistics.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tapestry {

struct InspectedEntry;

/// A tensor involved in the finding.
struct NonFiniteTensor {
    std::string what;          ///< "output", "input 1 (#30 matmul)", "gradient for input 0 (w)"
    Shape shape;               ///< of the tensor
    DType dtype = DType::f32;  ///< of the tensor
    ValueStatistics values;    ///< its elements in numbers, with the count of what is not finite
};

/// Where it came from.
enum class NonFiniteOrigin {
    operation,  ///< forward, from finite inputs
    parameter,  ///< already in a parameter before the step
    input,      ///< in a constant, or in a leaf that is not a parameter
    rule,       ///< backward, from a finite gradient
    sum,        ///< backward: a sum of finite gradients
    given       ///< backward: a cotangent from the caller or a hook
};

/// The first NaN or infinity of a step.
struct NonFinite {
    NonFiniteOrigin origin = NonFiniteOrigin::operation;  ///< where it appeared
    bool backward = false;                                ///< whether it was in the backward pass
    int entry = -1;           ///< index into Inspector::entries(); -1: a parameter's final gradient
    std::string op = {};      ///< "softmax"; empty without an entry
    std::string module = {};  ///< "blocks.3.attention"
    std::string name = {};    ///< of the parameter or input; with rule, of the gradient's input
    /// Non-finite tensors first, then the operation's other inputs and outputs.
    std::vector<NonFiniteTensor> tensors = {};
};

/// "first NaN: softmax (#31) in blocks.3.attention, forward"
std::string headline(const NonFinite& finding);
/// The headline and every tensor, in one line: "...; output [12, 4, 64, 64]: 64 NaN of 196608, the
/// others from 0 to 1; input 0 (#30 mul) ...".
std::string to_text(const NonFinite& finding);

/// Examines entries as an Inspector records them, and keeps the first that is not finite.
class NonFiniteFinder {
public:
    /// A gradient that a rule computed, and the input it is for.
    struct RuleGradient {
        std::size_t input;       ///< index of the input
        ValueStatistics values;  ///< the gradient in numbers
    };

    /// The first finding, if there is one.
    const std::optional<NonFinite>& found() const { return found_; }

    /// Call when the inputs and outputs of `entry` are complete.
    void recorded(const InspectedEntry& entry, int number);
    /// Call after its rule ran: `entry` has the gradients of its outputs, `outgoing` those computed
    /// by the rule.
    void walked(const InspectedEntry& entry, int number, const std::vector<RuleGradient>& outgoing);
    /// Call after the backward pass with a parameter's grad().
    void summed(const std::string& parameter, const NonFiniteTensor& gradient);

private:
    std::unordered_set<int> masked_;      // slots with intended -inf
    std::unordered_map<int, int> parts_;  // by slot: number of gradients received, all finite
    std::optional<NonFinite> found_;
};

}  // namespace tapestry
