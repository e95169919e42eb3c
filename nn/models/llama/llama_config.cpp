#include <tapestry/nn/models/llama/llama_config.h>

#include <tapestry/nn/models/gpt_config.h>

#include <algorithm>

namespace tapestry {
namespace {

// A GPT of these sizes, with heads of dim / heads and biases everywhere or nowhere.
GPTConfig same_sizes(const LlamaConfig& config) {
    return {.vocab = config.vocab,
            .context = config.context,
            .layers = config.layers,
            .heads = config.heads,
            .kv_heads = config.kv_heads,
            .dim = config.dim,
            .hidden = hidden_width(config),
            .activation = config.activation,
            .positions = config.positions,
            .qk_norm = config.qk_norm,
            .bias = false,
            .tied_head = config.tied_head,
            .compute = config.compute,
            .weights = config.weights};
}

// What heads add that are wider than dim / heads; negative for narrower ones.
struct MoreWidth {
    double own, shared;  // of a token's queries, and of its keys or values

    explicit MoreWidth(const LlamaConfig& config) {
        const double heads = std::max(1.0, static_cast<double>(config.heads));  // a file may say 0
        const double groups = config.kv_heads == 0 ? heads : static_cast<double>(config.kv_heads);
        const double more = config.head_dim == 0 ? 0
                                                 : static_cast<double>(config.head_dim) -
                                                       static_cast<double>(config.dim) / heads;
        own = more * heads;
        shared = more * groups;
    }
};

// A block's biases, and the other numbers that a GPT of the same sizes lacks.
double more_parameters(const LlamaConfig& config) {
    const auto dim = static_cast<double>(config.dim);
    const MoreWidth more(config);
    const double heads = std::max(1.0, static_cast<double>(config.heads));
    const double groups = config.kv_heads == 0 ? heads : static_cast<double>(config.kv_heads);
    const double width = dim / heads + more.own / heads;
    const double hidden = static_cast<double>(hidden_width(config));
    const double wide = config.activation == Activation::swiglu ? 2 : 1;
    double count = 2 * (more.own + more.shared) * dim;
    if (config.qk_norm != QKNorm::none) count += 2 * more.own / heads;
    if (config.qk_norm == QKNorm::layer && config.qkv_bias) count += 2 * width;
    if (config.qkv_bias) count += (heads + 2 * groups) * width;
    if (config.output_bias) count += dim;
    if (config.feed_forward_bias) count += wide * hidden + dim;
    if (config.norm == NormKind::layer) count += 2 * dim;
    return count;
}

}  // namespace

std::int64_t hidden_width(const LlamaConfig& config) {
    constexpr std::int64_t kMultiple = 32;
    if (config.hidden != 0) return config.hidden;
    if (config.activation != Activation::swiglu) return 4 * config.dim;
    return (config.dim / 3 * 8 + config.dim % 3 * 8 / 3 + kMultiple - 1) / kMultiple * kMultiple;
}

std::int64_t head_width(const LlamaConfig& config) {
    return config.head_dim != 0 ? config.head_dim : config.dim / config.heads;
}

double parameter_count(const LlamaConfig& config) {
    const double final_bias = config.norm == NormKind::layer ? static_cast<double>(config.dim) : 0;
    return parameter_count(same_sizes(config)) + final_bias +
           static_cast<double>(config.layers) * more_parameters(config);
}

double training_bytes(const LlamaConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const GPTConfig same = same_sizes(config);
    const double layers = static_cast<double>(config.layers);
    const double tokens = static_cast<double>(batch) * static_cast<double>(config.context);
    // Weights, gradients and moments are of one type or another: at most 4 bytes each.
    const double numbers = static_cast<double>(1 + moments + gradient_sets);
    const double parameters = parameter_count(config) - parameter_count(same);
    // Queries and keys twice, rotated or normalised, values, the heads.
    const MoreWidth more(config);
    const double kept = tokens * layers * 3 * (more.own + more.shared);
    return training_bytes(same, batch, gradient_sets, moments) +
           4 * std::max(0.0, numbers * parameters + kept);
}

double step_flops(const LlamaConfig& config, std::int64_t batch) {
    const auto context = static_cast<double>(config.context);
    const MoreWidth more(config);
    const double weights = 2 * (more.own + more.shared) * static_cast<double>(config.dim);
    const double attention = more.own * context * (context + 1) / 2;  // of all pairs
    const double forward =
        static_cast<double>(config.layers) * (2 * weights * context + 4 * attention);
    return step_flops(same_sizes(config), batch) + 3 * forward * static_cast<double>(batch);
}

}  // namespace tapestry
