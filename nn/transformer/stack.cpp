#include <tapestry/nn/transformer/stack.h>

#include <tapestry/autograd/recompute.h>
#include <tapestry/nn/transformer/per_layer.h>

#include <fmt/format.h>

namespace tapestry {

TransformerStack::TransformerStack(const TransformerStackConfig& config, Generator& generator)
    : Module("TransformerStack"), recompute_(config.recompute) {
    require(config.layers >= 1, "TransformerStack: {} layers; at least 1 is needed", config.layers);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        layers.push_back(std::make_unique<TransformerBlock>(config.layer, generator));
        register_module(fmt::format("{}", i), *layers.back());
    }
    if (config.final_norm) {
        norm.emplace(config.layer.dim, config.layer.norm_eps, config.layer.bias);
        register_module("norm", *norm);
    }
}

Tensor TransformerStack::operator()(const Tensor& x, const TransformerStackInputs& inputs) const {
    const ModuleScope scope(name());
    const bool plain = inputs.caches == nullptr && inputs.records == nullptr;
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const TransformerBlock& layer = *layers[i];
        if (recompute_ && plain) {
            const auto run = [&layer](const Tensors& t) {
                return Tensors{layer(t[0], {.mask = t[1]})};
            };
            y = recompute(run, {y, inputs.mask})[0];
            continue;
        }
        y = layer(y, {.mask = inputs.mask,
                      .cache = of_layer("TransformerStack", inputs.caches, i, layers.size()),
                      .record = of_layer("TransformerStack", inputs.records, i, layers.size())});
    }
    return hooked(norm ? (*norm)(y) : y, x);  // [B, T, C]
}

}  // namespace tapestry
