#include <tapestry/nn/linear.h>

#include <tapestry/nn/beside.h>
#include <tapestry/ops/matmul.h>

#include <cmath>

namespace tapestry {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias, Generator& generator)
    : Module("Linear") {
    require(in > 0 && out > 0, "Linear: sizes {} -> {} are not positive", in, out);
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    weight = uniform({out, in}, -bound, bound, generator);
    if (with_bias) bias = uniform({out}, -bound, bound, generator);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor Linear::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(linear(x, beside(x, weight), beside(x, bias)), x);
}

std::string Linear::settings() const {
    return fmt::format("{} -> {}{}", weight.size(1), weight.size(0),
                       bias.defined() ? "" : ", no bias");
}

}  // namespace tapestry
