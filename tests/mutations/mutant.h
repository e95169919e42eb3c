// A wrong backward rule, injected from outside: the op is unchanged, and the gradient its rule
// returns is corrupted.
#pragma once

#include <tapestry/autograd/check/verdict.h>
#include <tapestry/autograd/observer.h>

#include <optional>
#include <string>
#include <vector>

namespace tapestry::test {

enum class Mutation {
    sign,          ///< -g
    twice,         ///< 2 g
    half,          ///< g / 2
    times_n,       ///< n g, n the number of elements
    over_n,        ///< g / n
    times_root_n,  ///< sqrt(n) g
    over_root_n,   ///< g / sqrt(n)
    transposed,    ///< the last two axes swapped in memory
    missing_sum,   ///< of a broadcast operand: only the first index of the axis
    doubled_sum,   ///< of a broadcast operand: summed again
    dropped,       ///< of a value used twice: one use contributes nothing
    zero,          ///< no gradient
    shifted,       ///< moved by one element in memory order
    other,         ///< another operand's gradient of the same shape
    stale,         ///< the result of the previous call
    chain,         ///< the incoming gradient, unchanged
};

const std::vector<Mutation>& all_mutations();
std::string to_string(Mutation mutation);

/// The cause that the checker should report.
Mistake expected_mistake(Mutation mutation);

/// A mutation's effect on the gradient of one operand, in terms that another program can implement:
/// torch_gradcheck.py does the same to PyTorch's.
struct Corruption {
    enum class Kind { factor, transposed, first_place, zero, shifted, other, stale, incoming };
    Kind kind;
    double factor = 1;
    int axis = -1;          ///< first_place: the axis of the output
    std::size_t other = 0;  ///< other: the operand whose gradient it takes
};
std::string_view to_string(Corruption::Kind kind);

/// Where the mutation applies.
Corruption corruption(Mutation mutation, const Op& op, std::size_t operand);

/// An operand of a tape entry, identified by number and name on every tape.
struct Target {
    int entry = 0;
    std::string op;
    std::size_t operand = 0;
    DType dtype = DType::f64;  ///< of the operand: an op in f32 and f64 counts as two
};

/// Makes the rule of its target wrong while it lives.
class Mutant final : public TapeObserver {
public:
    Mutant(Mutation mutation, Target target) : mutation_(mutation), target_(std::move(target)) {}

    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    Tensor corrupted(Op& op, const Tensors& incoming, const Tensors& outgoing);

    Mutation mutation_;
    Target target_;
    Tensor before_;  // from the previous call
    bool busy_ = false;
};

/// Can this mutation occur for that operand? (Broadcast axes, another operand of the same shape,
/// ...)
bool applies(Mutation mutation, const Op& op, std::size_t operand);

}  // namespace tapestry::test
