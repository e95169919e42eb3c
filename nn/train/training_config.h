// All that decides what a training learns: with the same configuration, files, build and
// instruction set it is the same to the last bit. The command line fills it in, the report prints
// it, a checkpoint keeps it. Here are also the settings of recipes, and what is made from a
// configuration: streams of random numbers, and the optimiser. Read next: session.h, a training
// made from it.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/model_registry.h>
#include <tapestry/nn/optim/optimizer_registry.h>
#include <tapestry/nn/train/loop.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Settings that go together (settings_of): nanoGPT's for a CPU, or what comes to the same
/// loss in a fraction of the time.
enum class Recipe {
    standard,  ///< nanoGPT's settings for a CPU
    fast       ///< the same loss in a fraction of the time
};

template <>
struct NamesOf<Recipe> {
    static constexpr EnumNames<Recipe, 2> list{
        {{Recipe::standard, "standard"}, {Recipe::fast, "fast"}}};
};

/// How the learning rate falls after the warm-up (nn/optim/schedule.h).
enum class RateCurve {
    cosine,    ///< along half a cosine
    trapezoid  ///< in equal parts, at the end
};

template <>
struct NamesOf<RateCurve> {
    static constexpr EnumNames<RateCurve, 2> list{
        {{RateCurve::cosine, "cosine"}, {RateCurve::trapezoid, "trapezoid"}}};
};

/// The names of all tasks (nn/train/task.h).
std::vector<std::string> task_names();

/// All settings of a run. FieldsOf<TrainingConfig> has meaning and bounds of every field.
struct TrainingConfig {
    /// What it began with; it says so, and the other fields say what is done.
    Recipe recipe = Recipe::standard;
    std::string task = "text";  ///< a row's name in nn/train/task.h: what is learned
    std::string text = {};      ///< the file or directory to learn from (nn/io/tokenize.h)
    /// Or a directory that `tapestry tokenize` has written, or conversations: is_chat().
    std::string data = {};
    std::string chat_template = {};  ///< as chosen_template() takes it; empty: that of `start`
    std::string chat_system = {};    ///< system message of conversations without one
    /// They have an empty one. Otherwise an empty chat_system leaves them to the template.
    bool chat_system_empty = false;
    /// Of the ids, cut off the end of those held out: no training looks at them.
    double test_fraction = 0;
    std::string start =
        {};  ///< directory of a model whose weights it begins with; empty: random ones
    /// base_hash() (nn/io/peft.h) of the model in `start` when a run with LoRA began; empty: not
    /// known. Set by the run.
    std::string start_hash = {};
    /// With int8 weights, whose base is read again: where `start` was, absolute. Set by the run.
    std::string start_place = {};
    /// Of a `start` the model's own takes its place, but for what start_dropout says.
    GPTConfig model = {};
    /// A model of another kind (nn/models/model_registry.h), which is trained instead; empty: a
    /// GPT.
    std::optional<ModelConfig> other_model = {};
    /// Replaces the dropout of a `start`; empty: keeps it.
    std::optional<double> start_dropout = {};
    /// Tokens of a training sequence, at most the model's context; 0: all of it.
    std::int64_t sequence = 0;
    std::vector<std::string> train_only = {};  ///< all other parameters are frozen; empty: none
    /// Rank of LoRA's updates (nn/models/lora.h), which alone are trained; 0: none.
    std::int64_t lora = 0;
    double lora_alpha = 16;                      ///< their factor, times the rank
    double lora_dropout = 0;                     ///< on their inputs
    std::vector<std::string> lora_targets = {};  ///< matrices that have one; empty: LoraConfig's
    bool lora_rank_stabilized = false;  ///< a factor of alpha / sqrt(rank) instead of alpha / rank
    /// Of the weights that LoRA freezes; int8: those of keep_frozen_int8(). bf16 ones are of the
    /// model's configuration.
    WeightType frozen_weights = WeightType::f32;
    std::int64_t batch = 12;                ///< sequences per batch
    BatchOrder order = BatchOrder::random;  ///< how sequences are drawn
    std::int64_t accumulate = 1;            ///< batches whose gradients are averaged per step
    std::int64_t micro_batches = 1;         ///< equal parts of a batch, with a gradient each
    std::int64_t steps = 2000;              ///< steps in all
    /// If positive, the run ends after this time, evaluations included, and at most `steps`.
    double minutes = 0;
    /// `steps` of a run that only time limits.
    static constexpr std::int64_t kNoStepLimit = 1'000'000'000;
    std::string optimizer = "adamw";         ///< a row's name in nn/optim/optimizer_registry.h
    double lr = 1e-3;                        ///< learning rate after the warm-up
    double min_lr = 1e-4;                    ///< learning rate at the end
    std::int64_t warmup = 100;               ///< steps in which the rate rises
    RateCurve schedule = RateCurve::cosine;  ///< how the rate falls
    double cooldown = 0.4;        ///< trapezoid: share of the steps in which it falls, in [0, 1]
    double muon_lr = 1;           ///< Muon's learning rate, as a multiple of AdamW's
    double muon_momentum = 0.95;  ///< Muon's momentum, in [0, 1)
    std::int64_t muon_iterations = 5;  ///< iterations of orthogonalised()
    double weight_decay = 0.1;         ///< of tensors of rank 2 and above
    double beta1 = 0.9;                ///< Adam's, AdamW's and Lion's, in [0, 1)
    double beta2 = 0.99;               ///< Adam's, AdamW's and Lion's, in [0, 1)
    double eps = 1e-8;                 ///< added to the root by Adam, AdamW and RMSprop
    double momentum = 0.9;             ///< SGD's and RMSprop's, in [0, 1)
    bool nesterov = false;             ///< SGD: step from where the velocity leads
    double alpha = 0.99;               ///< RMSprop: share of the mean square that stays, in [0, 1)
    bool centered = false;             ///< RMSprop: divide by the deviation
    double clip = 1;                   ///< largest gradient norm; 0: no limit
    std::int64_t eval_every = 250;     ///< steps between evaluations; 0: none
    std::int64_t eval_batches = 50;    ///< batches per evaluation
    std::uint64_t seed = 1337;         ///< of all random numbers of the run

    /// The configuration of the model that is trained, of any kind.
    ModelConfig model_config() const { return other_model ? *other_model : ModelConfig(model); }
    /// Changes it, and its kind.
    void set_model(const ModelConfig& config);
    /// Calls f(config) with it in its own type.
    template <class F>
    void visit_model(const F& f) {
        other_model ? std::visit(f, *other_model) : f(model);
    }
    template <class F>
    void visit_model(const F& f) const {
        other_model ? std::visit(f, *other_model) : f(model);
    }

    /// Tokens of a training sequence.
    std::int64_t context() const {
        return sequence > 0 ? sequence : common_settings(model_config()).context;
    }
    /// The model's configuration with that context, for the memory and arithmetic of a step.
    ModelConfig step_config() const;
    /// Tokens whose gradients one step averages.
    std::int64_t tokens_per_step() const {
        return batch * (is_chat() ? 1 : context()) * accumulate;
    }
    /// Whether `data` is a file of conversations (nn/chat/chat_examples.h), not a directory. Their
    /// lengths differ: tokens_per_step() then counts examples.
    bool is_chat() const { return task == "text" && is_json_lines(data); }
    /// Sequences in each part of a batch. Throws ValueError unless micro_batches divides batch.
    std::int64_t micro_batch_size() const;
    /// Micro-batches of a step: the leaves of its sum of gradients (gradient_sum.h).
    std::int64_t leaves_per_step() const { return accumulate * micro_batches; }
    /// Steps, clipping, evaluations, and a rate that rises and falls.
    TrainOptions loop() const;
};

template <>
struct FieldsOf<TrainingConfig> {
    using C = TrainingConfig;
    using Enums = Types<BatchOrder, RateCurve, Recipe, WeightType>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("recipe", &C::recipe, "Set of settings; options given explicitly override it");
        field("task", &C::task, "What is learned", {.choices = task_names});
        field(
            "text", &C::text,
            "UTF-8 text to train on: a file, a directory of files, or JSON Lines (*.jsonl), whose "
            "field \"text\" is a document");
        field("data", &C::data,
              "Data made by `tapestry tokenize`, instead of a text; or JSON Lines (*.jsonl) of "
              "conversations, {\"messages\": [{\"role\", \"content\"}]}, or of {\"prompt\", "
              "\"completion\"}, to fine-tune --model on the answers");
        field("chat_template", &C::chat_template,
              "Form of the conversations of --data FILE.jsonl: chatml, llama3, plain or a file "
              "*.jinja; default: that of --model's directory, or plain");
        field("chat_system", &C::chat_system,
              "System message of conversations without one, which may be \"\"; default: the "
              "template's");
        field("chat_system_empty", &C::chat_system_empty,
              "Conversations without a system message have an empty one",
              {.optional = true, .in_command = false, .option = "--chat-system"});
        field("test_fraction", &C::test_fraction,
              "Share of the text, at its end, that is kept for testing (`tapestry eval --split "
              "test`); it is taken from the tenth held out for validation",
              {.low = 0, .high = 0.1});
        field("start", &C::start, "Start from this model's weights instead of random ones",
              {.option = "--model"});
        field("start_hash", &C::start_hash, "Checksum of that model's weights, with --lora",
              {.optional = true, .in_command = false});
        field("start_place", &C::start_place, "Where that model was, absolute, with int8 weights",
              {.optional = true, .in_command = false});
        field("sequence", &C::sequence,
              "Tokens per training sequence, at most the model's context; 0: all of it; with "
              "--model, --context is the same",
              {.low = 0});
        field("train_only", &C::train_only,
              "Train only these parameters or modules (blocks.3, or GPT-2's h.3), freeze all "
              "others");
        list_lora(field);
        field("batch", &C::batch, "Sequences per batch", {.low = 1});
        field("order", &C::order,
              "Choice of sequences: anywhere in the text (random), or each once per epoch, in "
              "random order (epoch)");
        field("accumulate", &C::accumulate, "Batches per step", {.low = 1});
        field("micro_batches", &C::micro_batches,
              "Parts that a batch is split into, whose gradients are computed separately and "
              "summed in a fixed tree",
              {.low = 1});
        list_schedule(field);
        list_optimizer(field);
        field("clip", &C::clip, "Clip the gradient to this norm; 0: do not clip",
              {.low = 0, .high = 1e12});
        field("eval_every", &C::eval_every, "Steps between evaluations; 0: none", {.low = 0});
        field("eval_batches", &C::eval_batches, "Batches per evaluation", {.low = 1});
        field("seed", &C::seed, "Seed for all random numbers");
    }

private:
    template <class Visitor>
    static constexpr void list_lora(const Visitor& field) {
        field("lora", &C::lora,
              "Fine-tune --model by LoRA: freeze it, and train updates of this rank of some of its "
              "matrices; 0: off",
              {.low = 0, .high = 65536});
        field("lora_alpha", &C::lora_alpha, "Factor of LoRA's updates, times their rank",
              {.low = kSmallestAlpha, .high = 1e6});
        field("lora_dropout", &C::lora_dropout, "Dropout on the inputs of LoRA's updates",
              {.low = 0, .high = 0.99});
        field("lora_targets", &C::lora_targets,
              "Matrices that LoRA updates: query, key, value, output, gate, up, down, head, or "
              "q_proj, c_attn, ...; default: query and value, or a GPT's qkv");
        field("lora_rank_stabilized", &C::lora_rank_stabilized,
              "Scale LoRA's updates by alpha / sqrt(rank) instead of alpha / rank");
        field("frozen_weights", &C::frozen_weights,
              "Type of the weights that LoRA freezes; as --weights int8",
              {.optional = true, .in_command = false});
    }
    static constexpr double kSmallestAlpha = 1e-6;

    template <class Visitor>
    static constexpr void list_schedule(const Visitor& field) {
        field("steps", &C::steps, "Optimiser steps", {.low = 1});
        field("minutes", &C::minutes,
              "Train for this long, evaluations included; the learning rate falls with the time "
              "that has passed, and --steps, if given, is the maximum; 0: no limit",
              {.low = 0, .high = 1e6});
        field("optimizer", &C::optimizer,
              "Optimiser; its options and their defaults are listed below",
              {.choices = optimizer_names});
        field("lr", &C::lr, "Learning rate after the warm-up", {.low = 0, .high = 1000});
        field("min_lr", &C::min_lr, "Learning rate at the end", {.low = 0, .high = 1000});
        field("warmup", &C::warmup, "Warm-up steps until the learning rate is reached", {.low = 0});
        field("schedule", &C::schedule,
              "Learning rate decay: along a cosine, or linearly at the end (trapezoid)");
        field("cooldown", &C::cooldown, "Share of the steps in which the trapezoid decays",
              {.low = 0, .high = 1});
    }

    template <class Visitor>
    static constexpr void list_optimizer(const Visitor& field) {
        field("muon_lr", &C::muon_lr, "Muon's learning rate, as a multiple of the others'",
              {.low = 0, .high = 1000});
        field("muon_momentum", &C::muon_momentum, "Muon's momentum",
              {.low = 0.000001, .high = 0.999999});
        field("muon_iterations", &C::muon_iterations, "Newton-Schulz iterations per Muon step",
              {.low = 1, .high = 100});
        field("weight_decay", &C::weight_decay, "Weight decay, applied to matrices only",
              {.low = 0, .high = 1000});
        field("beta1", &C::beta1, "Decay rate of the mean of gradients",
              {.low = 0, .high = 0.999999});
        field("beta2", &C::beta2,
              "Decay rate of Adam's mean of squares, or of the mean that Lion stores",
              {.low = 0, .high = 0.999999});
        field("eps", &C::eps, "Epsilon added to the root that a step is divided by",
              {.low = 0, .high = 1});
        field("momentum", &C::momentum, "Momentum of SGD and RMSprop",
              {.low = 0, .high = 0.999999});
        field("nesterov", &C::nesterov, "Use Nesterov momentum in SGD");
        field("alpha", &C::alpha, "Decay rate of RMSprop's mean of squares",
              {.low = 0, .high = 0.999999});
        field("centered", &C::centered, "Divide by the standard deviation in RMSprop");
    }
};

/// The file or directory that the configuration learns from: `data`, or else `text`.
const std::string& data_name(const TrainingConfig& config);

/// Throws ValueError for a file or directory whose name is not UTF-8: JSON, in which a checkpoint
/// keeps it, knows no other, and it could not be found again.
void check_names(const TrainingConfig& config);

/// Throws ValueError for a size of which there must be at least one, and for steps of more tokens
/// than can be counted.
void check_counts(const TrainingConfig& config);

/// A JSON object: the fields by name, in "model" those of the model, and in "kind"
/// its kind, unless it is a GPT. Throws as check_names does.
std::string to_json(const TrainingConfig& config);

/// The reverse; fields that are missing have their defaults. Throws IoError in the name of `what`
/// for another type of value, for sizes that check_counts refuses, or what is no JSON object.
TrainingConfig training_config_from_json(std::string_view json, std::string what);

// ---- recipes ------------------------------------------------------------------------------------

// Settings that go together under a name: what `tapestry train --recipe` begins with.
//
//     TrainingConfig config = settings_of(Recipe::fast);
//     config.text = "input.txt";
//     Session session(config);
//
// Read next: examples/school/experiments/speedrun.cpp, what each of them is worth.

/// A whole configuration, but for the text.
TrainingConfig settings_of(Recipe recipe);

/// Puts the settings of config.recipe, and of config.optimizer if that is given, into all fields
/// but those whose names are `given`, the model's among them, and `recipe` itself. A min_lr that is
/// not given stays below a small lr, in the recipe's proportion.
void fill_in_recipe(TrainingConfig& config, const std::vector<std::string>& given);

/// Gives a GPT's fields that are not `given` values that GPT-2's format has, and adds them to
/// `given`: call it before fill_in_recipe(). Throws ValueError for another kind of model, and if a
/// given field prevents an export (nn/io/hugging_face.h).
void make_exportable(TrainingConfig& config, std::vector<std::string>& given);

// ---- kinds of model -----------------------------------------------------------------------------

/// Whether a field of a model's configuration is an option of training. The vocabulary is the
/// text's, and some fields only describe models that others have trained.
bool is_model_option(std::string_view field);

/// A configuration of this kind with its defaults, except for the fields `given`: these are copied
/// from the first of `models` that has a field of that name. So kinds share the options of the
/// command line. Throws ValueError for an unknown kind.
ModelConfig model_of_kind(std::string_view kind, const std::vector<ModelConfig>& models,
                          const std::vector<std::string>& given);

/// Throws ValueError, naming the options there are, if one of the fields `given` is of other kinds
/// of model only.
void check_model_options_given(const ModelConfig& model, const std::vector<std::string>& given);

/// The name of the first kind of model for a task. Throws ValueError if there is none.
std::string kind_for_task(std::string_view task);

/// For help: each kind of model with its options and defaults.
std::string models_text();

// ---- random numbers -----------------------------------------------------------------------------

// The random numbers of a training, in streams with names. What is drawn from one does not depend
// on what is drawn from another: evaluating more often changes no weight, and the same seed for
// everything ties nothing together.

/// Those that every training has; others have names of their own (`stream` in core/random.h).
/// Dropout draws from `weights`, after the weights at the start.
enum class Stream : std::uint64_t {
    weights,     ///< initial weights, then dropout
    batches,     ///< training batches
    evaluation,  ///< evaluation batches
    samples      ///< sampled text
};

/// The stream's generator at its beginning. Its key is 4 seed + 0 .. 3, modulo 2^64, as it has been
/// since the first trainings: with another, the same seed would give another model.
Generator stream(std::uint64_t seed, Stream name);

// ---- the optimiser ------------------------------------------------------------------------------

/// Changes the optimiser: sets its options to their defaults and multiplies the configuration's
/// learning rates by the ratio of the two optimisers' default rates. Does nothing if the
/// configuration already has this optimiser.
void set_optimizer(TrainingConfig& config, std::string_view name);

/// The options of the configuration's optimiser, with their values.
OptimizerOptions optimizer_options(const TrainingConfig& config);

/// Makes the configuration's optimiser for the model's parameters that are not frozen.
std::unique_ptr<Optimizer> make_optimizer(const Module& model, const TrainingConfig& config);

/// Whether this field of TrainingConfig is an option of other optimisers but not of this one.
bool is_foreign_option(std::string_view optimizer, std::string_view field);

/// Throws ValueError, naming the options there are, if one of the fields `given` is foreign.
void check_options_given(std::string_view optimizer, const std::vector<std::string>& given);

/// For help: each optimiser with its options and defaults.
std::string optimizers_text();

}  // namespace tapestry
