#include <tapestry/nn/layers/linear.h>

#include <tapestry/ops/matmul.h>

#include <cmath>

namespace tapestry {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias, Generator& generator)
    : Module("Linear") {
    require(in > 0 && out > 0, "Linear: sizes must be positive, got {} -> {}", in, out);
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    weight = uniform({out, in}, -bound, bound, generator);
    if (with_bias) bias = uniform({out}, -bound, bound, generator);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor Linear::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    if (int8_ != nullptr) return hooked(multiply_by_rows(x, *int8_, bias), x);
    return hooked(linear(x, beside(x, weight), beside(x, bias)), x);
}

std::string Linear::settings() const {
    const bool eight = int8_ != nullptr;
    return fmt::format("{} -> {}{}{}", eight ? int8_->cols : weight.size(1),
                       eight ? int8_->rows : weight.size(0), bias.defined() ? "" : ", no bias",
                       eight ? ", int8" : "");
}

void Linear::keep_int8() {
    if (int8_ != nullptr) return;
    int8_ = std::make_shared<const Int8Rows>(int8_rows(weight));
    weight = Tensor();
}

void quantize_weights(Module& model, WeightType type) {
    switch (type) {
        case WeightType::f32: return;
        case WeightType::bf16: return model.to(DType::bf16);
        case WeightType::int8:
            model.apply([](Module& module) {
                if (auto* const layer = dynamic_cast<Linear*>(&module)) layer->keep_int8();
            });
    }
}

}  // namespace tapestry
