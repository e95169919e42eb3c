#include <tapestry/nn/train/mask/mask_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/skip_drawing.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data/mask_tokens.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/softmax.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kNoTarget = -100;  // the default of CrossEntropyOptions::ignore_index

// The model to begin with and a tokenizer; both empty without any.
LoadedMaskedModel masked_model_to_begin_with(const TrainingConfig& config, TaskStart& start) {
    if (start.tokenizer) return {nullptr, std::move(start.tokenizer)};
    if (!start.directory.empty()) return {nullptr, load_tokenizer(start.directory)};
    if (config.start.empty()) return {};
    LoadedMaskedModel loaded = load_masked_model(config.start);
    if (start.is_continued) loaded.model.reset();
    return loaded;
}

// The sizes that follow from the text or from the model to begin with.
MaskedLanguageModelConfig completed(const TrainingConfig& config, const LoadedMaskedModel& from,
                                    const Tokenizer& tokenizer, bool is_continued) {
    auto model = std::get<MaskedLanguageModelConfig>(config.model_config());
    if (from.model) {
        const MaskedLanguageModelConfig wanted = model;
        model = from.model->config();
        keep_run_settings(model, wanted, config);
    } else if (!is_continued) {
        model.vocab = tokenizer.vocab_size() + 1;  // and the mask
    }
    return model;
}

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

std::unique_ptr<Task> MaskTask::begin(TrainingConfig& config, TaskStart start, Generator& weights) {
    LoadedMaskedModel from = masked_model_to_begin_with(config, start);
    Corpus corpus = read_corpus(config, std::move(from.tokenizer), start.cache);
    TextData data = split_corpus(corpus, config);
    const MaskedLanguageModelConfig made =
        completed(config, from, *corpus.tokenizer, start.is_continued);
    config.set_model(made);
    require(config.sequence <= made.max_length,
            "train: --sequence {} is more than the model's --max-length {}", config.sequence,
            made.max_length);
    data.check_context(config.context(), "sequence");
    check_memory(config);
    LoadedMaskedModel model{std::make_unique<MaskedLanguageModel>(made, weights),
                            std::move(corpus.tokenizer)};
    if (from.model) copy_parameters(*from.model, *model.model);
    auto task = std::make_unique<MaskTask>(std::move(model));
    task->examples_ = Examples{config, std::move(corpus), std::move(data)};
    return task;
}

std::unique_ptr<MaskTask> load_mask_task(const std::filesystem::path& directory) {
    return std::make_unique<MaskTask>(load_masked_model(directory));
}

std::unique_ptr<Task> MaskTask::load(const std::filesystem::path& directory) {
    return load_mask_task(directory);
}

MaskTask::MaskTask(LoadedMaskedModel loaded)
    : model_(std::move(loaded.model)), tokenizer_(std::move(loaded.tokenizer)) {}

const MaskTask::Examples& MaskTask::examples() const {
    require(examples_.has_value(), "the task has no text: it was loaded from a directory");
    return *examples_;
}

double MaskTask::step_flops(std::int64_t rows) const {
    return tapestry::step_flops(examples_ ? examples_->config.step_config() : model_config(), rows);
}

// ---- batches ------------------------------------------------------------------------------------

CountedLoss MaskTask::loss(const Batch& batch) const {
    return {model_->loss(batch.inputs, batch.targets), count_targets(batch.targets)};
}

void MaskTask::check_batch(const Batch& batch) const {
    const MaskedLanguageModelConfig& config = model_->config();
    require(batch.inputs.rank() == 2 && batch.inputs.shape() == batch.targets.shape(),
            "inputs {} and targets {}, which are not [B, T] both", batch.inputs.shape(),
            batch.targets.shape());
    require(batch.inputs.size(1) <= config.max_length,
            "{} tokens in a sequence; the model reads {}", batch.inputs.size(1), config.max_length);
    for (const std::int64_t id : batch.inputs.to_vector<std::int64_t>()) {
        require(id >= 0 && id < config.vocab, "token {}; the vocabulary has {}", id, config.vocab);
    }
    for (const std::int64_t id : batch.targets.to_vector<std::int64_t>()) {
        require(id == kNoTarget || (id >= 0 && id < config.vocab),
                "target {}; the vocabulary has {}", id, config.vocab);
    }
    require(count_targets(batch.targets) > 0, "a batch without a masked token");
}

Batch MaskTask::masked(const Batch& batch, Generator& generator) const {
    MaskedTokens drawn = mask_tokens(
        batch.inputs, {.vocab = model_->config().vocab, .mask_id = mask_id()}, generator);
    return {std::move(drawn.ids), std::move(drawn.targets)};
}

Batch MaskTask::next_batch(Generator& generator) const {
    const TrainingConfig& config = examples().config;
    return masked(examples().data.batch(config.order, Split::train, config.batch, config.context(),
                                        generator),
                  generator);
}

Batch MaskTask::validation_batch(std::int64_t, Generator& generator) const {
    const TrainingConfig& config = examples().config;
    return masked(
        examples().data.random_batch(Split::validation, config.batch, config.context(), generator),
        generator);
}

// ---- texts with masks ---------------------------------------------------------------------------

Ids MaskTask::ids_of(std::string_view text) const {
    Ids ids;
    for (;;) {
        const std::size_t at = text.find(kMaskText);
        const std::string_view piece = text.substr(0, at);
        if (!piece.empty()) {
            tokenizer_->encode_piece({.text = piece, .what = "text", .position = std::ssize(ids)},
                                     ids);
        }
        if (at == text.npos) break;
        ids.push_back(mask_id());
        text.remove_prefix(at + kMaskText.size());
    }
    const std::int64_t most = model_->config().max_length;
    require(std::ssize(ids) <= most, "the text has {} {}s; the model reads {} (--max-length)",
            ids.size(), tokenizer_->unit(), most);
    require(std::count(ids.begin(), ids.end(), mask_id()) > 0,
            "the text has no {}, which stands for a {} to predict", kMaskText, tokenizer_->unit());
    return ids;
}

Batch MaskTask::batch_of(std::string_view text, std::string_view whole) const {
    const Ids ids = ids_of(text);
    Ids targets = tokenizer_->encode(whole, "target");
    require(targets.size() == ids.size(), "the target has {} {}s, the text with masks {}",
            targets.size(), tokenizer_->unit(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == mask_id()) continue;
        require(ids[i] == targets[i], "{} {} is {} in the text and {} in the target",
                tokenizer_->unit(), i + 1, utf8::quoted(name_of(ids[i])),
                utf8::quoted(name_of(targets[i])));
        targets[i] = kNoTarget;
    }
    const Shape shape{1, std::ssize(ids)};
    return {tensor(ids, shape), tensor(targets, shape)};
}

FilledText MaskTask::fill(std::string_view text, std::int64_t most) const {
    return fill_ids(ids_of(text), most);
}

FilledText MaskTask::fill_ids(Ids ids, std::int64_t most) const {
    const NoGradGuard no_grad;
    const Tensor logits = (*model_)(tensor(ids, {1, std::ssize(ids)}));
    const std::vector<double> p =
        finite_outputs(softmax(tapestry::to(logits, DType::f32)).to_vector<double>());
    const auto vocab = static_cast<std::size_t>(mask_id());  // the mask itself fills nothing
    Ids order(vocab);
    FilledText filled;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] != mask_id()) continue;
        const double* const row = p.data() + i * (vocab + 1);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [row](std::int64_t a, std::int64_t b) { return row[a] > row[b]; });
        auto& found = filled.found.emplace_back();
        for (const std::int64_t id : order) {
            if (std::ssize(found) < most) found.emplace_back(name_of(id), row[id]);
        }
        ids[i] = order[0];
    }
    filled.text = tokenizer_->decode(ids);
    return filled;
}

// ---- scores -------------------------------------------------------------------------------------

MaskScores MaskTask::score(const TrainingConfig& config, Split split,
                           const EvaluateOptions& options, std::uint64_t seed) const {
    const NoGradGuard no_grad;
    const std::string directory = config.start;
    const Corpus corpus = read_corpus(config, load_tokenizer(directory));
    const TextData data = split_corpus(corpus, config);
    const std::int64_t length = model_->config().max_length;
    data.check_context(length, "sequence");
    Generator generator = stream(seed, Stream::evaluation);
    MaskScores scores{.unit = std::string(tokenizer_->unit())};
    MeanLoss mean;
    for (std::int64_t i = 0; i < options.batches; ++i) {
        const Batch batch =
            masked(data.random_batch(split, options.batch, length, generator), generator);
        mean.add(loss(batch));
        const Tensor logits = (*model_)(batch.inputs);
        const std::vector<float> all = tapestry::to(logits, DType::f32).to_vector<float>();
        const Ids targets = batch.targets.to_vector<std::int64_t>();
        const auto vocab = static_cast<std::ptrdiff_t>(model_->config().vocab);
        for (std::size_t t = 0; t < targets.size(); ++t) {
            if (targets[t] == kNoTarget) continue;
            const auto row = all.begin() + static_cast<std::ptrdiff_t>(t) * vocab;
            scores.right += std::max_element(row, row + vocab) - row == targets[t];
            ++scores.tokens;
        }
    }
    scores.loss = finite_outputs({mean.value()})[0];
    return scores;
}

std::string to_text(const MaskScores& scores, const std::string& of) {
    return fmt::format(
        "loss {} nats per masked {} (perplexity {}), accuracy {:.4f} over {} of {}\n",
        fixed_text(scores.loss), scores.unit, fixed_text(std::exp(scores.loss), 3),
        static_cast<double>(scores.right) / static_cast<double>(scores.tokens), scores.tokens,
        utf8::printable(of));
}

std::string to_json(const MaskScores& scores) {
    JsonWriter json;
    json.object("loss", scores.loss, "perplexity", std::exp(scores.loss), "accuracy",
                static_cast<double>(scores.right) / static_cast<double>(scores.tokens), "masked",
                scores.tokens, "unit", scores.unit);
    return json.text();
}

// ---- the directory ------------------------------------------------------------------------------

void MaskTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, model_config(), *tokenizer_);
}

std::vector<std::string> MaskTask::description_files() const {
    if (tokenizer_->kind() == "bpe") return {kConfigName, "vocab.json", "merges.txt"};
    return {kConfigName, kTokenizerName};
}

// ---- what people see ----------------------------------------------------------------------------

std::vector<std::string> MaskTask::texts(const Batch& batch, std::int64_t row) const {
    std::vector<std::string> names;
    for (const std::int64_t id :
         views::slice(batch.inputs, 0, row, row + 1).to_vector<std::int64_t>()) {
        names.push_back(name_of(id));
    }
    return names;
}

std::string MaskTask::name_of(std::int64_t id) const {
    if (id == mask_id()) return std::string(kMaskText);
    const bool is_token = id >= 0 && id < tokenizer_->vocab_size();
    return is_token ? tokenizer_->decode({&id, 1}) : fmt::format("[{}]", id);
}

std::string MaskTask::data_text() const {
    const TextData& data = examples().data;
    return fmt::format("{}: {} {}s, {} in the vocabulary; training on {}, validating on {}{}",
                       utf8::printable(data_name(examples().config)), data.size(Split::all),
                       tokenizer_->unit(), tokenizer_->vocab_size(), data.size(Split::train),
                       data.size(Split::validation), skipped_text(examples().corpus));
}

std::string MaskTask::amounts() const {
    return fmt::format("{} {}s to learn from, {} held out", examples().data.size(Split::train),
                       tokenizer_->unit(), examples().data.size(Split::validation));
}

std::string MaskTask::shape_text() const {
    const MaskedLanguageModelConfig& c = model_->config();
    return fmt::format("{}, {}, dim {}, sequences of up to {}, of which 15 % are predicted",
                       pluralize(c.layers, "layer"), pluralize(c.heads, "head"), c.dim,
                       c.max_length);
}

std::vector<ExpectedLoss> MaskTask::expected_losses() const {
    return tapestry::expected_losses(examples().data, *tokenizer_);
}

// A piece of the held-out text, masked and filled in.
std::string MaskTask::sample(std::int64_t length, Generator& generator) const {
    const TokenIds unseen = examples().data.ids(Split::validation);
    const std::int64_t count = std::min({length, examples().config.context(), unseen.size()});
    const Ids ids = unseen.read(0, count);
    const Batch whole{tensor(ids, {1, count}), tensor(ids, {1, count})};
    const Batch batch = masked(whole, generator);
    std::string text;
    for (const std::string& token : texts(batch, 0)) text += token;
    return text + "\n\n" + fill_ids(batch.inputs.to_vector<std::int64_t>(), 1).text;
}

}  // namespace tapestry
