// Op: one entry of a tape: which operation ran, on what, and how to walk back through it.
//
// An op's rule is the chain rule for that op only: given the gradient of some loss with respect to
// its outputs, it returns the gradient with respect to its inputs (a vector-Jacobian product).
// Rules are written in ops that a tape can record again, so a gradient of a gradient is just
// another walk over the same tape. Each recorded op also holds its place in the model (ModuleScope,
// at the end).
#pragma once

#include <tapestry/core/tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tapestry {

class RecomputedOutput;

/// One entry of a tape: an operation that ran, its operands, and the rule that walks back through
/// it. To add an op, derive from this (CONTRIBUTING.md, "Add an op in five steps").
class Op {
public:
    virtual ~Op() = default;
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;

    std::string name() const { return std::string(name_); }  ///< "layer_norm"

    /// Recomputes the outputs given to record(), from other inputs of the same shapes and dtypes.
    /// Deterministic: dropout reuses its mask.
    virtual Tensors forward(const Tensors& inputs) const = 0;

    /// `grads[i]`: the gradient of output i, undefined if none arrived. Returns one tensor per
    /// input, of that input's shape and dtype; undefined means zero. If needs(i) is false, gradient
    /// i is ignored and should not be computed.
    virtual Tensors backward(const Tensors& grads) = 0;

    /// Whether forward() costs less than keeping a large output in memory until backward needs it.
    /// Then ops that save this one's output recompute it (recomputed_output.h).
    virtual bool is_cheap() const { return false; }

    /// The branch that every element takes at these inputs, as integers or booleans: relu's sign,
    /// the position of a maximum. Undefined if the function is smooth.
    virtual Tensor decisions(const Tensors& inputs) const;

    /// backward(), with its results checked for number, shape and dtype and passed to observers
    /// (observer.h). The tape calls this for every entry. Throws AutogradError.
    Tensors walk(const Tensors& grads);

    /// Settings to print: "axis=-1, keepdim".
    virtual std::string attributes() const { return {}; }

    /// Floating-point operations of the forward pass; by default one per output element.
    virtual double flops() const;

    /// An input or output of the entry: its slot on the tape, shape and dtype.
    struct Operand {
        int slot;             ///< -1 for a constant
        Shape shape;          ///< of the tensor
        DType dtype;          ///< of the tensor
        bool needed = false;  ///< of an input, during backward: is its gradient needed?
    };
    /// In the order of record().
    std::span<const Operand> inputs() const { return {operands_.data(), input_count_}; }
    /// In the order of record().
    std::span<const Operand> outputs() const {
        return std::span<const Operand>(operands_).subspan(input_count_);
    }
    /// "blocks.3.attention"; empty outside a module
    std::string module_path() const { return std::string(module_path_); }
    /// Bytes that this entry keeps alive for its backward rule; 0 once released.
    std::size_t saved_bytes() const;
    bool released() const { return released_; }  ///< whether backward has dropped what it saved
    /// Its index on the tape.
    int number() const { return number_; }
    std::string described() const;  ///< "layer_norm (#12, blocks.3.attention_norm)"

    /// Whether the gradient of input i is needed.
    bool needs(std::size_t i) const { return operands_.at(i).needed; }

protected:
    /// `saved`: the tensors that the rule will need. A saved output is passed after record() has
    /// given it its slot, so that gradients of gradients flow through it as well.
    explicit Op(std::string_view name, const TensorRefs& saved = {});

    /// Saved tensor i. Throws AutogradError if it has been changed in place since, or if an earlier
    /// backward released it.
    const Tensor& saved(std::size_t i) const;

private:
    friend class Tape;

    struct Saved {
        Tensor tensor;
        std::uint64_t version;
        std::shared_ptr<const RecomputedOutput> recomputed = nullptr;  // of an undefined tensor
    };
    void release();

    RecycledString name_;
    mutable RecycledVector<Saved> saved_;
    RecycledVector<Operand> operands_;  // inputs, then outputs
    std::size_t input_count_ = 0;
    RecycledString module_path_;
    int number_ = -1;
    bool released_ = false;
};

// ---- the current place in the model: "blocks.3.attention.query" ---------------------------------

/// Appends `name` to this thread's path until it leaves scope. Costs nothing unless a tape records.
class ModuleScope {
public:
    /// `name`: "attention"; appended after a dot.
    explicit ModuleScope(std::string_view name);
    ~ModuleScope();
    ModuleScope(const ModuleScope&) = delete;
    ModuleScope& operator=(const ModuleScope&) = delete;

private:
    std::size_t outer_length_;
};

/// Replaces this thread's path until it leaves scope: operations recorded by backward belong to the
/// path of the op whose rule runs, regardless of where backward was called.
class ModulePathGuard {
public:
    /// `path`: "blocks.3.attention"; empty: outside any module.
    explicit ModulePathGuard(std::string_view path);
    ~ModulePathGuard();
    ModulePathGuard(const ModulePathGuard&) = delete;
    ModulePathGuard& operator=(const ModulePathGuard&) = delete;

private:
    std::optional<std::string> outer_;
};

/// This thread's path; empty outside any module.
const std::string& module_path();

}  // namespace tapestry
