// Is the path of f32, of bf16 or f16 right? Differences cannot tell: rounding hides them. But the
// same function runs in f64, where its gradient can be checked, and at numbers of the narrow type
// the two may differ by its rounding alone.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>

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

/// A line per input, with its histogram.
std::string to_string(const PrecisionReport& report);
std::string to_json(const PrecisionReport& report);

}  // namespace tapestry
