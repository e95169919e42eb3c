#include <tapestry/nn/models/masked_language_model_config.h>

#include <tapestry/nn/attention/named_forms.h>

#include <algorithm>

namespace tapestry {
namespace {

// A configuration's sizes as floating-point numbers: their products may not fit into 64 bits.
struct MaskedModelSizes {
    double vocab, length, dim, heads, layers, hidden;

    explicit MaskedModelSizes(const MaskedLanguageModelConfig& c)
        : vocab(static_cast<double>(c.vocab)),
          length(static_cast<double>(c.max_length)),
          dim(static_cast<double>(c.dim)),
          heads(std::max(1.0, static_cast<double>(c.heads))),  // a file may say 0
          layers(static_cast<double>(c.layers)),
          hidden(c.hidden == 0 ? 4 * dim : static_cast<double>(c.hidden)) {}

    double products() const { return 4 * dim * dim + 2 * dim * hidden; }  // weights of a block
};

}  // namespace

double parameter_count(const MaskedLanguageModelConfig& config) {
    const MaskedModelSizes s(config);
    const double norm = 2 * s.dim;
    const double form = attention_form_numbers(config.form, s.length, s.dim / s.heads);
    const double block = s.products() + 4 * s.dim + s.hidden + s.dim + 2 * norm + form;
    const double square = s.dim * s.dim + s.dim;
    const double classes = static_cast<double>(config.classes);
    const double classifier = config.classes > 0 ? square + classes * (s.dim + 1) : 0;
    return (s.vocab + s.length + static_cast<double>(config.types)) * s.dim + norm +
           s.layers * block + square + norm + s.vocab + classifier;
}

double training_bytes(const MaskedLanguageModelConfig& config, std::int64_t batch,
                      std::int64_t gradient_sets, std::int64_t moments) {
    const MaskedModelSizes s(config);
    const double tokens = static_cast<double>(batch) * s.length;
    // Per block and token, the tape keeps: the inputs of norms, q k v, the heads, the hidden layer
    // before and after its activation, the residual stream; and the logits.
    const double kept = tokens * (s.layers * (9 * s.dim + 2 * s.hidden) + 8 * s.dim + 3 * s.vocab);
    const auto numbers = static_cast<double>(size_of(dtype_of(config.weights)));
    const auto computed = static_cast<double>(
        size_of(dtype_of(config.weights == ComputeType::f32 ? config.compute : config.weights)));
    const double gradients = gradient_sets > 1 ? 4 * static_cast<double>(gradient_sets) : numbers;
    return (static_cast<double>(1 + moments) * numbers + gradients) * parameter_count(config) +
           computed * kept;
}

double step_flops(const MaskedLanguageModelConfig& config, std::int64_t batch) {
    const MaskedModelSizes s(config);
    const double weights = s.layers * s.products() + s.dim * s.dim + s.dim * s.vocab;
    const double attention = 2 * s.layers * s.dim * s.length;
    return 3 * 2 * (weights + attention) * s.length * static_cast<double>(batch);
}

}  // namespace tapestry
