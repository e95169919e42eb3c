// Is the f32 path right? Differences cannot tell: rounding in f32 hides them. But the same function
// runs in f64, where its gradient can be checked, and the two may differ by f32's rounding alone.
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
        double f32 = 0;          ///< its gradient
        double f64 = 0;
        double tolerance = 0;  ///< what they may differ by
        /// How many elements differ by 0, 1, 2-3, 4-15, 16-255 and more ulps of f32, counted at the
        /// size of the largest entry of the gradient.
        std::array<std::int64_t, 6> ulps{};
    };
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    std::string complaint;
    std::vector<Input> inputs;
    explicit operator bool() const { return verdict == Verdict::pass; }
};

/// A function that can work in either type: a module and its loss. leaves(dtype) converts it and
/// gives its leaves, always the same ones in the same order; value() computes with what they hold.
struct TwoPrecisions {
    std::function<NamedTensors(DType)> leaves;
    std::function<Tensor()> value;
};

/// The gradient at the leaves' values rounded to f32, computed in f32 and in f64, with the same
/// random cotangent. What may differ is measured: by how much the f32 gradient changes when inputs
/// and cotangent change in their last bits. INCONCLUSIVE where that is more than a hundredth of the
/// gradient, where f32 overflows, and where rounding takes another branch. Leaves the function in
/// f64. Throws DTypeError where the result is of another type than the leaves.
PrecisionReport compare_precisions(const TwoPrecisions& f, std::uint64_t seed = 1);

/// The same for f(inputs), inputs f32 or f64. Throws as gradcheck() does.
PrecisionReport compare_precisions(const TensorFunction& f, const Tensors& inputs,
                                   std::uint64_t seed = 1);

/// A line per input, with its histogram.
std::string to_string(const PrecisionReport& report);
std::string to_json(const PrecisionReport& report);

}  // namespace tapestry
