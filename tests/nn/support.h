// Shared by the tests of modules: random inputs, comparing values, and gradient checks over the
// inputs and every parameter of a module.
#pragma once

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/nn/plain.h>

#include <set>

namespace tapestry::test {

inline Tensor random(const Shape& shape, std::uint64_t seed = 1, DType dtype = DType::f64) {
    Generator generator(seed);
    return randn(shape, generator, dtype);
}

/// The largest difference, relative to the largest number or 1; infinite if shapes differ.
inline double difference(const Tensor& x, const plain::Numbers& wanted) {
    if (!(x.shape() == wanted.shape)) return INFINITY;
    const auto got = x.to_vector<double>();
    double scale = 1, worst = 0;
    for (const double value : wanted.data) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(got[i]) != std::isnan(wanted.data[i])) return INFINITY;
        worst = std::max(worst, std::abs(got[i] - wanted.data[i]));
    }
    return worst / scale;
}

/// Are two tensors equal up to rounding?
inline bool close(const Tensor& a, const Tensor& b, double allowed = 1e-13) {
    return difference(a, plain::numbers(b)) < allowed;
}

/// Perturbs every parameter: at initialization biases are 0 and norm weights 1, which may hide a
/// wrong gradient; but little enough that gradients in a stack of layers stay of similar size.
inline void move_parameters(Module& module, double by, std::uint64_t seed) {
    for (Tensor& parameter : module.parameters()) {
        const auto noise = random(parameter.shape(), seed++).to_vector<double>();
        double* values = parameter.mutable_data<double>();
        for (std::size_t i = 0; i < noise.size(); ++i) values[i] += by * noise[i];
    }
}

/// The numbers of every parameter.
template <class T = double>
std::vector<std::vector<T>> numbers_of(const Module& module) {
    std::vector<std::vector<T>> all;
    for (const Tensor& parameter : module.parameters()) all.push_back(parameter.to_vector<T>());
    return all;
}

/// Everything that a function of inputs and a module depends on, by name; tied parameters once.
inline NamedTensors leaves_of(const Module& module, const Tensors& inputs) {
    NamedTensors leaves;
    for (const Tensor& input : inputs) {
        leaves.emplace_back(fmt::format("input {}", leaves.size()), input);
    }
    const NamedTensors parameters = module.named_parameters();
    leaves.insert(leaves.end(), parameters.begin(), parameters.end());
    return leaves;
}

/// How thoroughly to check gradients: under AddressSanitizer only a few directions, which access
/// all the memory. The values are checked without it, twenty times as fast.
inline GradcheckOptions gradcheck_options() {
    if (!kAddressSanitizer) return {};
    return {.method = GradcheckMethod::directions, .certainty = 0.5, .preconditions = false};
}

/// Checks that `report` passes; prints it if not.
inline void check_passes(const GradcheckReport& report) {
    CHECK_MESSAGE(static_cast<bool>(report), to_string(report));
}

/// Gradchecks f(inputs), which calls `module`, over inputs and parameters; order 2 if `twice`.
/// `members` are the module's parameters as its members, each once.
inline void check_gradients(Module& module, const std::vector<Tensor*>& members,
                            const TensorFunction& f, Tensors inputs, bool twice = true) {
    module.to(DType::f64);
    std::set<const Leaf*> listed, owned;
    for (const Tensor* member : members) listed.insert(member->leaf().get());
    for (const Tensor& parameter : module.parameters()) owned.insert(parameter.leaf().get());
    CHECK(listed == owned);

    move_parameters(module, 0.3, 900);
    for (Tensor& input : inputs) input = input.clone().set_requires_grad();
    const auto whole = [&] { return f(inputs); };
    const NamedTensors leaves = leaves_of(module, inputs);
    check_passes(gradcheck(whole, leaves, gradcheck_options()));
    if (twice) check_passes(gradgradcheck(whole, leaves, gradcheck_options()));
}

}  // namespace tapestry::test
