// Memory for time: a part of the model is computed again on the way back instead of kept.
//
// A tape keeps what every entry will need on the way back. recompute(f, x) puts a single entry on
// it, which keeps x; when the walk comes by, f runs once more, recorded, and the walk goes on
// through what it recorded. A stack of n layers, each recomputed, keeps n inputs and one layer's
// inside at a time; f is computed twice.
//
//     for (const auto& layer : layers) {
//         x = recompute([&](const Tensor& h) { return (*layer)(h); }, x);
//     }
//
// Elsewhere this is called (gradient or activation) checkpointing; here a checkpoint is a file.
// Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost".
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// f(inputs), of which the tape keeps the inputs alone. Gradients are the same bits as without, and
/// so are gradients of gradients: in backward f is computed again from the same numbers, random
/// ones included (what f draws from generators is drawn again; their streams go on as if it were
/// not), and its entries take the place of the one that stood for them. What is recomputed may
/// contain what is recomputed. Without a tape this is just f(inputs).
///
/// f must do the same the second time, and what it captures must live until backward: modules,
/// parameters, constants, generators. Throws AutogradError where f uses something else this tape
/// has computed than its inputs (pass it as an input), where something computed inside is used
/// outside without having been returned, and in backward where an input or parameter has been
/// changed in place in between, or f did something else.
Tensors recompute(const std::function<Tensors(const Tensors&)>& f, const Tensors& inputs);

/// The same with one tensor in and one out.
Tensor recompute(const std::function<Tensor(const Tensor&)>& f, const Tensor& input);

/// recompute() as torch.utils.checkpoint calls it.
inline Tensors checkpoint(const std::function<Tensors(const Tensors&)>& f, const Tensors& inputs) {
    return recompute(f, inputs);
}
inline Tensor checkpoint(const std::function<Tensor(const Tensor&)>& f, const Tensor& input) {
    return recompute(f, input);
}

// ---- side effects of a function that runs again
// ---------------------------------- A forward pass may leave something behind: batch norm moves
// its running statistics. recompute() runs a function a second time for the same step, and the
// gradient checker runs one hundreds of times for no step at all; both say so, and whoever leaves
// something behind asks.

/// What this thread runs while one of these is alive has run before, or is only tried out.
class RepeatedRun {
public:
    RepeatedRun();
    ~RepeatedRun();
    RepeatedRun(const RepeatedRun&) = delete;
    RepeatedRun& operator=(const RepeatedRun&) = delete;
};

bool is_repeated_run();

}  // namespace tapestry
