// Gradients through a whole module: every entry of every parameter against central differences.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <functional>

namespace tapestry::test {

/// Every parameter a new normal random number: away from the start, where biases are 0, norms'
/// weights 1, and a wrong gradient may be hidden.
inline void randomise(Module& module, double scale = 0.7) {
    module.to(DType::f64);
    std::uint64_t seed = 100;
    for (Tensor& parameter : module.parameters()) {
        Generator generator(seed++);
        parameter.copy_(normal(parameter.shape(), 0, scale, generator, DType::f64));
    }
}

/// `f` calls `module`, f64, and is deterministic; its result is weighted with random numbers.
/// `inputs` are further leaves that f reads. All parameters are checked, tied ones once.
inline void check_module_gradients(const Module& module, const std::function<Tensor()>& f,
                                   const Tensors& inputs = {}) {
    const Tensor cotangent = random(f().shape(), 9);
    Tensors leaves = inputs;
    for (const Tensor& parameter : module.parameters()) leaves.push_back(parameter);
    for (Tensor& leaf : leaves) leaf.clear_grad();
    {
        Tape tape;
        tape.backward(sum(f() * cotangent));
    }
    const auto value = [&] { return sum(f() * cotangent).item(); };
    for (std::size_t n = 0; n < leaves.size(); ++n) {
        const bool input = n < inputs.size();
        const std::string name =
            input ? "input" : module.named_parameters()[n - inputs.size()].first;
        CAPTURE(name);
        REQUIRE(leaves[n].grad().defined());
        const std::vector<double> gradient = leaves[n].grad().to_vector<double>();
        double scale = 1, worst = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const double before = leaves[n].data<double>()[i];
            const double h = 6e-6 * std::max(1.0, std::abs(before));
            const auto at = [&](double x) {
                leaves[n].mutable_data<double>()[i] = x;
                return value();
            };
            const double up = at(before + h), down = at(before - h);
            leaves[n].mutable_data<double>()[i] = before;
            scale = std::max(scale, std::abs(gradient[i]));
            worst = std::max(worst, std::abs(gradient[i] - (up - down) / (2 * h)));
        }
        CHECK(worst < 1e-6 * scale);
    }
}

/// The same for f(inputs), with the parameters as they start, moved a little: a stack of layers
/// stays where its gradients are of one size.
inline void check_module_gradients(Module& module, const TensorFunction& f, Tensors inputs) {
    module.to(DType::f64);
    std::uint64_t seed = 900;
    for (Tensor& parameter : module.parameters()) {
        const auto noise = random(parameter.shape(), seed++).to_vector<double>();
        double* values = parameter.mutable_data<double>();
        for (std::size_t i = 0; i < noise.size(); ++i) values[i] += 0.1 * noise[i];
    }
    for (Tensor& input : inputs) input.set_requires_grad();
    check_module_gradients(
        module, [&] { return f(inputs); }, inputs);
}

}  // namespace tapestry::test
