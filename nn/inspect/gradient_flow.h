// What in a model learns, and what does not. GradientFlow: what one step of an optimiser did to
// every parameter. A step that learns changes each by about a thousandth of its size; a part that
// stays at a millionth learns nothing, and one near 1 forgets what it knew. And dead units, which
// pass no gradient on. Read next: nn/pages/report.h, which shows the flow over a training.
//
//     GradientFlow flow(model);
//     tape.backward(loss);
//     flow.before_update();
//     optimizer.step();
//     for (const ParameterFlow& p : flow.after_update()) fmt::print("{} {}\n", p.name, p.ratio());
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/nn/inspect/statistics.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

/// Root mean squares over the elements, and how many elements have which size.
struct ParameterFlow {
    std::string name;
    Shape shape;
    bool frozen = false;
    double value_rms = 0;     ///< before the update
    double gradient_rms = 0;  ///< as in Tensor::grad: before clipping; 0 if there is none
    double update_rms = 0;    ///< of the difference that the update made
    Log2Histogram values = {};
    Log2Histogram gradients = {};
    Log2Histogram updates = {};

    /// update_rms / value_rms, which is ||update|| / ||value||; not a number where all values were
    /// 0.
    double ratio() const;
};

/// Holds a copy of all parameters between the two calls, and nothing otherwise.
class GradientFlow {
public:
    /// The model must live as long, and its parameters stay the same tensors.
    explicit GradientFlow(const Module& model);

    /// Copies the parameters. Call it with or without gradients in place.
    void before_update();

    /// Compares with the copies, which are given up. The gradients must still be those of the step.
    /// Throws ValueError without a before_update().
    std::vector<ParameterFlow> after_update();

private:
    NamedTensors parameters_;
    Tensors before_;
};

// ---- dead units ---------------------------------------------------------------------------------

// Of an activation function (relu, gelu, ...) the units that learned nothing in a step, because the
// function passed no gradient on for any row. A relu whose input is negative for every row is the
// usual case; gelu and silu do so where their slope underflows, tanh and sigmoid where they are
// saturated, far from 0 on either side.

/// Of an entry y = f(x) whose last axis counts units; the others are rows: every token of every
/// sequence, say. With one row, half of relu's units look dead and are not.
struct UnitCounts {
    std::int64_t rows = 0;
    std::int64_t units = 0;
    /// A gradient that is not 0 came to the unit's output in some row, and what went on to its
    /// input is exactly 0 in all of them.
    std::int64_t dead = 0;
    /// No gradient but 0 came to its output in any row: what comes after ignores the unit (a row of
    /// zero weights, or the loss does not depend on it). Whether the unit itself is dead is then
    /// not known; it is not among `dead`.
    std::int64_t unreached = 0;
};

/// Is it an activation function? Known by name: relu, gelu, silu, softplus, tanh, sigmoid. With
/// TAPESTRY_FUSE=0 gelu and silu are on the tape as their parts, of which the sigmoid is one.
bool is_activation(const Op& op);

/// From the gradients at output and input, [..., units] both, of one shape and dtype (f32 or f64).
UnitCounts count_units(const Tensor& output_gradient, const Tensor& input_gradient);

}  // namespace tapestry
