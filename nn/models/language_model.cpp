#include <tapestry/nn/models/language_model.h>

#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/ops/linear_cross_entropy.h>
#include <tapestry/ops/recorded.h>

#include <typeinfo>

namespace tapestry {
namespace {

// Below this, logits and their gradient are cheap to keep, and a single product is as fast.
constexpr double kLargeLogits = 64e6;  // bytes

// Of a class derived from those that say what their last layer is, operator() may do more.
bool may_change_logits(const LanguageModel& model) {
    const auto* const gpt = dynamic_cast<const GPT*>(&model);
    if (gpt != nullptr) return typeid(model) != typeid(GPT);
    return dynamic_cast<const Llama*>(&model) != nullptr && typeid(model) != typeid(Llama);
}

}  // namespace

bool LanguageModel::has_large_logits(const Tensor& ids) const {
    const CommonSettings settings = common_settings(model_config());
    const auto size = static_cast<double>(size_of(dtype_of(settings.compute)));
    return size * static_cast<double>(ids.numel()) * static_cast<double>(settings.vocab) >=
           kLargeLogits;
}

Tensor LanguageModel::loss(const Tensor& ids, const Tensor& targets) const {
    const LastLayer last = last_layer();
    const bool sliced = !may_change_logits(*this) && last.head != nullptr &&
                        has_large_logits(ids) && last.head->weight.defined() &&
                        last.head->updates().empty() && !last.head->is_hooked() && !is_hooked() &&
                        !WholeLogits::are_wanted();
    if (!sliced) return cross_entropy((*this)(ids), targets);
    const ModuleScope scope(name());
    const Tensor x = features(ids, {});
    const ModuleScope in_head(last.head->name());
    return linear_cross_entropy(x, last.head->weight, targets, {.softcap = last.softcap});
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

}  // namespace tapestry
