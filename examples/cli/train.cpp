// tapestry train: trains a language model on a text, from scratch or from a model's weights; under
// mpirun, several processes train it together. This file has the options; train_run.h runs it.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/cli/train_run.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/nn/data/questions.h>
#include <tapestry/nn/data/text_pairs.h>
#include <tapestry/nn/distributed/mpi.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/nn/train/training_config.h>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace tapestry::cli {
namespace {

void add_checkpoint_options(Options& o, TrainSettings& s) {
    CheckpointOptions& checkpoints = s.options.checkpoints;
    o.flag("--resume", s.run.resume,
           "Resume in OUT from its latest checkpoint, or start if there is none");
    o.flag("--overwrite", s.run.overwrite, "Start a new run in OUT, replacing the one there")
        .excludes(o.option("--resume"));
    o.texts(
        "--override", s.run.overrides,
        "With --resume: settings that may differ from before (lr, batch, isa, version, data, ...)");
    Option fork = o.text("--fork", s.run.fork, "Continue the run in this directory in OUT");
    Option step =
        o.count("--step", s.run.step, "With --fork: step to continue after; 0: the beginning", {0});
    fork.needs(step).excludes(o.option("--resume")).excludes(o.option("--recipe"));
    step.needs(fork).without_default();
    o.text("--checkpoint-every", s.interval,
           "Steps between checkpoints, or seconds (30s); 0: none; default: at evaluations")
        .check("500|30s", [&checkpoints](const std::string& text) {
            return read_interval(text, checkpoints);
        });
    o.count("--keep", checkpoints.keep, "Number of checkpoints to keep");
    o.number("--wait-for-disk", s.wait_for_disk, 0, kForever,
             "Seconds to wait for space on a full disk at the end, then exit code 2 and the last "
             "checkpoint; default: until there is space")
        .without_default();
    o.flag("--best", checkpoints.best,
           "Also keep the model with the lowest validation loss, in OUT/best");
    o.number("--rewind-budget", s.rewind_megabytes, 0, 1e9,
             "Disk budget in MB for evenly spaced states, for `tapestry rewind`; default: ten "
             "checkpoints, at most 400 MB")
        .without_default();
}

void read_checkpoints(const Options& o, TrainSettings& s) {
    CheckpointOptions& checkpoints = s.options.checkpoints;
    require(!checkpoints.best || s.run.config.eval_every > 0,
            "train: --best chooses by validation losses, and --eval-every 0 takes none");
    for (const char* name : {"--keep", "--rewind-budget"}) {
        require(checkpoints.written || !o.given(name),
                "train: {} is about checkpoints, and --checkpoint-every 0 writes none", name);
    }
    if (o.given("--rewind-budget")) checkpoints.rewind_budget = 1e6 * s.rewind_megabytes;
}

// Options for the fields of all kinds of model, which share those of the same name.
void add_models(Options& o, TrainSettings& s) {
    const Option kind = o.choice("--kind", s.kind, model_names(),
                                 "Kind of model; each has the options listed below");
    for (const ModelRow& row : model_rows()) s.models.push_back(row.defaults);
    for (ModelConfig& one : s.models) {
        std::visit(
            [&](auto& model) {
                add_other_fields(o, model, [](std::string_view field) {
                    return is_model_option(field) && field != "dropout" && field != "compute" &&
                           field != "weights" && field != "context" && field != "recompute";
                });
                exclude_fields<std::decay_t<decltype(model)>>(o, o.option("--model"));
            },
            one);
    }
    o.option("--model").excludes(kind);
    auto& first = std::get<0>(s.models.front());
    add_fields(o, first, {"context", "dropout", "recompute", "compute"});
    o.text(
         "--weights", s.weights,
         "Type of weights, gradients and moments: f32 or bf16; int8: of those that --lora freezes")
        .check("{f32,bf16,int8}", [&](auto& type) {
            const bool is_int8 = type == name_of_value(WeightType::int8);
            s.run.config.frozen_weights = is_int8 ? WeightType::int8 : WeightType::f32;
            return is_int8 ? std::string() : read_weights(type, first.weights);
        });
}

// Options whose files say the task.
struct FilesOption {
    const char* name;
    const char* task;
    std::string TrainSettings::*files;
};
constexpr FilesOption kFiles[] = {{"--pairs", "translate", &TrainSettings::pairs},
                                  {"--images", "image", &TrainSettings::images},
                                  {"--questions", "answer", &TrainSettings::questions},
                                  {"--table", "table", &TrainSettings::table}};

bool files_say_task(const Options& o) {
    return std::any_of(std::begin(kFiles), std::end(kFiles),
                       [&](const FilesOption& one) { return o.given(one.name); });
}

// Sets the task if the files determine it.
void read_task(const Options& o, TrainSettings& s) {
    RunRequest& run = s.run;
    for (const FilesOption& one : kFiles) {
        if (!o.given(one.name)) continue;
        require(!o.given("--task") || run.config.task == one.task,
                "train: {} is for --task {}, got {}", one.name, one.task, run.config.task);
        run.config.text = s.*one.files;
        run.config.task = one.task;
        run.given.emplace_back("text");
        if (!o.given("--task")) run.given.emplace_back("task");
        return;
    }
    if (o.given("--task") || o.given("--kind")) return;
    const bool are_pairs = names_source_and_target(run.config.text);
    const bool are_questions = !are_pairs && names_passage_and_question(run.config.text);
    if (!are_pairs && !are_questions) return;
    run.config.task = are_pairs ? "translate" : "answer";
    if (!run.resume && run.fork.empty()) run.given.emplace_back("task");
    if (launched_rank() > 0) return;
    say(fmt::format("{} has the columns {}: --task {} (--task text reads it as a text)\n",
                    utf8::printable(run.config.text),
                    are_pairs ? "source and target" : "passage and question", run.config.task));
}

// The option that names the examples of the task that was given.
std::string wanted_files(const Options& o, const TrainSettings& s) {
    if (!o.given("--task") && !o.given("--kind")) return "--text";
    const char* const task = o.given("--task") ? s.run.config.task.c_str() : model_row(s.kind).task;
    return task_row(task).files;
}

// The model's configuration, and what was given on the command line.
void read_models(const Options& o, TrainSettings& s) {
    RunRequest& run = s.run;
    std::vector<std::string> of_models;
    for (const ModelConfig& one : s.models) {
        std::visit(
            [&](const auto& model) {
                const auto more = given_fields<std::decay_t<decltype(model)>>(o);
                of_models.insert(of_models.end(), more.begin(), more.end());
            },
            one);
    }
    if (!o.given("--kind")) {
        const bool is_known = o.given("--task") || run.config.task != "text";
        const bool continues = run.resume || !run.fork.empty();
        s.kind =
            continues && !is_known ? kind_with_fields(of_models) : kind_for_task(run.config.task);
    }
    run.config.set_model(model_of_kind(s.kind, s.models, of_models));
    if (o.given("--weights")) run.given.emplace_back("frozen_weights");
    if (o.given("--dropout")) run.config.start_dropout = std::get<0>(s.models.front()).dropout;
    if (o.given("--model") && o.given("--context")) {  // the model keeps its own
        const std::int64_t context = std::get<0>(s.models.front()).context;
        require(!o.given("--sequence") || run.config.sequence == context,
                "train: with --model, --context {} means --sequence {}, and --sequence is {}",
                context, context, run.config.sequence);
        run.config.sequence = context;
        run.given.emplace_back("sequence");
        std::erase(of_models, "context");
    }
    if (o.given("--kind")) run.given.emplace_back("kind");
    if (o.given("--kind") && !o.given("--task") && !files_say_task(o)) {
        run.config.task = model_row(s.kind).task;
        run.given.emplace_back("task");
    }
    run.given.insert(run.given.end(), of_models.begin(), of_models.end());
}

// The options that name what to learn from; `s` lives as long as they.
void add_files(Options& o, const std::shared_ptr<TrainSettings>& s) {
    o.text("--pairs", s->pairs,
           "File of pairs to learn from, SOURCE<tab>TARGET in each line, or .jsonl with \"source\" "
           "and \"target\"; means --task translate");
    o.text("--images", s->images,
           "Images by class: a directory with a folder per class (PNG, JPEG, PGM, PPM), a .csv or "
           ".tsv (label and pixels), or an IDX file, as MNIST's; means --task image");
    o.text("--questions", s->questions,
           "Questions about passages, PASSAGE<tab>QUESTION<tab>ANSWER in each line, or .jsonl with "
           "\"passage\", \"question\" and \"answer\"; means --task answer");
    o.text("--table", s->table,
           "Table to learn from, a .csv or .tsv whose first line names its columns; means --task "
           "table");
    const std::vector<const char*> files{"--text",   "--data",      "--pairs",
                                         "--images", "--questions", "--table"};
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) o.option(files[i]).excludes(o.option(files[j]));
    }
    o.require_any(
        {"--text", "--data", "--pairs", "--images", "--questions", "--table", "--resume", "--fork"},
        [s, &o] { return wanted_files(o, *s); });
}

}  // namespace

void add_train(Options& app) {
    auto s = std::make_shared<TrainSettings>();
    s->threads = num_threads();
    TrainingConfig& config = s->run.config;
    Options& o = app.subcommand("train",
                                "Train a language model on a text, a classifier, a translator, or "
                                "a model of another task");
    o.example("--text book.txt --out runs/book --steps 2000",
              "Tasks:\n" + tasks_text() + "Optimisers, their options and defaults:\n" +
                  optimizers_text() + "Kinds of model, their options and defaults:\n" +
                  models_text());
    add_fields(o, config, {"recipe", "task", "text", "data", "chat_template", "chat_system"});
    add_files(o, s);
    o.text("--out", s->run.out, "Directory for the model").required();
    add_fields(o, config, {"start", "train_only"});
    add_models(o, *s);
    add_other_fields(o, config);
    add_checkpoint_options(o, *s);
    o.threads(s->threads);
    o.flag("--plan", s->plan, "Reuse one block of memory for repeated steps");
    o.number("--timeout", s->timeout, 0, 1e6,
             "Under mpirun: end all processes if any is silent for this many seconds; 0: never");
    o.flag("--show-samples", s->show_samples,
           "Print what the model writes before and after training");
    o.flag("--trap-nan", s->options.trap_nan,
           "If a step gives NaN or infinity, report where it came from and save the step in "
           "OUT/trap for `tapestry replay`");
    o.count("--hash-every", s->options.hash_every,
            "Steps between checksums of all gradients in metrics.jsonl; 0: none", {0});
    o.flag("--no-report", s->no_report, "Do not write the training report, report.html");
    add_no_cache(o, s->no_cache);
    o.flag("--exportable", s->exportable,
           "Train a GPT that `tapestry export` can write, whatever the recipe says: learned "
           "positions, no tables of earlier tokens, no norms of queries and keys")
        .excludes(o.option("--model"))
        .excludes(o.option("--resume"))
        .excludes(o.option("--fork"));
    group_train_options(o);
    o.run([s, &o] {
        RunRequest& run = s->run;
        run.given = given_fields<TrainingConfig>(o);
        run.config.chat_system_empty = o.given("--chat-system") && run.config.chat_system.empty();
        read_task(o, *s);
        read_models(o, *s);
        if (s->exportable) make_exportable(run.config, run.given);
        fill_in_recipe(run.config, run.given);
        read_checkpoints(o, *s);
        s->options.report = !s->no_report;
        s->options.recipe = recipe_of(o);
        if (s->options.checkpoints.written) {
            s->options.recipe.rewind = "tapestry rewind " + quoted_for_shell(run.out);
        }
        return run_training(*s);
    });
}

}  // namespace tapestry::cli
