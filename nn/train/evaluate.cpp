#include <tapestry/nn/train/evaluate.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/ops/loss.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace tapestry {
namespace {

// Restores the mode at the end of the scope, even if a batch throws.
class InEvaluationMode {
public:
    explicit InEvaluationMode(Module& model) : model_(model), was_training_(model.is_training()) {
        model_.eval();
    }
    ~InEvaluationMode() { model_.train(was_training_); }
    InEvaluationMode(const InEvaluationMode&) = delete;
    InEvaluationMode& operator=(const InEvaluationMode&) = delete;

private:
    Module& model_;
    bool was_training_;
};

// Sum of the losses over all predictions in `count` windows of `length`, of these ids.
double sum_of_losses(const LanguageModel& model, std::span<const std::int64_t> ids,
                     std::int64_t count, std::int64_t length) {
    const Shape shape{count, length};
    const std::int64_t tokens = count * length;
    Tensor inputs(shape, DType::i64);
    Tensor targets(shape, DType::i64);
    std::copy_n(ids.data(), tokens, inputs.mutable_data<std::int64_t>());
    std::copy_n(ids.data() + 1, tokens, targets.mutable_data<std::int64_t>());
    return model.loss(inputs, targets).item() * static_cast<double>(tokens);
}

// As many windows at a time as keep the logits [B, T, V] below about 100 MB, if there are such.
std::int64_t windows_at_once(const CommonSettings& config) {
    // Not by their product: a file may name any context.
    const std::int64_t windows = (std::int64_t{1} << 25) / config.vocab / config.context;
    return std::clamp<std::int64_t>(windows, 1, 16);
}

}  // namespace

double evaluate(LanguageModel& model, const TextData& data, Split split,
                const EvaluateOptions& options, Generator& generator) {
    const std::vector<double> losses =
        batch_losses(model, data, split, options, generator, {0, options.batches});
    return std::accumulate(losses.begin(), losses.end(), 0.0) /
           static_cast<double>(options.batches);
}

std::vector<double> batch_losses(LanguageModel& model, const TextData& data, Split split,
                                 const EvaluateOptions& options, Generator& generator,
                                 Range batches) {
    const FloatingPointGuard standard;
    require(options.batches >= 1, "evaluate: batches must be at least 1, got {}", options.batches);
    const NoGradGuard no_grad;
    const InEvaluationMode mode(model);
    const std::int64_t context = common_settings(model.model_config()).context;
    std::vector<double> losses;
    for (std::int64_t i = 0; i < options.batches; ++i) {
        const Batch b = data.random_batch(split, options.batch, context, generator);
        if (i < batches.begin || i >= batches.end) continue;
        losses.push_back(model.loss(b.inputs, b.targets).item());
    }
    return losses;
}

BatchLosses validation_losses(Task& task, Generator& generator, Range batches) {
    const FloatingPointGuard standard;
    const std::int64_t count = task.validation_batches();
    require(count >= 1, "evaluate: batches must be at least 1, got {}", count);
    const NoGradGuard no_grad;
    const InEvaluationMode mode(task.model());
    BatchLosses losses;
    for (std::int64_t i = 0; i < count; ++i) {
        const Batch b = task.validation_batch(i, generator);
        if (i < batches.begin || i >= batches.end) continue;
        const CountedLoss loss = task.loss(b);
        losses.means.push_back(loss.mean.item());
        losses.counts.push_back(loss.count.value_or(1));
    }
    return losses;
}

double mean_loss(const BatchLosses& losses) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < losses.means.size(); ++i) {
        if (losses.counts[i] == 0) continue;  // its mean may be NaN
        sum += losses.counts[i] * losses.means[i];
        count += losses.counts[i];
    }
    return sum / count;
}

WindowLoss evaluate_windows(LanguageModel& model, const TokenIds& ids) {
    const FloatingPointGuard standard;
    require(ids.size() >= 2, "evaluate_windows: needs at least 2 ids, got {}", ids.size());
    const NoGradGuard no_grad;
    const InEvaluationMode mode(model);
    const CommonSettings config = common_settings(model.model_config());
    const std::int64_t context = config.context;
    const std::int64_t most = windows_at_once(config);
    WindowLoss result;
    const std::int64_t predictions = ids.size() - 1;
    while (result.tokens < predictions) {
        const std::int64_t left = predictions - result.tokens;
        const std::int64_t count = std::clamp<std::int64_t>(left / context, 1, most);
        const std::int64_t length = std::min(left, context);
        const auto these = ids.read(result.tokens, count * length + 1);
        result.loss += sum_of_losses(model, these, count, length);
        result.tokens += count * length;
    }
    result.loss /= static_cast<double>(predictions);
    return result;
}

WindowLoss evaluate_windows(LanguageModel& model, std::span<const std::int64_t> ids) {
    return evaluate_windows(model, TokenIds(ids));
}

namespace {

Evaluation checked(Evaluation evaluation) {
    require<DivergedError>(std::isfinite(evaluation.loss),
                           "eval: the loss is {}: the model has diverged",
                           std::isnan(evaluation.loss) ? std::abs(evaluation.loss)
                                                       : evaluation.loss);  // avoids "-nan"
    return evaluation;
}

}  // namespace

Evaluation evaluate_on_text(const TrainingConfig& config, Split split,
                            const EvaluateOptions& options, std::uint64_t seed) {
    LoadedModel loaded = load_model(config.start);
    require_tokenizer(loaded, config.start);
    require(split != Split::test || config.test_fraction > 0,
            "eval: --split test needs --test-fraction, as given in training");
    const Corpus corpus = read_corpus(config, std::move(loaded.tokenizer));
    const TextData data = split_corpus(corpus, config);
    const std::int64_t context = common_settings(loaded.model->model_config()).context;
    std::int64_t tokens = options.batches * options.batch;
    if (__builtin_mul_overflow(tokens, context, &tokens)) tokens = INT64_MAX;
    const std::string part =
        split == Split::all ? "" : fmt::format("the {} part of ", name_of_value(split));
    Evaluation one{.tokens = tokens,
                   .unit = std::string(corpus.tokenizer->unit()),
                   .of = part + data_name(config)};
    const TokenIds ids = data.ids(split);
    require(ids.size() >= 2, "{}{}: too short: a loss needs 2 tokens, got {}", part,
            utf8::printable(data_name(config)), ids.size());
    if (options.at_most_all && ids.size() - 1 <= tokens) {
        const WindowLoss all = evaluate_windows(*loaded.model, ids);
        one.loss = all.loss;
        one.tokens = all.tokens;
    } else {
        Generator generator(seed);
        one.loss = evaluate(*loaded.model, data, split, options, generator);
        one.drawn = true;
    }
    return checked(one);
}

Evaluation evaluate_on_tokens(const std::string& model, const std::string& file) {
    const LoadedModel loaded = load_model(model);
    const std::int64_t vocab = common_settings(loaded.model->model_config()).vocab;
    const WindowLoss all = evaluate_windows(*loaded.model, read_token_file(file, vocab));
    return checked({.loss = all.loss, .tokens = all.tokens, .of = file});
}

std::string to_text(const Evaluation& e) {
    return fmt::format("loss {} nats per {} (perplexity {}) over {} {} {}", fixed_text(e.loss),
                       e.unit, fixed_text(std::exp(e.loss), 3), pluralize(e.tokens, e.unit),
                       e.drawn ? "drawn from" : "of", utf8::printable(e.of));
}

std::string to_json(const Evaluation& e) {
    JsonWriter json;
    json.object([&] {
        json.member("loss", e.loss);
        json.member("perplexity", std::exp(e.loss));
        json.member("tokens", e.tokens);
    });
    return json.text();
}

}  // namespace tapestry
