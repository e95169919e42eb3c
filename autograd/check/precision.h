// Checks the f32, bf16 or f16 computation of a gradient. Differences cannot do this, because
// rounding hides them. But the same function runs in f64, where its gradient can be checked, and at
// numbers of the narrow type the two may only differ by its rounding.
#pragma once

#include <tapestry/autograd/check/plain.h>

#include <array>

namespace tapestry {

/// The result of a comparison: pass if rounding in the narrow type explains every difference.
struct PrecisionReport {
    /// One input or parameter.
    struct Input {
        std::string name = {};            ///< "x", "input 0", "blocks.0.norm.weight"
        Shape shape = {};                 ///< its shape
        Verdict verdict = Verdict::pass;  ///< of this input
        Reason reason = Reason::none;     ///< why it is inconclusive
        std::string worst = {};           ///< index of the element
        double narrow = 0;                ///< its gradient in the narrow type
        double f64 = 0;                   ///< the same element's gradient in f64
        double tolerance = 0;             ///< allowed difference
        /// The number of elements that differ by 0, 1, 2-3, 4-15, 16-255 and more ulps of the
        /// narrow type; the ulp is that of the largest entry of the gradient.
        std::array<std::int64_t, 6> ulps{};
    };
    std::string subject = {};         ///< the name of the compared function, if it has one
    DType dtype = DType::f32;         ///< narrow type
    Verdict verdict = Verdict::pass;  ///< the worst of the inputs
    Reason reason = Reason::none;     ///< why it is inconclusive
    std::string complaint = {};       ///< why it fails for any numbers; empty: it does not
    std::vector<Input> inputs = {};   ///< in order
    explicit operator bool() const { return verdict == Verdict::pass; }  ///< true for Verdict::pass
};

/// A function that can compute in either type: a module and its loss. leaves(dtype) converts it and
/// returns its leaves, always the same ones in the same order; value() computes with their values.
struct TwoPrecisions {
    std::function<NamedTensors(DType)> leaves;  ///< converts, see above
    std::function<Tensor()> value;              ///< the function's value at the leaves, a scalar
};

/// Compares the gradient at the leaves' values rounded to `narrow` (f32, bf16 or f16), computed in
/// that type and in f64, with the same random cotangent. The allowed difference is measured: how
/// much the narrow gradient changes when inputs and cotangent change in their last bits.
/// INCONCLUSIVE if that exceeds a hundredth of the gradient (an eighth for bf16, a sixty-fourth for
/// f16), if the narrow type overflows, and if rounding selects another branch. Leaves the function
/// in f64. Throws DTypeError if the result has another type than the leaves; with 16-bit leaves it
/// may be f32, as losses are.
PrecisionReport compare_precisions(const TwoPrecisions& f, std::uint64_t seed = 1,
                                   DType narrow = DType::f32);

/// The same for f(inputs), with inputs of any floating type. Throws as gradcheck() does.
PrecisionReport compare_precisions(const TensorFunction& f, const Tensors& inputs,
                                   std::uint64_t seed = 1, DType narrow = DType::f32);

/// A function over plain arrays, and its pullback.
struct PlainRule {
    PlainFunctionOfInputs f;         ///< the function
    PlainPullbackOfInputs pullback;  ///< its gradient: (inputs, g) -> g^T df/dx
};

/// Optional properties of a function without tensors.
struct PlainPrecisionOptions {
    std::vector<Shape> shapes = {};   ///< of the inputs; none: vectors
    Shape output = {};                ///< of f(x); empty: a vector
    std::vector<Bounds> bounds = {};  ///< as in GradcheckOptions
    std::uint64_t seed = 1;           ///< of the weights of f's outputs
};

/// The same for functions without tensors: `narrow` computes in `dtype` (bf16 or f16) what `wide`
/// computes in f64. Both receive numbers of that type, as doubles, and return doubles. Intermediate
/// rounding and branches are invisible here, so the allowed difference also includes how much the
/// error itself changes near x, and the verdict is INCONCLUSIVE if the narrow gradient is not
/// finite. Both are only called near x, and within `bounds`; exceptions are treated as by
/// check_pullback(). Throws DTypeError for other types, and what check_pullback() throws.
PrecisionReport compare_precisions(const PlainRule& narrow, const PlainRule& wide,
                                   const PlainInputs& inputs, DType dtype,
                                   const PlainPrecisionOptions& options = {});

/// One line per input, with its histogram.
std::string to_string(const PrecisionReport& report);
/// The same as a JSON object.
std::string to_json(const PrecisionReport& report);

}  // namespace tapestry
