#include <tapestry/nn/models/masked_language_model_config.h>

#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/nn/models/model_cost.h>

namespace tapestry {
namespace {

struct MaskedModelSizes : BlockSizes {
    double vocab, length;

    explicit MaskedModelSizes(const MaskedLanguageModelConfig& c)
        : BlockSizes(c),
          vocab(static_cast<double>(c.vocab)),
          length(static_cast<double>(c.max_length)) {}
};

}  // namespace

double parameter_count(const MaskedLanguageModelConfig& config) {
    const MaskedModelSizes s(config);
    const double form = attention_form_numbers(config.form, s.length, s.dim / s.heads);
    const double square = s.dim * s.dim + s.dim;
    const double classes = static_cast<double>(config.classes);
    const double classifier = config.classes > 0 ? square + classes * (s.dim + 1) : 0;
    return (s.vocab + s.length + static_cast<double>(config.types)) * s.dim + s.norm() +
           s.layers * (s.parameters() + form) + square + s.norm() + s.vocab + classifier;
}

double training_bytes(const MaskedLanguageModelConfig& config, std::int64_t batch,
                      std::int64_t gradient_sets, std::int64_t moments) {
    const MaskedModelSizes s(config);
    const double tokens = static_cast<double>(batch) * s.length;
    const double kept = tokens * (s.kept() + 8 * s.dim + 3 * s.vocab);  // the logits, too
    return training_memory(config, kept, gradient_sets, moments);
}

double step_flops(const MaskedLanguageModelConfig& config, std::int64_t batch) {
    const MaskedModelSizes s(config);
    const double weights = s.layers * s.products() + s.dim * s.dim + s.dim * s.vocab;
    const double attention = 2 * s.layers * s.dim * s.length;
    return 3 * 2 * (weights + attention) * s.length * static_cast<double>(batch);
}

}  // namespace tapestry
