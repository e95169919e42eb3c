#include <tapestry/nn/train/evaluation.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/token_file.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/nn/train/tokenized_text.h>

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace tapestry {
namespace {

Evaluation checked(Evaluation evaluation) {
    require<DivergedError>(std::isfinite(evaluation.loss),
                           "eval: the loss is {}: the model has diverged", evaluation.loss);
    return evaluation;
}

}  // namespace

Evaluation evaluate_on_text(const TrainingConfig& config, Split split,
                            const EvaluateOptions& options, std::uint64_t seed) {
    LoadedModel loaded = load_model(config.start);
    require_tokenizer(loaded, config.start);
    require(split != Split::test || config.test_fraction > 0,
            "eval: --split test needs --test-fraction, the one that the training had");
    const TokenizedText text = read_tokens(config, std::move(loaded.tokenizer));
    Generator generator(seed);
    const std::string part =
        split == Split::all ? "" : fmt::format("the {} part of ", name_of_value(split));
    return checked({.loss = evaluate(*loaded.model, text.data, split, options, generator),
                    .tokens = options.batches * options.batch * loaded.model->config().context,
                    .unit = std::string(text.tokenizer->unit()),
                    .of = part + data_name(config),
                    .drawn = true});
}

Evaluation evaluate_on_tokens(const std::string& model, const std::string& file) {
    const LoadedModel loaded = load_model(model);
    const WindowLoss all =
        evaluate_windows(*loaded.model, read_token_file(file, loaded.model->config().vocab));
    return checked({.loss = all.loss, .tokens = all.tokens, .of = file});
}

std::string to_text(const Evaluation& e) {
    return fmt::format("loss {:.4f} nats per {} (perplexity {:.3f}) over {} {}s of {}", e.loss,
                       e.unit, std::exp(e.loss), e.tokens, e.unit, utf8::printable(e.of));
}

std::string to_json(const Evaluation& e) {
    JsonWriter json;
    json.object([&] {
        json.member("loss", e.loss);
        if (e.drawn) json.member("perplexity", std::exp(e.loss));
        json.member("tokens", e.tokens);
    });
    return json.text();
}

}  // namespace tapestry
