#include <tapestry/nn/models/language_model.h>

#include <tapestry/core/storage.h>
#include <tapestry/ops/loss.h>

namespace tapestry {

Tensor LanguageModel::loss(const Tensor& ids, const Tensor& targets) const {
    return cross_entropy((*this)(ids), targets);
}

std::int64_t LanguageModel::first_position(const Tensor& ids,
                                           const TransformerStackInputs& inputs) const {
    const bool continued = inputs.caches != nullptr && !inputs.caches->empty();
    const std::int64_t first = continued ? inputs.caches->front().length() : 0;
    const ModelConfig config = model_config();
    const std::int64_t context = common_settings(config).context;
    require<ShapeError>(first + ids.size(1) <= context,
                        "{}: {} tokens are more than the context of {}", row_of(config).title,
                        first + ids.size(1), context);
    return first;
}

void LanguageModel::round_to(ComputeType type) {
    to(dtype_of(type));
    release_cached_memory();  // f32 blocks, which smaller tensors would not reuse
}

}  // namespace tapestry
