// -std=c++20
//
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/module/module.h>

#include <deque>
#include <optional>

using namespace tapestry;
struct Layer : Module {
    Layer() : Module("Layer") {}
};
struct TwiceOp : Op {
    TwiceOp() : Op("twice") {}
    Tensors forward(const Tensors& x) const override { return x; }
    Tensors backward(const Tensors& grads) override { return grads; }
};
Tensor twice(const Tensor& x, Tensor y) { return record<TwiceOp>({x}, y); }
struct Stack : Module {
    std::deque<Layer> layers;
    std::optional<Layer> last;
    Stack() : Module("Stack"), layers(3) {
        layers.emplace_back();
        last.emplace();
    }
};
const Stack stack;
const Tensor x = tensor<float>({1, 2, 3});
