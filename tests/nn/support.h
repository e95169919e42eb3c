// What the tests of modules share: random inputs, values compared, and gradients checked with
// respect to the inputs and every parameter of a module.
#pragma once

#include <tapestry/autograd/gradcheck.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/nn/module.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/nn/plain.h>

#include <set>

namespace tapestry::test {

inline Tensor random(const Shape& shape, std::uint64_t seed = 1, DType dtype = DType::f64) {
    Generator generator(seed);
    return randn(shape, generator, dtype);
}

/// The largest difference, relative to the largest number or 1; infinite where shapes differ.
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

/// Gradchecks f(inputs), which calls `module`, over inputs and parameters; order 2 if `twice`.
/// `members` are the module's parameters where they stand in it, each of them once.
inline void check_gradients(Module& module, const std::vector<Tensor*>& members,
                            const TensorFunction& f, Tensors inputs, bool twice = true) {
    module.to(DType::f64);
    std::set<const Leaf*> listed, owned;
    for (const Tensor* member : members) listed.insert(member->leaf().get());
    for (const Tensor& parameter : module.parameters()) owned.insert(parameter.leaf().get());
    CHECK(listed == owned);

    const auto n = static_cast<std::ptrdiff_t>(inputs.size());
    const TensorFunction whole = [&](const Tensors& x) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            *members[i] = x[static_cast<std::size_t>(n) + i];
        }
        return f(Tensors(x.begin(), x.begin() + n));
    };
    for (const Tensor* member : members) {
        // Away from the start, where biases are 0 and norms' weights 1.
        Tensor value = member->clone();
        const Tensor noise = random(value.shape(), inputs.size());
        for (std::int64_t i = 0; i < value.numel(); ++i) {
            value.mutable_data<double>()[i] += 0.3 * noise.data<double>()[i];
        }
        inputs.push_back(value);
    }
    const GradcheckResult first = gradcheck(whole, inputs);
    CHECK_MESSAGE(first.ok, first.message);
    if (!twice) return;
    const GradcheckResult second = gradgradcheck(whole, inputs);
    CHECK_MESSAGE(second.ok, second.message);
}

/// The gradients of <f(inputs), v>, v random, with respect to every parameter of `module` and every
/// input, each along three random directions, against central differences. For modules of any
/// depth: needs no list of where their parameters stand. Converts the module to f64.
inline void check_module_gradients(Module& module, const TensorFunction& f, Tensors inputs) {
    module.to(DType::f64);
    NamedTensors leaves = module.named_parameters();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i].set_requires_grad();
        leaves.emplace_back(fmt::format("input {}", i), inputs[i]);
    }
    std::uint64_t seed = 900;
    for (auto& [name, leaf] : leaves) {  // away from the start, where biases are 0
        leaf.clear_grad();
        const auto noise = random(leaf.shape(), seed++).to_vector<double>();
        double* values = leaf.mutable_data<double>();
        for (std::size_t i = 0; i < noise.size(); ++i) values[i] += 0.1 * noise[i];
    }
    Tensor cotangent;
    const auto value = [&] {
        const auto y = f(inputs).to_vector<double>();
        const auto v = cotangent.to_vector<double>();
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * v[i];
        return sum;
    };
    {
        Tape tape;
        const Tensor y = f(inputs);
        cotangent = random(y.shape(), 77);
        tape.backward(y, {.cotangent = cotangent});
    }
    for (auto& named : leaves) {
        const std::string& name = named.first;  // clang 14: no structured bindings in lambdas
        Tensor& leaf = named.second;
        REQUIRE_MESSAGE(leaf.grad().defined(), name);
        const auto gradient = leaf.grad().to_vector<double>();
        const auto before = leaf.to_vector<double>();
        for (int direction = 0; direction < 3; ++direction) {
            const auto d = random(leaf.shape(), seed++).to_vector<double>();
            constexpr double kStep = 1e-5;
            const auto moved = [&](double step) {
                double* values = leaf.mutable_data<double>();
                for (std::size_t i = 0; i < d.size(); ++i) values[i] = before[i] + step * d[i];
                return value();
            };
            const double numeric = (moved(kStep) - moved(-kStep)) / (2 * kStep);
            moved(0);
            double exact = 0, size = 1;
            for (std::size_t i = 0; i < d.size(); ++i) {
                exact += gradient[i] * d[i];
                size += std::abs(gradient[i] * d[i]);
            }
            const bool close = std::abs(exact - numeric) <= 1e-6 * size;
            CHECK_MESSAGE(close,
                          name << ": the tape says " << exact << ", differences " << numeric);
        }
    }
}

}  // namespace tapestry::test
