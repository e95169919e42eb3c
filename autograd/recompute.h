// Trades time for memory: part of the model is recomputed during backward instead of kept.
//
// A tape keeps what every entry will need in backward. recompute(f, x) puts a single entry on it,
// which keeps x; when the walk reaches it, f runs again, recorded, and the walk continues through
// what it recorded. A stack of n layers, each recomputed, keeps n inputs and the intermediate
// tensors of one layer at a time; f is computed twice.
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

/// f(inputs); the tape keeps only the inputs. Gradients are the same bits as without, and so are
/// gradients of gradients: backward computes f again from the same numbers, including random ones
/// (f draws the same numbers again, and its generators then continue as if it had not), and its
/// entries replace the one that represented them. Recomputed functions may be nested. Without a
/// tape this is just f(inputs).
///
/// f must do the same the second time, and everything it captures must live until backward:
/// modules, parameters, constants, generators. Throws AutogradError if f uses a tensor computed on
/// this tape that is not among its inputs (pass it as an input), if a tensor computed inside is
/// used outside without having been returned, and in backward if an input or parameter has been
/// changed in place since, or if f did something else.
Tensors recompute(const std::function<Tensors(const Tensors&)>& f, const Tensors& inputs);

/// The same for one input and one output.
Tensor recompute(const std::function<Tensor(const Tensor&)>& f, const Tensor& input);

/// recompute() under PyTorch's name, torch.utils.checkpoint.
inline Tensors checkpoint(const std::function<Tensors(const Tensors&)>& f, const Tensors& inputs) {
    return recompute(f, inputs);
}
inline Tensor checkpoint(const std::function<Tensor(const Tensor&)>& f, const Tensor& input) {
    return recompute(f, input);
}

// ---- side effects of a function that runs again -------------------------------------------------
// A forward pass may have side effects: batch norm updates its running statistics. recompute() runs
// a function a second time for the same step, and the gradient checker runs one hundreds of times
// for no step at all; both mark such runs, and code with side effects checks for them.

/// Marks everything that this thread runs in its scope as a repeated or trial run.
class RepeatedRun {
public:
    RepeatedRun();
    ~RepeatedRun();
    RepeatedRun(const RepeatedRun&) = delete;
    RepeatedRun& operator=(const RepeatedRun&) = delete;
};

/// Whether this thread is inside a RepeatedRun: side effects must not happen again.
bool is_repeated_run();

}  // namespace tapestry
