// Is the path of f32, of bf16 or f16 right? Differences cannot tell: rounding hides them. But the
// same function runs in f64, where its gradient can be checked, and at numbers of the narrow type
// the two may differ by its rounding alone.
#pragma once

#include <tapestry/autograd/check/plain.h>

#include <array>

namespace tapestry {

struct PrecisionReport {
    struct Input {
        std::string name = {};
        Shape shape = {};
        Verdict verdict = Verdict::pass;
        Reason reason = Reason::none;
        std::string worst = {};  ///< index of the element
        double narrow = 0;       ///< its gradient in the narrow type
        double f64 = 0;
        double tolerance = 0;  ///< what they may differ by
        /// How many elements differ by 0, 1, 2-3, 4-15, 16-255 and more ulps of the narrow type,
        /// counted at the size of the largest entry of the gradient.
        std::array<std::int64_t, 6> ulps{};
    };
    std::string subject = {};  ///< what was compared, if it has a name
    DType dtype = DType::f32;  ///< the narrow one
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    std::string complaint = {};
    std::vector<Input> inputs = {};
    explicit operator bool() const { return verdict == Verdict::pass; }
};

/// A function that can work in either type: a module and its loss. leaves(dtype) converts it and
/// gives its leaves, always the same ones in the same order; value() computes with what they hold.
struct TwoPrecisions {
    std::function<NamedTensors(DType)> leaves;
    std::function<Tensor()> value;
};

/// The gradient at the leaves' values rounded to `narrow` (f32, bf16 or f16), computed in it and in
/// f64, with the same random cotangent. What may differ is measured: by how much the narrow
/// gradient changes when inputs and cotangent change in their last bits. INCONCLUSIVE where that is
/// more than a hundredth of the gradient (of bf16 an eighth, of f16 a sixty-fourth), where the
/// narrow type overflows, and where rounding takes another branch. Leaves the function in f64.
/// Throws DTypeError where the result is of another type than the leaves; of 16 bits it may be f32,
/// as losses are.
PrecisionReport compare_precisions(const TwoPrecisions& f, std::uint64_t seed = 1,
                                   DType narrow = DType::f32);

/// The same for f(inputs), of any floating type. Throws as gradcheck() does.
PrecisionReport compare_precisions(const TensorFunction& f, const Tensors& inputs,
                                   std::uint64_t seed = 1, DType narrow = DType::f32);

/// A function over plain arrays, and its pullback.
struct PlainRule {
    PlainFunctionOfInputs f;
    PlainPullbackOfInputs pullback;
};

struct PlainPrecisionOptions {
    std::vector<Shape> shapes = {};   ///< of the inputs; none: vectors
    Shape output = {};                ///< of f(x); empty: a vector
    std::vector<Bounds> bounds = {};  ///< as in GradcheckOptions
    std::uint64_t seed = 1;
};

/// The same for functions that know nothing of tensors: `narrow` computes in `dtype` (bf16 or f16)
/// what `wide` computes in f64. Both are handed numbers of that type, as doubles, and give doubles.
/// What is rounded on the way, and where branches part, nobody sees here: what may differ is also
/// measured by how the error itself changes near x, and where the narrow gradient is not finite the
/// verdict is INCONCLUSIVE. They are called near x alone, and within `bounds`; what is thrown
/// counts as in check_pullback(). Throws DTypeError for other types, and what check_pullback()
/// throws.
PrecisionReport compare_precisions(const PlainRule& narrow, const PlainRule& wide,
                                   const PlainInputs& inputs, DType dtype,
                                   const PlainPrecisionOptions& options = {});

/// A line per input, with its histogram.
std::string to_string(const PrecisionReport& report);
std::string to_json(const PrecisionReport& report);

}  // namespace tapestry
