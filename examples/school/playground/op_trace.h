// One step, operation by operation: the inputs and outputs of each, forward and backward, with the
// shapes and the first numbers of every tensor. An Inspector (nn/inspect/inspector.h) knows more
// about a step, but has no numbers to follow by hand.
#pragma once

#include <tapestry/autograd/observer.h>
#include <tapestry/nn/module/module.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tapestry::examples {

/// A tensor's shape and the upper left corner of its first matrix.
struct Corner {
    std::string of;  ///< source: "#12 linear", "blocks.0.attention.qkv.weight"
    Shape shape = {};
    std::int64_t rows = 0, columns = 0;
    std::vector<double> values = {};  ///< [rows, columns]
    bool whole = true;                ///< the corner is the entire tensor
};

/// An operation that ran, forward or backward.
struct TracedOp {
    int number = 0;  ///< on the tape
    std::string op, attributes, module;
    bool back = false;
    std::vector<Corner> given = {};  ///< backward: the gradients of its outputs
    std::vector<Corner> made = {};   ///< backward: the gradients requested of its inputs
};

/// Observes this thread's tapes while it lives; records only the first tape.
class OpTrace final : public TapeObserver {
public:
    static constexpr std::int64_t kMost = 8;  ///< maximum rows and columns

    /// Takes the parameters' names from `model`.
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
    std::map<const Op*, std::vector<std::string>> inputs_ = {};  // input names
    std::vector<TracedOp> all_;
};

}  // namespace tapestry::examples
