// tapestry train: a GPT from a text file, from the beginning or from a model's weights. What it
// does is in training.cpp.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/train_report.h>
#include <tapestry/examples/cli/training.h>

#include <memory>

namespace tapestry::cli {
namespace {

void add_training_options(Options& o, TrainSettings& s) {
    o.count("--steps", s.loop.steps, "Optimiser steps");
    o.number("--lr", s.schedule.rate, 0, 1000, "Learning rate after the warm-up");
    o.number("--min-lr", s.schedule.min_rate, 0, 1000, "Learning rate at the end");
    o.count("--warmup", s.schedule.warmup, "Steps until the learning rate is reached", {0});
    o.number("--weight-decay", s.weight_decay, 0, 1000, "AdamW's, on matrices only");
    o.number("--beta2", s.beta2, 0, 0.999999, "AdamW's second decay rate");
    o.number("--clip", s.loop.clip, 0, 1e12, "Largest norm of the gradient; 0: do not clip");
    o.number("--dropout", s.model.dropout, 0, 0.99, "Probability with which a number is dropped");
    o.count("--accumulate", s.loop.accumulate, "Batches per step");
    o.count("--eval-every", s.loop.eval_every, "Steps between evaluations; 0: none", {0});
    o.count("--eval-batches", s.eval_batches, "Batches per evaluation");
    o.seed(s.seed, "Of all random numbers");
}

}  // namespace

void add_train(Options& app) {
    auto settings = std::make_shared<TrainSettings>();
    Options& o = app.subcommand("train", "Train a GPT on a text file");
    o.text("--text", settings->text, "UTF-8 text to learn from").required();
    o.text("--out", settings->out, "Directory for the model").required();
    Option start = o.text("--model", settings->start,
                          "Go on from this model's weights instead of random ones");
    add_model_options(o, settings->model, settings->batch);
    for (const char* shape : {"--layers", "--heads", "--dim", "--context"}) {
        start.excludes(o.option(shape));
    }
    add_training_options(o, *settings);
    o.threads(settings->threads);
    o.flag("--show-samples", settings->show_samples,
           "Print what the model writes before and after");
    o.flag("--trap-nan", settings->trap_nan,
           "If a step gives NaN or infinity, say where it came from and save the step in "
           "OUT/trap for `tapestry replay`");
    o.flag("--no-report", settings->no_report,
           "Do not write report.html, the page that shows the training");
    o.run([settings, &o] {
        settings->recipe = recipe_of(o);
        settings->dropout_given = o.given("--dropout");
        return run_training(*settings);
    });
}

}  // namespace tapestry::cli
