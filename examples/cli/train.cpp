// tapestry train: a GPT from a text file, from the beginning or from a model's weights. What it
// does is in nn/train/training_run.cpp.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/announce.h>
#include <tapestry/examples/cli/command_line.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/config_options.h>
#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/progress.h>
#include <tapestry/examples/cli/text_cache.h>
#include <tapestry/nn/train/training_run.h>

#include <fmt/core.h>

#include <cstdio>
#include <memory>

namespace tapestry::cli {
namespace {

struct TrainSettings {
    TrainingConfig config;
    std::string out;
    int threads = num_threads();
    bool show_samples = false;
    bool trap_nan = false;
    bool no_report = false;
    bool no_cache = false;
};

void conclude(const TrainingResult& result, const std::string& out) {
    const std::string val = result.val_loss ? fmt::format("{:.4f}", *result.val_loss) : "not taken";
    const std::string speed = fmt::format("{:.0f} tokens/s, {:.0f}% of the peak",
                                          result.tokens_per_second, 100 * result.share);
    say(fmt::format("{} steps in {} ({}): loss {:.4f}, validation loss {}\n", result.last.step,
                    clock_text(result.last.seconds), speed, result.last.loss, val));
    say(fmt::format("saved in {}{}{}\n{}", out, result.concern.empty() ? "" : ", but ",
                    result.concern, result.report));
}

int run_train(const TrainSettings& s, const TrainingRecipe& recipe) {
    set_num_threads(s.threads);
    const auto cache = s.no_cache ? nullptr : user_text_cache();
    Session session(s.config, cache.get());
    Progress progress(s.config.steps);
    TrainingRunOptions options{
        .out = s.out, .report = !s.no_report, .trap_nan = s.trap_nan, .recipe = recipe};
    options.stepped = [&progress](const StepMetrics& metrics, const Speed& speed) {
        progress.show(metrics, speed);
        return !interrupted();
    };
    options.warn = [&progress](const std::string& message) {
        progress.finish();
        say(fmt::format("tapestry: the report: {}\n", message), stderr);
    };
    TrainingRun run(session, std::move(options));
    announce(session, s.show_samples);
    catch_interrupts();
    catch_lost_reader();
    const TrainingResult result = run.to_the_end();
    progress.finish();
    if (s.show_samples && !result.interrupted) {
        say(fmt::format("\nafter training: it writes\n{}\n\n", session.sample(300)));
    }
    conclude(result, s.out);
    return result.interrupted ? kInterrupted : kSuccess;
}

}  // namespace

void add_train(Options& app) {
    auto s = std::make_shared<TrainSettings>();
    Options& o = app.subcommand("train", "Train a GPT on a text");
    add_fields(o, s->config, {"text", "data"});
    o.option("--text").excludes(o.option("--data"));
    o.require_any({"--text", "--data"});
    o.text("--out", s->out, "Directory for the model").required();
    add_fields(o, s->config, {"start", "train_only"});
    add_fields(o, s->config.model, {"context", "layers", "heads", "dim"});
    for (const char* shape : {"--layers", "--heads", "--dim", "--context"}) {
        o.option("--model").excludes(o.option(shape));
    }
    add_fields(o, s->config.model, {"dropout"});
    add_fields(
        o, s->config,
        {"test_fraction", "batch", "order", "accumulate", "micro_batches", "steps", "lr", "min_lr",
         "warmup", "weight_decay", "beta2", "clip", "eval_every", "eval_batches", "seed"});
    o.threads(s->threads);
    o.flag("--show-samples", s->show_samples, "Print what the model writes before and after");
    o.flag("--trap-nan", s->trap_nan,
           "If a step gives NaN or infinity, say where it came from and save the step in OUT/trap "
           "for `tapestry replay`");
    o.flag("--no-report", s->no_report,
           "Do not write report.html, the page that shows the training");
    add_no_cache(o, s->no_cache);
    o.run([s, &o] {
        if (o.given("--dropout")) s->config.start_dropout = s->config.model.dropout;
        return run_train(*s, recipe_of(o));
    });
}

}  // namespace tapestry::cli
