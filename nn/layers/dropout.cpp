#include <tapestry/nn/layers/dropout.h>

#include <tapestry/ops/dropout.h>

namespace tapestry {

Dropout::Dropout(double p, Generator& generator) : Module("Dropout"), p_(p), generator_(generator) {
    require(p >= 0 && p <= 1, "Dropout: p must be in [0, 1], got {}", p);
}

Tensor Dropout::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(dropout(x, p_, is_training(), generator_), x);
}

std::string Dropout::settings() const { return fmt::format("p = {}", p_); }

}  // namespace tapestry
