// tapestry train: a GPT on a text, from the beginning or from a model's weights (run_training.cpp).
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/command_line.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/examples/cli/run_training.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/nn/train/named_settings.h>

#include <fmt/core.h>

#include <charconv>
#include <memory>
#include <string>

namespace tapestry::cli {
namespace {

// "500" steps or "30s"; "0" is never. Returns what is wrong with it, or nothing.
std::string read_interval(const std::string& text, CheckpointOptions& to) {
    const bool seconds = text.ends_with('s');
    const char* end = text.data() + text.size() - (seconds ? 1 : 0);
    std::int64_t number = -1;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || number < 0 || number > 1000000000) {
        return fmt::format("'{}' is neither a number of steps (500) nor of seconds (30s)", text);
    }
    to.written = number > 0;
    to.every_steps = seconds ? 0 : number;
    to.every_seconds = seconds ? static_cast<double>(number) : 0;
    return {};
}

void add_checkpoint_options(Options& o, TrainSettings& s) {
    CheckpointOptions& checkpoints = s.options.checkpoints;
    o.flag("--resume", s.run.resume,
           "Go on in OUT after its latest checkpoint, or begin if there is none");
    o.texts("--override", s.run.overrides,
            "With --resume: what may differ from before (lr, batch, isa, version, data, ...)");
    Option fork =
        o.text("--fork", s.run.fork, "Go on in OUT from a step of the run in this directory");
    Option step =
        o.count("--step", s.run.step, "With --fork: after which; 0 is the beginning", {0});
    fork.needs(step).excludes(o.option("--resume")).excludes(o.option("--recipe"));
    step.needs(fork).without_default();
    o.text("--checkpoint-every", s.interval,
           "Steps between checkpoints, or seconds (30s); 0: none. Without it: at evaluations")
        .check("STEPS|SECONDSs", [&checkpoints](const std::string& text) {
            return read_interval(text, checkpoints);
        });
    o.count("--keep", checkpoints.keep, "Checkpoints that stay, to go on from");
    o.flag("--best", checkpoints.best,
           "Keep the best by its validation loss as well, its model in OUT/best");
    o.number("--rewind-budget", s.rewind_megabytes, 0, 1e9,
             "MB for states at equal distances, for `tapestry rewind`");
}

// Why weights of this type do not learn; empty for those that do.
std::string read_weights(const std::string& type, ComputeType& to) {
    if (type == "int8") {
        return "int8 is for `tapestry sample`: a step changes a weight by less than lies between "
               "two such numbers, so that rounding would undo it";
    }
    to = type == "bf16" ? ComputeType::bf16 : ComputeType::f32;
    return type == name_of_value(to) ? "" : type + " is no type that weights learn in";
}

}  // namespace

void add_train(Options& app) {
    auto s = std::make_shared<TrainSettings>();
    s->threads = num_threads();
    TrainingConfig& config = s->run.config;
    Options& o = app.subcommand("train", "Train a GPT on a text");
    o.example("--text book.txt --out runs/book --steps 2000");
    add_fields(o, config, {"recipe", "text", "data"});
    o.option("--text").excludes(o.option("--data"));
    o.require_any({"--text", "--data", "--resume", "--fork"});
    o.text("--out", s->run.out, "Directory for the model").required();
    add_fields(o, config, {"start", "train_only"});
    add_fields(o, config.model,
               {"context", "layers", "heads", "kv_heads", "dim", "hidden", "activation",
                "positions", "rotary_base", "rotary_share", "qk_norm", "bias", "tied_head",
                "deviation", "zero_outputs", "earlier", "pairs", "softcap"});
    exclude_fields<GPTConfig>(o, o.option("--model"));
    add_fields(o, config.model, {"dropout", "compute"});
    o.text("--weights", s->weights, "What weights, gradients and moments are kept in: f32 or bf16")
        .check("{f32,bf16}", [&](auto& type) { return read_weights(type, config.model.weights); });
    add_other_fields(o, config);
    add_checkpoint_options(o, *s);
    o.threads(s->threads);
    o.flag("--plan", s->plan, "Steps that are alike lie in one piece of memory");
    o.number("--timeout", s->timeout, 0, 1e6,
             "Under mpirun: seconds after which a process that does not answer ends all; 0: never");
    o.flag("--show-samples", s->show_samples, "Print what the model writes before and after");
    o.flag("--trap-nan", s->options.trap_nan,
           "If a step gives NaN or infinity, say where it came from and save the step in OUT/trap "
           "for `tapestry replay`");
    o.count("--hash-every", s->options.hash_every,
            "Steps between checksums of all gradients in metrics.jsonl; 0: none", {0});
    o.flag("--no-report", s->no_report, "Do not write report.html, which shows the training");
    add_no_cache(o, s->no_cache);
    o.run([s, &o] {
        RunRequest& run = s->run;
        if (o.given("--dropout")) run.config.start_dropout = run.config.model.dropout;
        run.given = given_fields<TrainingConfig>(o);
        const auto of_model = given_fields<GPTConfig>(o);
        run.given.insert(run.given.end(), of_model.begin(), of_model.end());
        fill_in_recipe(run.config, run.given);
        s->options.report = !s->no_report;
        s->options.checkpoints.rewind_budget = 1e6 * s->rewind_megabytes;
        s->options.recipe = recipe_of(o);
        if (s->options.checkpoints.written) {
            s->options.recipe.rewind = "tapestry rewind " + quoted_for_shell(run.out);
        }
        return run_training(*s);
    });
}

}  // namespace tapestry::cli
