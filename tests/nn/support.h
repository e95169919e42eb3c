// What the tests of modules share: random inputs, values compared, and gradients checked with
// respect to the inputs and every parameter of a module.
#pragma once

#include <tapestry/autograd/gradcheck.h>
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

}  // namespace tapestry::test
