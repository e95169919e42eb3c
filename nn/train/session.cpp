#include <tapestry/nn/train/session.h>

#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/shared_session.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/nn/train/training_config.h>
#include <tapestry/ops/view.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tapestry {
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
    }
    return data;
}

}  // namespace

const std::string& data_name(const TrainingConfig& config) {
    return config.data.empty() ? config.text : config.data;
}

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

void check_rounds_bf16(const std::string& optimizer) {
    std::vector<std::string> able;
    for (const OptimizerRow& row : optimizer_rows()) {
        if (row.rounds_bf16) able.emplace_back(row.name);
    }
    require(optimizer_row(optimizer).rounds_bf16,
            "train: bf16 weights need stochastic rounding, which {} does not support; --optimizer "
            "must be {}",
            optimizer, fmt::join(able, " or "));
}

TrainingConfig checked(TrainingConfig config) {
    check_names(config);
    optimizer_row(config.optimizer);  // is there one?
    if (common_settings(config.model_config()).weights == ComputeType::f32) return config;
    check_rounds_bf16(config.optimizer);
    config.visit_model([](auto& model) { model.compute = model.weights; });
    return config;
}

// Tensors of state for a parameter.
std::int64_t moments_of(const TrainingConfig& config) {
    return std::ssize(optimizer_row(config.optimizer).moments(optimizer_options(config)));
}

}  // namespace

Session::Session(const TrainingConfig& config, const TextCache* cache)
    : Session(config, load_start(config.start), cache, false) {}

Session::Session(TrainingConfig config, LoadedModel start, const TextCache* cache, bool resumed)
    : config_(checked(std::move(config))),
      corpus_(read_corpus(config_, std::move(start.tokenizer), cache)),
      data_(split_corpus(corpus_, config_)),
      weights_(stream(config_.seed, Stream::weights)),
      batches_(stream(config_.seed, Stream::batches)) {
    if (start.model) {
        const CommonSettings wanted = common_settings(config_.model_config());
        config_.set_model(start.model->model_config());
        config_.visit_model([&](auto& model) {
            model.compute = wanted.compute;  // a run's setting, not the saved model's
            model.weights = wanted.weights;
            model.dropout = config_.start_dropout.value_or(model.dropout);
        });
    } else if (!resumed) {
        config_.visit_model([this](auto& model) { model.vocab = tokenizer().vocab_size(); });
    }
    data().check_context(config_.context());
    check_memory(config_.model_config(), config_.micro_batch_size(),
                 GradientSum::gradient_sets(config_.leaves_per_step(), config_.micro_batches),
                 moments_of(config_));
    make_model(std::move(start.model));
    if (!config_.train_only.empty()) train_only(*model_, config_.train_only);
    optimizer_ = make_optimizer(*model_, config_);
    start_loop(0);
}

// A new one also for known weights: its dropout follows the seed of this training.
void Session::make_model(std::unique_ptr<LanguageModel> start) {
    model_ = tapestry::make_model(config_.model_config(), weights_);
    if (!start) return;
    const Tensors from = start->parameters();
    Tensors to = model_->parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
}

void Session::start_loop(std::int64_t first_step) {
    TrainOptions options = config_.loop();
    options.first_step = first_step;
    options.first_seconds = seconds_before_;
    if (shared_ != nullptr) options.communicator = &shared_->communicator_;
    loop_.emplace(
        *optimizer_, options,
        TrainCallbacks{
            .loss = [this] { return next_loss(); },
            .evaluate = [this] { return shared_ == nullptr ? evaluate() : shared_->evaluate(); },
            .before_update = [this](std::int64_t step) { before_update(step); },
            .report = {}});
}

StepMetrics Session::take_step() {
    return shared_ == nullptr ? take_own_step() : shared_->take_step();
}

// Batches and random numbers advance as if this process had computed all leaves, regardless of its
// share; every leaf draws the same amount.
StepMetrics Session::take_own_step() {
    if (leaves_taken_ == 0) began_ = Clock::now();
    micro_batch_ = loop_->step().share().begin;
    drawn_ = 0;
    const StepMetrics metrics = loop_->next();
    if (shared_ == nullptr) return metrics;
    while (drawn_ < config_.accumulate) draw_batch();
    const auto last = static_cast<std::uint64_t>(config_.leaves_per_step() - 1);
    const Generator dropout =
        stream(config_.seed, "dropout", static_cast<std::uint64_t>(steps()), last);
    weights_.set_state(dropout.seed(), weights_.offset());
    return metrics;
}

void Session::before_update(std::int64_t step) {
    if (shared_ != nullptr) shared_->before_update();
    if (watchers_.before_update) watchers_.before_update(step);
}

// A batch is drawn whole, whatever its parts, so that the next one is where it always was. What a
// part drops depends on nothing that was dropped before it: any process can compute it.
void Session::draw_batch() {
    batch_ = data().batch(config_.order, Split::train, config_.batch, config_.context(), batches_);
    ++drawn_;
}

Tensor Session::next_loss() {
    const std::int64_t parts = config_.micro_batches;
    const std::int64_t rows = config_.micro_batch_size();
    const std::int64_t first = micro_batch_ % parts * rows;
    while (drawn_ <= micro_batch_ / parts) draw_batch();
    if (parts > 1) {
        weights_ = stream(config_.seed, "dropout", static_cast<std::uint64_t>(steps() + 1),
                          static_cast<std::uint64_t>(micro_batch_));
    }
    ++micro_batch_;
    ++leaves_taken_;
    const Batch part{slice(batch_.inputs, 0, first, first + rows),
                     slice(batch_.targets, 0, first, first + rows)};
    if (watchers_.batch) watchers_.batch(part);
    return model_->loss(part.inputs, part.targets);
}

// A checkpoint has the settings that the optimiser had; those of the configuration may be
// overridden.
void Session::keep_settings_of(const OptimizerState& configured) {
    OptimizerState state = optimizer_->state();
    state.settings = configured.settings;
    for (std::size_t i = 0; i < state.groups.size(); ++i) {
        state.groups[i].weight_decay = configured.groups[i].weight_decay;
        state.groups[i].lr_factor = configured.groups[i].lr_factor;
    }
    optimizer_->load_state(state);
}

// Random numbers that were drawn under another seed than the configuration's say nothing of it.
void Session::draw_anew_unless(std::uint64_t seed) {
    if (seed == config_.seed) return;
    weights_ = stream(config_.seed, Stream::weights);
    batches_ = stream(config_.seed, Stream::batches);
}

Checkpoint Session::checkpoint() {
    if (shared_ != nullptr) shared_->collect_state();
    return {.module = *model_,
            .optimizer = *optimizer_,
            .generators = {{"weights", &weights_}, {"batches", &batches_}},
            .step = steps(),
            .config = to_json(config_),
            .data = corpus_.hash};
}

std::size_t Session::moment_bytes() const {
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : optimizer_->shared_state().tensors) {
        if (!name.starts_with("steps.")) bytes += tensor.bytes();
    }
    return bytes;
}

ProcessAccount Session::own_account(std::size_t moment_bytes) const {
    const auto leaves = static_cast<double>(leaves_taken_);
    const std::int64_t rows = config_.micro_batch_size();
    return {.host = OneProcess().host(),
            .threads = static_cast<double>(num_threads()),
            .tokens = leaves * static_cast<double>(rows * config_.context()),
            .flops = leaves * step_flops(config_.model_config(), rows),
            .seconds = leaves_taken_ == 0 ? 0 : seconds_since(began_),
            .moment_bytes = static_cast<double>(moment_bytes)};
}

std::vector<ProcessAccount> Session::accounts() {
    if (shared_ == nullptr) return {own_account(moment_bytes())};
    return shared_->accounts();
}

void Session::share_among(Communicator& communicator) {
    own_shared_ = std::make_shared<SharedSession>(*this, communicator);
}

void Session::follow() {
    if (shared_ != nullptr) shared_->follow();
}

void Session::dismiss() {
    if (shared_ != nullptr) shared_->dismiss();
}

double Session::evaluate() {
    Generator generator = stream(config_.seed, Stream::evaluation);
    return tapestry::evaluate(*model_, data(), Split::validation,
                              {.batches = config_.eval_batches, .batch = config_.batch}, generator);
}

std::string Session::sample(std::int64_t tokens) {
    Generator generator = stream(config_.seed, Stream::samples);
    const std::vector<std::int64_t> prompt = data().ids(Split::all).read(0, 1);
    model_->eval();
    const auto ids = tapestry::sample(*model_, prompt, {.tokens = tokens}, generator);
    model_->train();
    StreamDecoder drawn(tokenizer());
    std::string text;
    for (const std::int64_t id : prompt) text += drawn.next(id);
    for (const std::int64_t id : ids) text += drawn.next(id);
    return text + drawn.finish();
}

std::vector<std::int64_t> Session::sentence_ids() const {
    constexpr std::int64_t kMost = 24;
    const TokenIds unseen = data().ids(Split::validation);
    const TokenIds ids = unseen.size() > 1 ? unseen : data().ids(Split::all);
    return ids.read(0, std::min({kMost, config_.context(), ids.size() - 1}) + 1);
}

std::vector<std::string> Session::sentence() const {
    return token_texts(tokenizer(), sentence_ids());
}

SentenceProbe Session::look() {
    const std::vector<std::int64_t> ids = sentence_ids();
    const Tensor all = tensor(ids, {1, std::ssize(ids)});
    const std::int64_t count = all.size(1) - 1;
    model_->eval();
    SentenceProbe look = probe_sentence(*model_, [&] {
        return model_->loss(slice(all, 1, 0, count), slice(all, 1, 1, count + 1));
    });
    model_->train();
    return look;
}

std::unique_ptr<Session> Session::resume(const std::filesystem::path& file,
                                         const ResumeOptions& options) {
    return resume(file, options, nullptr);
}

std::unique_ptr<Session> Session::resume(const std::filesystem::path& file,
                                         const ResumeOptions& options,
                                         std::unique_ptr<Tokenizer> tokenizer,
                                         const TextCache* cache) {
    const CheckpointInfo info = checkpoint_info(file);
    auto [config, overridden] = resumed_config(info, file.string(), options);
    LoadedModel start = tokenizer ? LoadedModel{nullptr, std::move(tokenizer)}
                                  : LoadedModel{nullptr, load_start(config.start).tokenizer};
    // Not make_unique: the constructor is private.
    std::unique_ptr<Session> session(new Session(config, std::move(start), cache, true));
    check_same_data(info, file.string(), session->corpus().hash, options, overridden);
    const OptimizerState configured = session->optimizer().state();
    load_checkpoint(file, session->checkpoint());
    session->keep_settings_of(configured);
    session->draw_anew_unless(training_config_from_json(info.config, file.string()).seed);
    session->overridden_ = std::move(overridden);
    session->start_loop(info.step);
    return session;
}

std::unique_ptr<Session> Session::continued(const TrainingConfig& config,
                                            std::unique_ptr<Tokenizer> tokenizer,
                                            const TextCache* cache) {
    std::unique_ptr<Session> next(
        new Session(config, LoadedModel{nullptr, std::move(tokenizer)}, cache, true));
    const OptimizerState configured = next->optimizer_->state();
    Unmatched none;
    const auto pairs =
        match_tensors("the training state", saved_tensors(*model_), *next->model_, {}, none);
    next->optimizer_->load_state(optimizer_->state());
    for (const auto& [from, to] : pairs) Tensor(to).copy_(from);
    next->keep_settings_of(configured);
    next->weights_ = weights_;
    next->batches_ = batches_;
    next->draw_anew_unless(config_.seed);
    next->start_loop(steps());
    return next;
}

}  // namespace tapestry
