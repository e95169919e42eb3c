#include <tapestry/nn/catalog/check_model.h>

#include <tapestry/nn/io/model_with_text.h>

#include <algorithm>
#include <utility>

namespace tapestry::catalog {

TwoPrecisions loss_on(GPT& model, const Batch& batch) {
    model.to(DType::f64);
    return {.leaves =
                [&model](DType dtype) {
                    model.to(dtype);
                    return model.named_parameters();
                },
            .value = [&model, batch] { return model.loss(batch.inputs, batch.targets); }};
}

ModelOnText model_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                          std::uint64_t seed) {
    ModelWithText loaded = load_model_with_text(model, text);
    Generator generator(seed);
    const std::int64_t length = std::min<std::int64_t>(loaded.model->config().context, 16);
    const Batch pieces = loaded.data.random_batch(Split::all, batch, length, generator);
    TwoPrecisions loss = loss_on(*loaded.model, pieces);
    return {std::move(loaded.model), std::move(loss)};
}

}  // namespace tapestry::catalog
