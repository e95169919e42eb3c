#include <tapestry/nn/models/llama/llama_config.h>

#include <tapestry/nn/models/gpt_config.h>

namespace tapestry {
namespace {

// A GPT with as many parameters and operations: a layer norm without bias has the weights of an RMS
// norm.
GPTConfig same_sizes(const LlamaConfig& config) {
    return {.vocab = config.vocab,
            .context = config.context,
            .layers = config.layers,
            .heads = config.heads,
            .kv_heads = config.kv_heads,
            .dim = config.dim,
            .hidden = hidden_width(config),
            .activation = Activation::swiglu,
            .positions = Positions::rotary,
            .bias = false,
            .tied_head = config.tied_head,
            .compute = config.compute,
            .weights = config.weights};
}

}  // namespace

std::int64_t hidden_width(const LlamaConfig& config) {
    constexpr std::int64_t kMultiple = 32;
    if (config.hidden != 0) return config.hidden;
    return (config.dim / 3 * 8 + config.dim % 3 * 8 / 3 + kMultiple - 1) / kMultiple * kMultiple;
}

double parameter_count(const LlamaConfig& config) { return parameter_count(same_sizes(config)); }

double training_bytes(const LlamaConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    return training_bytes(same_sizes(config), batch, gradient_sets, moments);
}

double step_flops(const LlamaConfig& config, std::int64_t batch) {
    return step_flops(same_sizes(config), batch);
}

}  // namespace tapestry
