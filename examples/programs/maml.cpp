// MAML: learns weights from which one step of gradient descent fits a new task. A task is a sine
// with its own amplitude and phase, known at ten points. The loss is differentiated through that
// step, which takes second derivatives. After Finn, Abbeel and Levine 2017.
#include <tapestry/tapestry.h>

using namespace tapestry;

namespace {

constexpr std::int64_t kTasks = 16, kPoints = 10, kHidden = 40, kSteps = 2000;
constexpr double kInnerRate = 0.03;

// A batch of sines with amplitudes and phases [M, 1, 1]: maps xs [M, K, 1] to ys [M, K, 1].
struct Sines {
    Tensor amplitude, phase;
    explicit Sines(std::int64_t count, Generator& generator)
        : amplitude(uniform({count, 1, 1}, 0.1, 5, generator)),
          phase(uniform({count, 1, 1}, 0, 3.14159, generator)) {}

    Tensor operator()(const Tensor& x) const { return amplitude * sin(x + phase); }
    Tensor draw(Generator& generator) const {
        return uniform({amplitude.size(0), kPoints, 1}, -5, 5, generator);
    }
};

// A network as a function of its weights, optionally per task: [M, in, out], [M, 1, out].
Tensor predict(const Tensors& w, const Tensor& x) {
    Tensor h = x;  // [M, K, in]
    for (std::size_t i = 0; i < w.size(); i += 2) {
        h = matmul(h, w[i]) + w[i + 1];
        if (i + 2 < w.size()) h = tanh(h);
    }
    return h;  // [M, K, 1]
}

Tensors first_weights(Generator& generator) {
    Tensors weights;
    const std::vector<std::int64_t> sizes{1, kHidden, kHidden, 1};
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
        Tensor w = zeros({sizes[i], sizes[i + 1]});
        init::xavier_normal_(w, {.generator = generator});
        weights.push_back(w.set_requires_grad());
        weights.push_back(zeros({1, sizes[i + 1]}).set_requires_grad());
    }
    return weights;
}

// The weights after one step on ten points of each task, recorded on `tape`.
Tensors adapted(Tape& tape, const Tensors& weights, const Sines& tasks, const Tensor& x) {
    Tensors own;  // a copy of the weights for each task, differentiable in `weights`
    for (const Tensor& w : weights) {
        own.push_back(expand(w, {x.size(0), w.size(0), w.size(1)}));
    }
    // The sum over tasks, so each copy gets the gradient of its own task's loss.
    const Tensor loss = mse_loss(predict(own, x), tasks(x)) * static_cast<double>(x.size(0));
    const Tensors gradients = tape.gradient(loss, own, {.create_graph = true});
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = own[i] - kInnerRate * gradients[i];
    return own;
}

// Mean squared error at new points of 200 new sines, before and after one step.
std::pair<double, double> examine(const Tensors& weights) {
    Generator generator(99);
    const Sines tasks(200, generator);
    const Tensor x = tasks.draw(generator), elsewhere = tasks.draw(generator);
    Tape tape;
    const Tensors after = adapted(tape, weights, tasks, x);
    return {mse_loss(predict(weights, elsewhere), tasks(elsewhere)).item(),
            mse_loss(predict(after, elsewhere), tasks(elsewhere)).item()};
}

}  // namespace

int main() {
    Generator generator(1);
    const Tensors weights = first_weights(generator);
    const auto report = [&](const char* when) {
        const auto [before, after] = examine(weights);
        fmt::print("{}: error {:.2f}, after one step {:.2f}\n", when, before, after);
        return after;
    };
    report("random weights   ");
    Adam optimizer(weights, {.lr = 2e-3});
    for (std::int64_t step = 0; step < kSteps; ++step) {
        const Sines tasks(kTasks, generator);
        Tape tape;
        const Tensors after = adapted(tape, weights, tasks, tasks.draw(generator));
        const Tensor x = tasks.draw(generator);  // not the points of the inner step
        optimizer.zero_grad();
        tape.backward(mse_loss(predict(after, x), tasks(x)));
        optimizer.step();
    }
    return report("weights that learn") < 1.2 ? 0 : 1;
}
