// Parts that the examples of checked_modules.h are made of: inputs, parameters away from their
// initial values, and the function whose gradients are checked. Internal to nn/catalog. Read next:
// checked_modules.cpp, the layers; checked_models.cpp, the models.
#pragma once

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/ops/cast.h>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::catalog {

/// Examples by name.
using Makers = std::vector<std::pair<std::string, std::function<CheckedModule()>>>;

/// Those of nn/models.
Makers checked_models();

inline Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
    Generator generator(seed);
    return randn(shape, generator, DType::f64);
}

// Modules with dropout keep drawing from the generator they were made with: it must outlive them.
// Each thread checks its own modules.
inline Generator& fresh_generator() {
    static thread_local Generator generator(5);
    generator.set_state(5, 0);
    return generator;
}

inline Tensor random_ids(const Shape& shape, std::int64_t limit, std::uint64_t seed) {
    Generator generator(seed);
    return randint(0, limit, shape, generator);
}

// Converts the parameters to f64 and adds noise to them; makes the inputs leaves.
template <class M, class F>
CheckedModule checked_example(std::shared_ptr<M> module, Tensors inputs, F f) {
    module->to(DType::f64);
    std::uint64_t seed = 900;
    for (auto& [name, parameter] : module->named_parameters()) {
        const auto noise = random_tensor(parameter.shape(), seed++).template to_vector<double>();
        Tensor p = parameter;
        double* values = p.mutable_data<double>();
        for (std::size_t i = 0; i < noise.size(); ++i) values[i] += 0.2 * noise[i];
    }
    for (Tensor& input : inputs) input.set_requires_grad();
    const auto given = std::make_shared<Tensors>(std::move(inputs));
    CheckedModule result;
    result.value = [module, given, f] { return f(*module, *given); };
    result.leaves = [module, given](DType dtype) {
        module->to(dtype);
        NamedTensors leaves = module->named_parameters();
        for (std::size_t i = 0; i < given->size(); ++i) {
            Tensor& input = (*given)[i];
            if (input.dtype() != dtype) input = cast(input, dtype).set_requires_grad();
            leaves.emplace_back(fmt::format("input {}", i), input);
        }
        return leaves;
    };
    result.module = std::move(module);
    return result;
}

// Modules of one tensor.
template <class M>
CheckedModule of_input(std::shared_ptr<M> module, const Shape& shape) {
    return checked_example(std::move(module), {random_tensor(shape, 1)},
                           [](const M& m, const Tensors& x) { return m(x[0]); });
}

}  // namespace tapestry::catalog
