#include <tapestry/nn/train/text_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/skip_drawing.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <utility>

namespace tapestry {

// ---- the text -----------------------------------------------------------------------------------

namespace {

Corpus load_for(const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
    Corpus data = load_data(config.data);
    if (tokenizer) {
        require(data.tokenizer->hash() == tokenizer->hash(),
                "{}: made with a tokenizer that differs from that of {} ({} {}s, hash {}; {} {}s, "
                "hash {})",
                config.data, config.start.empty() ? "the model" : config.start,
                data.tokenizer->vocab_size(), data.tokenizer->unit(), data.tokenizer->hash(),
                tokenizer->vocab_size(), tokenizer->unit(), tokenizer->hash());
        data.tokenizer = std::move(tokenizer);  // with the ends that the model's directory declares
    }
    return data;
}

}  // namespace

Corpus read_corpus(const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                   const TextCache* cache) {
    require(config.text.empty() != config.data.empty(),
            "training: needs either a text or data, got {}",
            config.text.empty() ? "neither" : "both");
    return config.data.empty() ? tokenize_text(config.text, std::move(tokenizer), cache)
                               : load_for(config, std::move(tokenizer));
}

TextData split_corpus(const Corpus& corpus, const TrainingConfig& config) {
    return TextData(corpus.ids, {.test_fraction = config.test_fraction, .name = data_name(config)});
}

namespace {

// The model to begin with, or nothing.
LoadedModel load_start(const std::string& directory) {
    if (directory.empty()) return {};
    LoadedModel start = load_model(directory);
    require_tokenizer(start, directory);
    return start;
}

// An adapter and the states of its run belong to one base.
void check_base(TrainingConfig& config, const LanguageModel& model, const std::string& place) {
    const std::string now = base_hash(model);
    require(config.start_hash.empty() || config.start_hash == now,
            "{}: the model has other weights than when the run began (checksum {}, then {}), and "
            "its adapter belongs to those; restore the model, or begin a new run",
            shown(place), now, config.start_hash);
    config.start_hash = now;
}

LoadedModel checked_start(TrainingConfig& config, const std::string& place) {
    LoadedModel loaded = load_start(place);
    if (loaded.model && config.lora > 0) check_base(config, *loaded.model, place);
    return loaded;
}

// Empty if a checkpoint cannot store it.
std::string absolute_place(const std::string& directory) {
    const std::string place = std::filesystem::canonical(absolute_path(directory)).string();
    return utf8::find_flaw(place) ? "" : place;
}

// int8 weights are in no checkpoint: they are made from the base's again. A run that moved together
// with its base finds it as it was named, one from another working directory where it was; the
// checksum says whether it is the same.
LoadedModel load_base(TrainingConfig& config) {
    std::vector<std::string> places;
    for (const std::string& place : {config.start, config.start_place}) {
        if (!place.empty() && is_there(place)) places.push_back(place);
    }
    const std::string& before = config.start_place.empty() ? config.start : config.start_place;
    require<IoError>(config.start_hash.empty() || !places.empty(),
                     "{}: the base of this run, whose int8 weights no checkpoint has, is not "
                     "there; if it was moved, --resume --model says where to",
                     shown(before));
    if (places.empty()) return load_start(config.start);
    for (std::size_t i = 0;; ++i) {
        try {
            LoadedModel loaded = checked_start(config, places[i]);
            config.start_place = absolute_place(places[i]);
            return loaded;
        } catch (const Error&) {
            if (i + 1 == places.size()) throw;
        }
    }
}

void check_sequences(const Tensor& ids, const CommonSettings& config) {
    require(ids.rank() == 2, "sequences of shape {}", ids.shape());
    require(ids.size(1) <= config.context, "{} tokens in a sequence; the model looks at {}",
            ids.size(1), config.context);
    for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
        require(id >= 0 && id < config.vocab, "token {}; the vocabulary has {}", id, config.vocab);
    }
}

// Rounds the tensors to bf16, one after the other: memory never holds all of them in both types.
void narrow(NamedTensors& tensors) {
    const NoGradGuard unrecorded;
    PeriodicRelease wide;
    for (auto& [name, tensor] : tensors) {
        if (!is_floating(tensor.dtype())) continue;
        const std::size_t bytes = tensor.bytes();
        tensor = to(tensor, DType::bf16);
        wide.add(bytes);
    }
    wide.finish();
}

template <class T>
std::shared_ptr<T> borrowed(T* object) {
    return {std::shared_ptr<void>(), object};
}

}  // namespace

void check_ids_of_batch(const Batch& batch, const ModelConfig& config) {
    check_sequences(batch.inputs, common_settings(config));
    check_sequences(batch.targets, common_settings(config));
    require(batch.inputs.shape() == batch.targets.shape(), "inputs {}, but targets {}",
            batch.inputs.shape(), batch.targets.shape());
}

// ---- made ---------------------------------------------------------------------------------------

LoadedModel TextTask::given_start(TrainingConfig& config, TaskStart& start) {
    const bool needs_base = config.frozen_weights == WeightType::int8;
    const bool is_known = start.tokenizer != nullptr || !start.directory.empty();
    LoadedModel loaded;
    if (needs_base) {
        loaded = load_base(config);
    } else if (!is_known) {
        loaded = checked_start(config, config.start);
    }
    if (start.is_continued && !needs_base) loaded.model.reset();
    if (start.tokenizer) {
        loaded.tokenizer = std::move(start.tokenizer);
    } else if (!start.directory.empty()) {
        loaded.tokenizer = load_tokenizer(start.directory);
        loaded.conventions = load_text_conventions(start.directory);
    }
    return loaded;
}

void TextTask::complete(TrainingConfig& config, const LanguageModel* start, std::int64_t vocab) {
    if (start == nullptr) {
        return config.visit_model([vocab](auto& model) {
            if constexpr (requires { model.vocab; }) model.vocab = vocab;
        });
    }
    const CommonSettings wanted = common_settings(config.model_config());
    const GPTConfig before = config.model;
    bool recomputes = false;
    config.visit_model([&](const auto& model) {
        if constexpr (requires { model.recompute; }) recomputes = model.recompute;
    });
    config.set_model(start->model_config());
    config.visit_model([&](auto& model) {
        keep_run_settings(model, wanted, config);
        if constexpr (requires { model.recompute; }) model.recompute = recomputes;
    });
    if (!config.start_dropout) return;
    config.model.embedding_dropout = before.embedding_dropout;  // a replayed run's, or -1: the same
    config.model.attention_dropout = before.attention_dropout;
}

std::unique_ptr<LanguageModel> TextTask::made_model(const ModelConfig& config,
                                                    std::unique_ptr<LanguageModel> start,
                                                    Generator& generator) {
    if (start == nullptr) return make_model(config, generator);
    NamedTensors values = saved_tensors(*start);
    start.reset();
    if (common_settings(config).weights == ComputeType::bf16) narrow(values);
    const SkipDrawing skip;
    std::unique_ptr<LanguageModel> model = make_model(config, generator);
    const NamedTensors places = saved_tensors(*model);
    PeriodicRelease copied;  // never twice the weights: the model's own are not there before
    for (std::size_t i = 0; i < places.size(); ++i) {
        Tensor(places[i].second).copy_(values[i].second);
        values[i].second = Tensor();
        copied.add(places[i].second.bytes());
    }
    copied.finish();
    return model;
}

std::unique_ptr<Task> TextTask::begin(TrainingConfig& config, TaskStart start, Generator& weights) {
    LoadedModel from = given_start(config, start);
    Corpus corpus = read_corpus(config, std::move(from.tokenizer), start.cache);
    add_declared(*corpus.tokenizer, from.conventions);
    TextData data = split_corpus(corpus, config);
    if (!start.is_continued) {
        complete(config, from.model.get(), corpus.tokenizer->vocab_size());
    }
    const std::int64_t most = common_settings(config.model_config()).context;
    require(config.sequence <= most, "train: --sequence {} is more than the model's context of {}",
            config.sequence, most);
    data.check_context(config.context());
    check_memory(config);
    auto model = made_model(config.model_config(), std::move(from.model), weights);
    return std::unique_ptr<Task>(new TextTask(
        Examples{config, std::move(corpus), std::move(data), std::move(from.conventions)},
        std::move(model)));
}

std::unique_ptr<Task> TextTask::load(const std::filesystem::path& directory) {
    return std::unique_ptr<Task>(new TextTask(load_model(directory)));
}

TextTask::TextTask(LanguageModel& model, const Tokenizer* tokenizer)
    : model_(borrowed(&model)), tokenizer_(borrowed(tokenizer)) {}

TextTask::TextTask(LoadedModel loaded)
    : model_(std::move(loaded.model)),
      tokenizer_(std::move(loaded.tokenizer)),
      conventions_(std::move(loaded.conventions)) {}

TextTask::TextTask(Examples examples, std::unique_ptr<LanguageModel> model)
    : examples_(std::move(examples)),
      model_(std::move(model)),
      tokenizer_(borrowed<const Tokenizer>(examples_->corpus.tokenizer.get())),
      conventions_(examples_->conventions) {}

const TextTask::Examples& TextTask::examples() const {
    require(examples_.has_value(), "the task has no text: it was loaded from a directory");
    return *examples_;
}

const Tokenizer& TextTask::tokenizer() const {
    require(tokenizer_ != nullptr, "the model has no tokenizer");
    return *tokenizer_;
}

// With LoRA the weights' gradients are not computed, a third of the products.
double TextTask::step_flops(std::int64_t rows) const {
    const double all =
        tapestry::step_flops(examples_ ? examples_->config.step_config() : model_config(), rows);
    return examples_ && examples_->config.lora > 0 ? 2 * all / 3 : all;
}

// ---- examples -----------------------------------------------------------------------------------

CountedLoss TextTask::loss(const Batch& batch) const {
    return model_->loss(batch.inputs, batch.targets);
}

void TextTask::check_batch(const Batch& batch) const { check_ids_of_batch(batch, model_config()); }

Batch TextTask::next_batch(Generator& generator) const {
    const TrainingConfig& config = examples().config;
    return data().batch(config.order, Split::train, config.batch, config.context(), generator);
}

Batch TextTask::validation_batch(std::int64_t, Generator& generator) const {
    const TrainingConfig& config = examples().config;
    return data().random_batch(Split::validation, config.batch, config.context(), generator);
}

// ---- the directory ------------------------------------------------------------------------------

void TextTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, model_config(), tokenizer(), conventions_);
}

std::vector<std::string> TextTask::description_files() const {
    if (tokenizer().kind() == "bpe") return {kConfigName, "vocab.json", "merges.txt"};
    return {kConfigName, kTokenizerName};
}

// ---- what people see ----------------------------------------------------------------------------

std::vector<std::string> TextTask::texts(const Batch& batch, std::int64_t row) const {
    return token_texts(tokenizer(),
                       views::slice(batch.inputs, 0, row, row + 1).to_vector<std::int64_t>());
}

std::string TextTask::name_of(std::int64_t id) const {
    return token_texts(tokenizer(), {&id, 1}).front();
}

std::string skipped_text(const Corpus& corpus) {
    if (corpus.skipped == 0) return {};
    return fmt::format("; {} skipped: not text, or a link", pluralize(corpus.skipped, "file"));
}

std::string TextTask::data_text() const {
    const TrainingConfig& config = examples().config;
    const bool is_own = config.start.empty() && config.data.empty();
    const std::int64_t test = data().size(Split::test);
    return fmt::format(
        "{}: {} {}s, {}{}; training on {}, validating on {}{}{}",
        utf8::printable(data_name(config)), data().size(Split::all), tokenizer().unit(),
        tokenizer().vocab_size(), is_own ? " different" : " in the vocabulary",
        data().size(Split::train), data().size(Split::validation),
        test == 0 ? "" : fmt::format(", {} for testing", test), skipped_text(corpus()));
}

std::string TextTask::amounts() const {
    return fmt::format("{} {}s to learn from, {} held out", data().size(Split::train),
                       tokenizer().unit(), data().size(Split::validation));
}

std::string TextTask::shape_text() const {
    const CommonSettings model = common_settings(model_config());
    return fmt::format("{}, {}, dim {}, context {}", pluralize(model.layers, "layer"),
                       pluralize(model.heads, "head"), model.dim, model.context);
}

std::vector<ExpectedLoss> TextTask::expected_losses() const {
    return tapestry::expected_losses(data(), tokenizer());
}

std::string TextTask::sample(std::int64_t length, Generator& generator) const {
    const std::vector<std::int64_t> prompt = data().ids(Split::all).read(0, 1);
    const auto ids = tapestry::sample(*model_, prompt, {.tokens = length}, generator);
    StreamDecoder drawn(tokenizer());
    std::string text;
    for (const std::int64_t id : prompt) text += drawn.next(id);
    for (const std::int64_t id : ids) text += drawn.next(id);
    return text + drawn.finish();
}

// At most 24 tokens of the validation part, and the one that follows.
std::vector<std::int64_t> TextTask::sentence_ids() const {
    constexpr std::int64_t kMost = 24;
    const TokenIds unseen = data().ids(Split::validation);
    const TokenIds ids = unseen.size() > 1 ? unseen : data().ids(Split::all);
    return ids.read(0, std::min({kMost, examples().config.context(), ids.size() - 1}) + 1);
}

std::vector<std::string> TextTask::sentence() const {
    return token_texts(tokenizer(), sentence_ids());
}

SentenceProbe TextTask::look() const {
    const std::vector<std::int64_t> ids = sentence_ids();
    const Tensor all = tensor(ids, {1, std::ssize(ids)});
    const std::int64_t count = all.size(1) - 1;
    return probe_sentence(*model_, [&] {
        return model_->loss(slice(all, 1, 0, count), slice(all, 1, 1, count + 1));
    });
}

}  // namespace tapestry
