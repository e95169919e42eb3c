// Gradients through a whole module: every parameter against central differences.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/tests/nn/support.h>

#include <functional>

namespace tapestry::test {

/// Sets every parameter to normal random numbers: at initialization biases are 0 and norm weights
/// 1, which may hide a wrong gradient.
inline void randomise(Module& module, double scale = 0.7) {
    module.to(DType::f64);
    std::uint64_t seed = 100;
    for (Tensor& parameter : module.parameters()) {
        Generator generator(seed++);
        parameter.copy_(normal(parameter.shape(), 0, scale, generator, DType::f64));
    }
}

/// `f` calls `module`, f64, and is deterministic; its result is weighted with random numbers.
/// `inputs` are further leaves that f reads. Checks all parameters, tied ones once; f must depend
/// on each of them.
inline void check_module_gradients(const Module& module, const std::function<Tensor()>& f,
                                   const Tensors& inputs = {},
                                   const GradcheckOptions& options = gradcheck_options()) {
    const ThreadsGuard one(1);  // too small for several threads
    NamedTensors leaves = leaves_of(module, inputs);
    for (auto& [name, leaf] : leaves) leaf.clear_grad();
    {
        Tape tape;
        const Tensor y = f();
        tape.backward(y, {.cotangent = random(y.shape(), 9)});
    }
    for (auto& leaf : leaves) {
        REQUIRE_MESSAGE(leaf.second.grad().defined(), "nothing arrives at ", leaf.first);
        leaf.second.clear_grad();
    }
    check_passes(gradcheck(f, leaves, options));
}

/// The same for f(inputs), with the initial parameters slightly perturbed.
inline void check_module_gradients(Module& module, const TensorFunction& f, Tensors inputs,
                                   const GradcheckOptions& options = gradcheck_options()) {
    module.to(DType::f64);
    move_parameters(module, 0.1, 900);
    for (Tensor& input : inputs) input.set_requires_grad();
    check_module_gradients(
        module, [&] { return f(inputs); }, inputs, options);
}

}  // namespace tapestry::test
