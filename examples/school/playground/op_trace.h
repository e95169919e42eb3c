// One step, operation by operation: what each was given and what it made of that, forward and back,
// with the shapes and the first numbers of every tensor. An Inspector (nn/inspect/inspector.h)
// knows more of a step, but no numbers to follow with a finger.
#pragma once

#include <tapestry/autograd/observer.h>
#include <tapestry/nn/module/module.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tapestry::examples {

/// A tensor's shape and its first matrix, or of that the upper left corner.
struct Corner {
    std::string of;  ///< which it is: "#12 linear", "blocks.0.attention.qkv.weight"
    Shape shape = {};
    std::int64_t rows = 0, columns = 0;
    std::vector<double> values = {};  ///< [rows, columns]
    bool whole = true;                ///< nothing of the tensor lies outside of it
};

/// An operation that ran, or its rule on the way back.
struct TracedOp {
    int number = 0;  ///< on the tape
    std::string op, attributes, module;
    bool back = false;
    std::vector<Corner> given = {};  ///< back: the gradients of its outputs
    std::vector<Corner> made = {};   ///< back: those of its inputs that somebody asked for
};

/// Watches the tapes of this thread while it lives; what it knows is of the first one's step.
class OpTrace final : public TapeObserver {
public:
    static constexpr std::int64_t kMost = 8;  ///< rows, and columns

    /// Parameters get their names from `model`.
    explicit OpTrace(const Module& model);

    const std::vector<TracedOp>& all() const { return all_; }
    /// [{"number": 3, "op": "linear", ..., "given": [{"of": "#2", "shape": [8, 32, 64], ...}]}]
    std::string to_json() const;

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    bool is_watched(const Tensors& outputs);
    std::string name_of(const Tensor& x, int slot) const;

    std::uint64_t tape_ = 0;
    std::map<const Leaf*, std::string> parameters_;
    std::map<int, std::string> makers_;                          // "#12 linear", by slot
    std::map<const Op*, std::vector<std::string>> inputs_ = {};  // their names
    std::vector<TracedOp> all_;
};

}  // namespace tapestry::examples
