#include <tapestry/nn/io/model_with_text.h>

#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/tokenize_text.h>

#include <utility>

namespace tapestry {

ModelWithText load_model_with_text(const std::string& model, const std::string& text) {
    LoadedModel loaded = load_model(model);
    require_tokenizer(loaded, model);
    loaded.model->train();
    return {std::move(loaded.model),
            TextData(tokenize_text(text, std::move(loaded.tokenizer)).ids, {.name = text})};
}

}  // namespace tapestry
