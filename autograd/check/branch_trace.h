// Which branches a run took, op by op, seen from outside. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/observer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::checker {

struct Branches {
    struct Step {
        std::string op;  ///< "relu (#3, ffn)"; empty unless names were asked for
        std::uint64_t taken;
    };
    std::vector<Step> steps;
    std::uint64_t all = 0;      ///< one number for the whole run: which ops, and what they decided
    std::uint64_t decided = 0;  ///< the same of what they decided alone
};

/// Everything an op decides is an integer or a truth value: its own decisions (Op::decisions), and
/// operands that others decided, an argmax or a comparison.
class BranchTrace final : public TapeObserver {
public:
    explicit BranchTrace(bool named) : named_(named) {}
    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;

    Branches branches;

private:
    bool named_;
    bool busy_ = false;
};

}  // namespace tapestry::checker
