// A physics-informed network: no data, only the equation. It learns the damped oscillation
//     u'' + u' + 9 u = 0,   u(0) = 1,   u'(0) = 0
// by minimizing the left side at 128 times. Tapes give the derivatives in the loss, and the loss is
// then differentiated again. After Raissi, Perdikaris and Karniadakis 2019.
#include <tapestry/tapestry.h>

#include <cmath>

using namespace tapestry;

namespace {

constexpr double kEnd = 3;
constexpr std::int64_t kSteps = 3000;

// u(t) = 1 + t^2 network(t) satisfies the initial conditions for any network.
Tensor position(const Sequential& network, const Tensor& t) {
    return 1.0 + square(t) * network(t);  // [N, 1]
}

// The exact solution: e^(-t/2) (cos wt + sin(wt) / 2w), w^2 = 9 - 1/4.
Tensor exact(const Tensor& t) {
    const double w = std::sqrt(8.75);
    return exp(-0.5 * t) * (cos(w * t) + sin(w * t) / (2 * w));
}

}  // namespace

int main() {
    Generator generator(1);
    Sequential network;
    network.add<Linear>(1, 32, generator);
    network.add<Tanh>();
    network.add<Linear>(32, 32, generator);
    network.add<Tanh>();
    network.add<Linear>(32, 1, generator);

    Tensor t = unsqueeze(linspace(0, kEnd, 128), 1);  // [128, 1]
    t.set_requires_grad();
    const Tensor wanted = exact(t.detach());
    const auto largest_error = [&] {
        return max(abs(position(network, t.detach()) - wanted)).item();
    };

    Adam optimizer(network);
    const Schedule rate =
        warmup_cosine_schedule({.rate = 1e-2, .min_rate = 1e-4, .warmup = 50, .steps = kSteps});
    for (std::int64_t step = 0; step < kSteps; ++step) {
        Tape tape;
        const GradientOptions again{.create_graph = true};  // differentiable derivatives
        const Tensor u = position(network, t);
        const Tensor first = tape.gradient(sum(u), {t}, again)[0];  // u'(t), [128, 1]
        const Tensor second = tape.gradient(sum(first), {t}, again)[0];
        const Tensor loss = mean(square(second + first + 9.0 * u));
        if (step % 600 == 0) {
            fmt::print("step {:4}  law missed by {:8.4f}  largest error {:.3f}\n", step,
                       std::sqrt(loss.item()), largest_error());
        }
        optimizer.zero_grad();
        tape.backward(loss);
        optimizer.set_lr(rate(step));
        optimizer.step();
    }
    fmt::print("after {} steps: largest error {:.3f}\n", kSteps, largest_error());
    return largest_error() < 0.02 ? 0 : 1;
}
