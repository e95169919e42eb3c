#include <tapestry/autograd/jvp.h>

#include <tapestry/core/create.h>

namespace tapestry {

Tensors jvp(Tape& tape, const Tensors& ys, const Tensors& xs, const Tensors& directions) {
    require<ShapeError>(xs.size() == directions.size(), "jvp: {} directions for {} tensors",
                        directions.size(), xs.size());
    for (std::size_t i = 0; i < xs.size(); ++i) {
        require<ShapeError>(xs[i].shape() == directions[i].shape(),
                            "jvp: direction {} is {}, the tensor {}", i, directions[i].shape(),
                            xs[i].shape());
    }
    Tensors slopes;
    for (const Tensor& y : ys) {
        slopes.push_back(zeros_like(y));
        if (!tape.follows(y)) continue;
        const Tensor v = zeros_like(y).set_requires_grad();
        const Recording recording(&tape);
        const Tensors pulled = tape.gradient(y, xs, {.cotangent = v, .create_graph = true});
        for (std::size_t i = 0; i < pulled.size(); ++i) {
            if (!tape.follows(pulled[i])) continue;  // y does not depend on this x
            const Tensor part =
                tape.gradient(pulled[i], {v}, {.cotangent = directions[i], .retain = true})[0];
            slopes.back() = accumulate_gradients(slopes.back(), part).detach();
        }
    }
    return slopes;
}

}  // namespace tapestry
