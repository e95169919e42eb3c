// Which parts of a model learn, and which do not. GradientFlow measures what one optimiser step
// does to every parameter. A healthy step changes each by about a thousandth of its size; a part at
// a millionth learns nothing, and one near 1 forgets what it knew. Also counts dead units, which
// pass no gradient on. Read next: nn/pages/report.h, which shows the flow over a run.
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

/// Root mean squares over the elements, and histograms of their magnitudes.
struct ParameterFlow {
    std::string name;              ///< "blocks.0.norm.weight"
    Shape shape;                   ///< of the parameter
    bool frozen = false;           ///< whether it is not trained
    double value_rms = 0;          ///< before the update
    double gradient_rms = 0;       ///< of Tensor::grad, before clipping; 0 if there is none
    double update_rms = 0;         ///< of the change made by the update
    Log2Histogram values = {};     ///< histogram of the values before the update
    Log2Histogram gradients = {};  ///< histogram of the gradient before clipping
    Log2Histogram updates = {};    ///< histogram of the change

    /// update_rms / value_rms, which is ||update|| / ||value||; NaN if all values were 0.
    double ratio() const;
};

/// Holds a copy of all parameters between the two calls, otherwise nothing.
class GradientFlow {
public:
    /// The model must outlive it, and its parameters must stay the same tensors.
    explicit GradientFlow(const Module& model);

    /// Copies the parameters. Gradients need not exist yet.
    void before_update();

    /// Compares the parameters with the copies, and releases these. The gradients must still be the
    /// step's. Throws ValueError without a before_update().
    std::vector<ParameterFlow> after_update();

private:
    NamedTensors parameters_;
    Tensors before_;
};

// ---- dead units ---------------------------------------------------------------------------------

// Units of an activation function (relu, gelu, ...) that learned nothing in a step, because the
// function passed no gradient on in any row. Typically a relu whose input is negative in every row;
// gelu and silu where their slope underflows, tanh and sigmoid where they saturate, far from 0 on
// either side.

/// Counts for an entry y = f(x) whose last axis is the units; the others are rows, such as every
/// token of every sequence. With a single row, half of relu's units look dead but are not.
struct UnitCounts {
    std::int64_t rows = 0;   ///< rows of the entry, such as all tokens of a batch
    std::int64_t units = 0;  ///< size of the last axis
    /// A nonzero gradient arrived at the unit's output in some row, but its input's gradient is
    /// exactly 0 in all rows.
    std::int64_t dead = 0;
    /// Only zero gradients arrived at the unit's output: later layers ignore it (a row of zero
    /// weights, or the loss does not depend on it). Whether the unit itself is dead is unknown; it
    /// is not counted in `dead`.
    std::int64_t unreached = 0;
};

/// Whether it is an activation function, by name: relu, relu_squared, gelu, silu, softplus, tanh,
/// sigmoid. With TAPESTRY_FUSE=0 gelu and silu are recorded as their parts, which include the
/// sigmoid.
bool is_activation(const Op& op);

/// Counts from the gradients at output and input, [..., units] both, of the same shape and dtype
/// (f32 or f64).
UnitCounts count_units(const Tensor& output_gradient, const Tensor& input_gradient);

}  // namespace tapestry
