// Exclusive or: no straight line separates the two classes, but a hidden layer of eight units does.
#include <tapestry/tapestry.h>

using namespace tapestry;

// Two linear layers with a nonlinearity between them.
class Network : public Module {
public:
    Linear hidden, output;

    explicit Network(Generator& generator)
        : Module("Network"), hidden(2, 8, true, generator), output(8, 1, true, generator) {
        register_module("hidden", hidden);
        register_module("output", output);
    }

    Tensor operator()(const Tensor& x) const { return sigmoid(output(tanh(hidden(x)))); }
};

int main() {
    const Tensor inputs = tensor<float>({{0, 0}, {0, 1}, {1, 0}, {1, 1}});  // [4, 2]
    const Tensor wanted = tensor<float>({{0}, {1}, {1}, {0}});              // [4, 1]

    Generator generator(7);
    Network network(generator);
    fmt::print("{}\n", network.summary());

    AdamW optimizer(network, {.lr = 0.05});
    for (int step = 0; step < 400; ++step) {
        Tape tape;
        const Tensor loss = mse_loss(network(inputs), wanted);
        optimizer.zero_grad();
        tape.backward(loss);
        optimizer.step();
        if (step % 100 == 0) fmt::print("step {:3}  loss {:.5f}\n", step, loss.item());
    }
    const Tensor answers = network(inputs);
    fmt::print("\n0^0, 0^1, 1^0, 1^1 =\n{}\n", answers);
    return max(abs(answers - wanted)).item() < 0.1 ? 0 : 1;
}
