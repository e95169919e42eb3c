// The first NaN or infinity of a step: which operation made it, forward or backward, of which
// numbers; or in which parameter or input it was there before.
//
// Where an infinity is no mistake. A mask puts -inf on scores so that softmax makes 0 of them:
// masked_fill is a `where` with the constant -inf, an additive mask a constant that `add` or
// `attention` reads, `concat` may join a border of it, `pad` set one. So:
//
//   - -inf from a constant that one of the first four reads, or that `pad` set, is there on
//     purpose, and so is -inf in any output of an entry that reads such a one (scores that are
//     masked, then moved, divided, shifted by their maximum);
//   - everything else is a finding: any NaN, any +inf, -inf out of finite numbers (log 0, a sum too
//     large), a parameter that is not finite, and any infinity on the way back.
//
// A constant is looked at when what is made of it is not finite: NaN in numbers that a `where`
// leaves out, or in a row that nobody reads, harms nobody. Read next: inspector.h, which feeds it.
#pragma once

#include <tapestry/nn/inspect/statistics.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tapestry {

struct InspectedEntry;

/// A tensor at the place of the finding.
struct NonFiniteTensor {
    std::string what;  ///< "output", "input 1 (#30 matmul)", "gradient for input 0 (w)"
    Shape shape;
    DType dtype = DType::f32;
    ValueStatistics values;
};

/// Where it came from.
enum class NonFiniteOrigin {
    operation,  ///< forward: finite numbers went in
    parameter,  ///< it was in a parameter before the step
    input,      ///< it was in a constant, or in a leaf that is no parameter
    rule,       ///< backward: a finite gradient came to the rule of an entry
    sum,        ///< backward: gradients from several places, each finite, added up
    given       ///< backward: a cotangent that was given so, or that a hook made so
};

struct NonFinite {
    NonFiniteOrigin origin = NonFiniteOrigin::operation;
    bool backward = false;
    int entry = -1;           ///< of Inspector::entries(); -1: a parameter's gradient, in the end
    std::string op = {};      ///< "softmax"; empty where there is no entry
    std::string module = {};  ///< "blocks.3.attention"
    std::string name = {};    ///< of the parameter or input; of a rule: whose gradient it made
    /// What is not finite first, then what else the operation read and gave.
    std::vector<NonFiniteTensor> tensors = {};
};

/// "first NaN: softmax (#31) in blocks.3.attention, forward"
std::string headline(const NonFinite& finding);
/// The same and every tensor, in one line: "...; output [12, 4, 64, 64]: 64 NaN of 196608, the
/// others from 0 to 1; input 0 (#30 mul) ...".
std::string to_text(const NonFinite& finding);

/// Looks at entries as an Inspector writes them down, and keeps the first that is not finite.
class NonFiniteFinder {
public:
    /// Of a gradient that a rule made: for which input.
    struct RuleGradient {
        std::size_t input;
        ValueStatistics values;
    };

    const std::optional<NonFinite>& found() const { return found_; }

    /// Inputs and outputs of `entry` are complete.
    void recorded(const InspectedEntry& entry, int number);
    /// Its rule ran: the gradients of its outputs are in `entry`, what the rule made is `outgoing`.
    void walked(const InspectedEntry& entry, int number, const std::vector<RuleGradient>& outgoing);
    /// After the walk: what stands in a parameter's grad().
    void summed(const std::string& parameter, const NonFiniteTensor& gradient);

private:
    std::unordered_set<int> masked_;      // slots that hold -inf on purpose
    std::unordered_map<int, int> parts_;  // by slot: how many gradients came, all of them finite
    std::optional<NonFinite> found_;
};

}  // namespace tapestry
