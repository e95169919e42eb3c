// Op: one entry of a tape. What ran, on what, and how to walk back through it.
//
// An op's rule is the chain rule for that op alone: given the gradient of some loss with respect to
// its outputs, return the gradient with respect to its inputs (a vector-Jacobian product). Rules
// are written in ops that a tape can record again, which is what makes gradients of gradients
// another walk over the same tape. Each recorded op takes along where in the model it ran
// (ModuleScope, at the end).
#pragma once

#include <tapestry/core/tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tapestry {

class RecomputedOutput;

class Op {
public:
    virtual ~Op() = default;
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;

    std::string name() const { return std::string(name_); }

    /// What record() was given as outputs, computed once more from other inputs of the same shapes
    /// and dtypes. Deterministic: dropout keeps what it kept.
    virtual Tensors forward(const Tensors& inputs) const = 0;

    /// `grads[i]`: the gradient of output i, undefined where nothing flowed back. Returns one
    /// tensor per input, of that input's shape and dtype; undefined means zero. Where needs(i) is
    /// false, gradient i is not looked at and should not be computed.
    virtual Tensors backward(const Tensors& grads) = 0;

    /// Does forward() cost less than keeping a large output in memory until backward wants it? Then
    /// ops that save this one's output compute it again (recomputed_output.h).
    virtual bool is_cheap() const { return false; }

    /// Which branch every element takes at these inputs, as integers or truth values: the sign of
    /// relu's, the place of a maximum. Undefined where the function is smooth.
    virtual Tensor decisions(const Tensors& inputs) const;

    /// backward(), its results checked for number, shape and dtype and shown to observers
    /// (observer.h). This is how the tape goes through an entry. Throws AutogradError.
    Tensors walk(const Tensors& grads);

    /// Settings worth printing: "axis=-1, keepdim".
    virtual std::string attributes() const { return {}; }

    /// Floating-point operations of the forward pass; by default one per element of the output.
    virtual double flops() const;

    /// A place where a tensor of this tape stands, as the entry sees it.
    struct Operand {
        int slot;  ///< -1 for a constant
        Shape shape;
        DType dtype;
        bool needed = false;  ///< an input, on the way back: does anybody ask for its gradient?
    };
    std::span<const Operand> inputs() const { return {operands_.data(), input_count_}; }
    std::span<const Operand> outputs() const {
        return std::span<const Operand>(operands_).subspan(input_count_);
    }
    std::string module_path() const { return std::string(module_path_); }
    /// Bytes this entry keeps alive for its backward rule; 0 once released.
    std::size_t saved_bytes() const;
    bool released() const { return released_; }
    /// Its place on the tape.
    int number() const { return number_; }
    std::string described() const;  ///< "layer_norm (#12, blocks.3.attention_norm)"

    /// Does anybody ask for the gradient of input i?
    bool needs(std::size_t i) const { return operands_.at(i).needed; }

protected:
    /// `saved`: the tensors the rule will need. A saved output is passed after record() gave it
    /// its slot, so that gradients of gradients flow through it too.
    explicit Op(std::string_view name, const TensorRefs& saved = {});

    /// Saved tensor i. Throws AutogradError when it has been changed in place since, or when
    /// backward has been here and let it go.
    const Tensor& saved(std::size_t i) const;

private:
    friend class Tape;

    struct Saved {
        Tensor tensor;
        std::uint64_t version;
        std::shared_ptr<const RecomputedOutput> recomputed =
            nullptr;  // makes the tensor if it is undefined
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

// ---- where in a model we are: "blocks.3.attention.query"
// -----------------------------------------

/// Appends `name` to this thread's path until it leaves scope. Free when no tape records.
class ModuleScope {
public:
    explicit ModuleScope(std::string_view name);
    ~ModuleScope();
    ModuleScope(const ModuleScope&) = delete;
    ModuleScope& operator=(const ModuleScope&) = delete;

private:
    std::size_t outer_length_;
};

/// Replaces this thread's path until it leaves scope: what backward records stands under the path
/// of the op that it walks through, wherever backward was called.
class ModulePathGuard {
public:
    explicit ModulePathGuard(std::string_view path);
    ~ModulePathGuard();
    ModulePathGuard(const ModulePathGuard&) = delete;
    ModulePathGuard& operator=(const ModulePathGuard&) = delete;

private:
    std::optional<std::string> outer_;
};

const std::string& module_path();

}  // namespace tapestry
