#include <tapestry/nn/train/session.h>

#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/shared_session.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/nn/train/training_config.h>
#include <tapestry/ops/view.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

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

}  // namespace

Session::Session(const TrainingConfig& config, const TextCache* cache)
    : Session(config, TaskStart{.cache = cache}) {}

Session::Session(TrainingConfig config, TaskStart start)
    : config_(checked(std::move(config))),
      weights_(stream(config_.seed, Stream::weights)),
      batches_(stream(config_.seed, Stream::batches)),
      task_(begin_task(config_, std::move(start), weights_)) {
    adapt();
    if (!config_.train_only.empty()) {
        train_only(module(), own_names(module(), config_.train_only));
    }
    optimizer_ = make_optimizer(module(), config_);
    start_loop(0);
}

// The updates' first numbers are drawn as the weights are, and so is their dropout.
void Session::adapt() {
    check_frozen_weights(config_);
    if (config_.lora == 0) return;
    require(config_.task == "text", "train: --lora adapts language models; the task is {}",
            config_.task);
    require(config_.train_only.empty(),
            "train: --lora freezes all parameters but its own; leave out --train-only");
    add_lora(model(),
             {.update = {.rank = config_.lora,
                         .alpha = config_.lora_alpha,
                         .dropout = config_.lora_dropout,
                         .rank_stabilized = config_.lora_rank_stabilized},
              .targets = config_.lora_targets},
             weights_);
    if (config_.frozen_weights == WeightType::int8) keep_frozen_int8(model());
}

const TextTask& Session::text_task() const {
    const auto* text = dynamic_cast<const TextTask*>(task_.get());
    require(text != nullptr, "the run's task is {}, which has no text", config_.task);
    return *text;
}

const Corpus& Session::corpus() const { return text_task().corpus(); }
const TextData& Session::data() const { return text_task().data(); }
const Tokenizer& Session::tokenizer() const { return text_task().tokenizer(); }
LanguageModel& Session::model() { return text_task().language_model(); }
const LanguageModel& Session::model() const { return text_task().language_model(); }

void Session::start_loop(std::int64_t first_step) {
    TrainOptions options = config_.loop();
    options.first_step = first_step;
    options.first_seconds = seconds_before_;
    options.progress = progress_;
    // Without gradients a batch takes about a third of the time.
    options.evaluation_steps = static_cast<double>(task_->validation_batches()) /
                               (3 * static_cast<double>(config_.accumulate));
    if (shared_ != nullptr) options.communicator = &shared_->communicator_;
    const bool repeats =
        config_.task == "text" && !config_.is_chat();  // the same lengths each step
    options.plan =
        options.plan ||
        (repeats && static_cast<std::size_t>(4 * weight_count(module())) >= kPlannedBytes);
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
    if (loop_->is_finished()) config_.steps = steps();  // that a time limit allowed
    if (metrics.val_loss || loop_->is_finished()) calibrate();
    if (shared_ == nullptr) return metrics;
    while (drawn_ < config_.accumulate) draw_batch();
    const auto last = static_cast<std::uint64_t>(config_.leaves_per_step() - 1);
    const Generator dropout =
        stream(config_.seed, "dropout", static_cast<std::uint64_t>(steps()), last);
    weights_.set_state(dropout.seed(), weights_.offset());
    return metrics;
}

// Each process does so by itself, to the same bits.
void Session::calibrate() {
    module().eval();
    task_->calibrate();
    module().train();
}

void Session::before_update(std::int64_t step) {
    if (shared_ != nullptr) shared_->before_update();
    if (watchers_.before_update) watchers_.before_update(step);
}

// A batch is drawn whole even if only parts of it are computed here: the generator then has
// the same state in every process. A part's dropout does not depend on that of earlier parts, so
// any process can compute it.
void Session::draw_batch() {
    batch_ = task_->next_batch(batches_);
    ++drawn_;
}

CountedLoss Session::next_loss() {
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
    return task_->loss(part);
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
    return {.module = module(),
            .optimizer = *optimizer_,
            .generators = {{"weights", &weights_}, {"batches", &batches_}},
            .step = steps(),
            .config = to_json(config_),
            .data = task_->data_hash()};
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
    const std::int64_t per_row = config_.tokens_per_step() / (config_.batch * config_.accumulate);
    return {.host = OneProcess().host(),
            .threads = static_cast<double>(num_threads()),
            .tokens = leaves * static_cast<double>(rows * per_row),
            .flops = leaves * task_->step_flops(rows),
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
    const double loss =
        mean_loss(validation_losses(*task_, generator, {0, task_->validation_batches()}));
    if (steps() == 0) loss_at_start_ = loss;
    return loss;
}

std::string Session::sample(std::int64_t tokens) {
    Generator generator = stream(config_.seed, Stream::samples);
    module().eval();
    std::string text = task_->sample(tokens, generator);
    module().train();
    return text;
}

SentenceProbe Session::look() {
    module().eval();
    SentenceProbe look = task_->look();
    module().train();
    return look;
}

std::unique_ptr<Session> Session::resume(const std::filesystem::path& file,
                                         const ResumeOptions& options) {
    return resume(file, options, TaskStart{});
}

std::unique_ptr<Session> Session::resume(const std::filesystem::path& file,
                                         const ResumeOptions& options,
                                         std::unique_ptr<Tokenizer> tokenizer,
                                         const TextCache* cache) {
    return resume(file, options, TaskStart{.tokenizer = std::move(tokenizer), .cache = cache});
}

std::unique_ptr<Session> Session::resume(const std::filesystem::path& file,
                                         const ResumeOptions& options, TaskStart start) {
    const CheckpointInfo info = checkpoint_info(file);
    auto [config, overridden] = resumed_config(info, file.string(), options);
    start.is_continued = true;
    // Not make_unique: the constructor is private.
    std::unique_ptr<Session> session(new Session(config, std::move(start)));
    check_same_data(info, file.string(), session->task().data_hash(), options, overridden);
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
    return continued(config, TaskStart{.tokenizer = std::move(tokenizer), .cache = cache});
}

std::unique_ptr<Session> Session::continued(const TrainingConfig& config, TaskStart start) {
    start.is_continued = true;
    std::unique_ptr<Session> next(new Session(config, std::move(start)));
    const OptimizerState configured = next->optimizer_->state();
    Unmatched none;
    const auto pairs = match_tensors(
        fmt::format("the weights after step {} and a model of the new settings", steps()),
        saved_tensors(module()), next->module(), {}, none);
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
