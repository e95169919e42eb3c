#include <tapestry/nn/train/chat/chat_scores.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/chat_examples.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/chat/chat_task.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

// As many rows at a time as keep the logits [B, T, V] below about 100 MB.
std::size_t rows_at_once(std::int64_t length, std::int64_t vocab) {
    constexpr std::int64_t kMost = std::int64_t{1} << 25;
    return static_cast<std::size_t>(std::clamp<std::int64_t>(kMost / (length * vocab), 1, 16));
}

void add_batch(const LanguageModel& model, const std::vector<const ChatTokens*>& rows,
               ChatScores& scores, double& sum) {
    const Batch batch = batch_of(rows);
    const Tensor logits = tapestry::to(model(batch.inputs), DType::f32);
    const auto losses =
        cross_entropy(logits, batch.targets, {.reduction = Reduction::none}).to_vector<double>();
    const auto likeliest = argmax(logits, -1).to_vector<std::int64_t>();
    const auto targets = batch.targets.to_vector<std::int64_t>();
    const auto length = static_cast<std::size_t>(batch.inputs.size(1));
    bool is_exact = true;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] < 0) continue;
        const bool begins = i % length == 0 || targets[i - 1] < 0;
        const bool ends = (i + 1) % length == 0 || targets[i + 1] < 0;
        const bool is_right = likeliest[i] == targets[i];
        is_exact = (begins || is_exact) && is_right;
        sum += losses[i];
        ++scores.tokens;
        scores.right += is_right ? 1 : 0;
        scores.answers += ends ? 1 : 0;
        scores.exact += ends && is_exact ? 1 : 0;
    }
}

}  // namespace

ChatScores evaluate_on_chat(const TrainingConfig& config) {
    const NoGradGuard no_grad;
    const LoadedModel loaded = load_model(config.start);
    const Tokenizer& tokenizer = require_tokenizer(loaded, config.start);
    const CommonSettings settings = common_settings(loaded.model->model_config());
    const ChatEncoder encoder(chosen_template(config, loaded.conventions, tokenizer), tokenizer);
    const ChatExamples from = read_chat_examples(config.data);
    ChatScores scores{.examples = std::ssize(from.examples)};
    std::vector<ChatTokens> all;
    for (const ChatExample& example : from.examples) {
        all.push_back(encoded(from, example, encoder));
        scores.cut += cut_to(all.back(), settings.context + 1) ? 1 : 0;
    }
    std::stable_sort(all.begin(), all.end(), [](const ChatTokens& a, const ChatTokens& b) {
        return a.ids.size() > b.ids.size();
    });
    double sum = 0;
    for (std::size_t i = 0; i < all.size();) {
        std::vector<const ChatTokens*> rows;
        const std::size_t most = rows_at_once(std::ssize(all[i].ids), settings.vocab);
        while (i < all.size() && rows.size() < most) rows.push_back(&all[i++]);
        add_batch(*loaded.model, rows, scores, sum);
    }
    scores.loss = sum / static_cast<double>(scores.tokens);
    require<DivergedError>(std::isfinite(scores.loss),
                           "eval: the loss is not finite: the model has diverged");
    return scores;
}

std::string to_text(const ChatScores& s, const std::string& of) {
    return fmt::format(
        "loss {} nats per token of the answers (perplexity {}), {:.1f}% of {} tokens "
        "right, {} of {} answers exact, in {}{}\n",
        fixed_text(s.loss), fixed_text(std::exp(s.loss), 3),
        100 * static_cast<double>(s.right) / static_cast<double>(s.tokens), s.tokens, s.exact,
        s.answers, utf8::printable(of),
        s.cut == 0 ? "" : fmt::format("; {} of {} examples cut to the context", s.cut, s.examples));
}

std::string to_json(const ChatScores& s) {
    JsonWriter json;
    json.object("loss", s.loss, "perplexity", std::exp(s.loss), "tokens", s.tokens, "right",
                s.right, "answers", s.answers, "exact", s.exact, "examples", s.examples, "cut",
                s.cut);
    return json.text();
}

}  // namespace tapestry
