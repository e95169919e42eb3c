// tapestry train: a GPT from a text file, from the beginning or from a model's weights. What it
// does is in training.cpp.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/train_report.h>
#include <tapestry/examples/cli/training.h>

#include <memory>

namespace tapestry::cli {
namespace {

void add_training_options(CLI::App& command, TrainSettings& s) {
    const CLI::Validator rate = number_in(0, 1000);
    command.add_option("--steps", s.loop.steps, "Optimiser steps")
        ->capture_default_str()
        ->check(count_from(1));
    command.add_option("--lr", s.schedule.rate, "Learning rate after the warm-up")
        ->capture_default_str()
        ->check(rate);
    command.add_option("--min-lr", s.schedule.min_rate, "Learning rate at the end")
        ->capture_default_str()
        ->check(rate);
    command.add_option("--warmup", s.schedule.warmup, "Steps until the learning rate is reached")
        ->capture_default_str()
        ->check(count_from(0));
    command.add_option("--weight-decay", s.weight_decay, "AdamW's, on matrices only")
        ->capture_default_str()
        ->check(rate);
    command.add_option("--beta2", s.beta2, "AdamW's second decay rate")
        ->capture_default_str()
        ->check(number_in(0, 0.999999));
    command.add_option("--clip", s.loop.clip, "Largest norm of the gradient; 0: do not clip")
        ->capture_default_str()
        ->check(number_in(0, 1e12));
    command.add_option("--dropout", s.model.dropout, "Probability with which a number is dropped")
        ->capture_default_str()
        ->check(number_in(0, 0.99));
    command.add_option("--accumulate", s.loop.accumulate, "Batches per step")
        ->capture_default_str()
        ->check(count_from(1));
    command.add_option("--eval-every", s.loop.eval_every, "Steps between evaluations; 0: none")
        ->capture_default_str()
        ->check(count_from(0));
    command.add_option("--eval-batches", s.eval_batches, "Batches per evaluation")
        ->capture_default_str()
        ->check(count_from(1));
    add_seed(command, s.seed, "Of all random numbers");
}

}  // namespace

void add_train(CLI::App& app, Run& run) {
    auto settings = std::make_shared<TrainSettings>();
    CLI::App& command = *app.add_subcommand("train", "Train a GPT on a text file");
    command.add_option("--text", settings->text, "UTF-8 text to learn from")->required();
    command.add_option("--out", settings->out, "Directory for the model")->required();
    CLI::Option* start = command.add_option(
        "--model", settings->start, "Go on from this model's weights instead of random ones");
    add_model_options(command, settings->model, settings->batch);
    for (const char* shape : {"--layers", "--heads", "--dim", "--context"}) {
        start->excludes(command.get_option(shape));
    }
    add_training_options(command, *settings);
    add_threads(command, settings->threads);
    command.add_flag("--show-samples", settings->show_samples,
                     "Print what the model writes before and after");
    command.add_flag("--trap-nan", settings->trap_nan,
                     "If a step gives NaN or infinity, say where it came from and save the step in "
                     "OUT/trap for `tapestry replay`");
    command.add_flag("--no-report", settings->no_report,
                     "Do not write report.html, the page that shows the training");
    const CLI::Option* dropout = command.get_option("--dropout");
    command.callback([settings, dropout, &command, &run] {
        settings->recipe = recipe_of(command);
        settings->dropout_given = dropout->count() > 0;
        run = [settings] { return run_training(*settings); };
    });
}

}  // namespace tapestry::cli
