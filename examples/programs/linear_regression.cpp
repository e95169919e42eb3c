// A straight line through noisy points by gradient descent: the smallest training loop.
#include <tapestry/tapestry.h>

#include <cmath>

using namespace tapestry;

int main() {
    Generator generator(42);
    const Tensor x = uniform({200, 1}, -1, 1, generator);  // [N, 1]
    const Tensor noise = normal({200, 1}, 0, 0.1, generator);
    const Tensor y = 3.0 * x + 0.5 + noise;  // [N, 1]

    Linear line(1, 1, true, generator);
    SGD optimizer(line, {.lr = 0.2, .momentum = 0.9});
    for (int step = 1; step <= 100; ++step) {
        Tape tape;
        const Tensor loss = mse_loss(line(x), y);
        optimizer.zero_grad();
        tape.backward(loss);
        optimizer.step();
        if (step % 20 == 0) fmt::print("step {:3}  loss {:.5f}\n", step, loss.item());
    }
    const double slope = line.weight.item();
    const double height = line.bias.item();
    fmt::print("y = {:.3f} x + {:.3f}, drawn from y = 3 x + 0.5 with noise of deviation 0.1\n",
               slope, height);
    return std::abs(slope - 3) < 0.1 && std::abs(height - 0.5) < 0.1 ? 0 : 1;
}
