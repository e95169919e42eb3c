// GradientFlow: what one step of an optimiser did to every parameter. A step that learns changes
// each by about a thousandth of its size; a part that stays at a millionth learns
// nothing, and one near 1 forgets what it knew. Read next: nn/pages/report.h, which shows it over a
// training.
//
//     GradientFlow flow(model);
//     tape.backward(loss);
//     flow.before_update();
//     optimizer.step();
//     for (const ParameterFlow& p : flow.after_update()) fmt::print("{} {}\n", p.name, p.ratio());
#pragma once

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

}  // namespace tapestry
