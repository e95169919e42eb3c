#include <tapestry/nn/models/gpt_config.h>

#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/nn/models/model_cost.h>

#include <cmath>
#include <string>

namespace tapestry {
namespace {

struct GPTSizes : BlockSizes {
    double vocab, context;
    double shared;   // width of a token's keys, and of its values
    double wide;     // matrices of a feed-forward network that map to `hidden`
    double weights;  // of a layer's matrices

    explicit GPTSizes(const GPTConfig& config)
        : BlockSizes(config),
          vocab(static_cast<double>(config.vocab)),
          context(static_cast<double>(config.context)),
          shared(shared_width(config)),
          wide(config.activation == Activation::swiglu ? 2 : 1),
          weights((2 * dim + 2 * shared) * dim + (wide + 1) * dim * hidden) {}
};

}  // namespace

double embedding_scale(const GPTConfig& config) {
    if (config.embedding_scale > 0) return config.embedding_scale;
    return config.positions == Positions::sinusoidal ? std::sqrt(static_cast<double>(config.dim))
                                                     : 1;
}

double parameter_count(const GPTConfig& config) {
    const GPTSizes s(config);
    const double bias = config.bias ? 1 : 0;
    const double history = static_cast<double>(config.earlier) * (s.vocab + 1) * s.dim +
                           static_cast<double>(config.pairs) * s.dim;
    const double tables = history + s.vocab * s.dim * (config.tied_head ? 1 : 2) +
                          (config.positions == Positions::learned ? s.context * s.dim : 0);
    const double norm = s.dim * (1 + bias);
    // q k v, attention output; up (and gate), down.
    const double biases = bias * (2 * s.dim + 2 * s.shared + s.dim + s.wide * s.hidden);
    const double layer = s.weights + biases + 2 * norm + head_norm_numbers(config) +
                         relative_table_numbers(config) +
                         attention_form_numbers(config.form, s.context, s.dim / s.heads);
    return tables + s.layers * layer + norm;
}

double training_bytes(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const GPTSizes s(config);
    const double tokens = static_cast<double>(batch) * s.context;
    // Per layer and token, the tape keeps: the inputs of two norms, q k v (q and k twice, if they
    // are rotated or normalised), the heads, the hidden layer before and after its activation, the
    // residual stream; and, per layer, the relative bias of all pairs.
    const bool twice = config.positions == Positions::rotary || config.qk_norm != QKNorm::none;
    const bool learned_bias = config.positions == Positions::relative;
    const double bias = learned_bias ? s.heads * s.context * s.context : 0;
    const double kept =
        s.layers * (bias + tokens * (6 * s.dim + 2 * s.shared + (twice ? s.dim + s.shared : 0) +
                                     (s.wide + 1) * s.hidden));
    // Backward through one layer with a learned bias: weights, their gradients, and intermediates.
    const double scores = 5 * static_cast<double>(batch) * bias;
    const double logits = (config.softcap > 0 ? 5 : 3) * tokens * s.vocab;
    constexpr double kLayer = 50e3;  // modules, names, tape entries, 64-byte blocks
    // With f32 parameters and a narrow compute type, the tape also keeps narrow copies of them.
    const ComputeType computed = computed_type(config);
    const auto number = static_cast<double>(size_of(dtype_of(computed)));
    const double copies = computed == config.weights ? 0 : number * parameter_count(config);
    return training_memory(config, kept + scores + logits, gradient_sets, moments) + copies +
           kLayer * s.layers;
}

double step_flops(const GPTConfig& config, std::int64_t batch) {
    const GPTSizes s(config);
    const double weights = s.layers * s.weights + s.dim * s.vocab;
    const double pairs = s.context * (s.context + 1) / 2;
    const double forward =
        2 * weights * s.context + 4 * s.layers * s.dim * pairs;  // of one sequence
    return 3 * forward * static_cast<double>(batch);
}

}  // namespace tapestry
