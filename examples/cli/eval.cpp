// tapestry eval: how well a trained model predicts a text or a sequence of token ids.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/evaluate.h>

namespace tapestry::cli {
namespace {

struct EvalSettings {
    TrainingConfig config;  ///< model, text and data
    std::string tokens;
    Split split = Split::all;
    EvaluateOptions options{.batches = 200, .batch = 12};
    int threads = num_threads();
    bool json = false;
};

int eval_classifier(const EvalSettings& s) {
    require(!s.config.text.empty(), "eval: a classifier needs --text, a file with labels");
    require(
        s.split == Split::all,
        "eval: --split is for language models; a classifier is measured on all texts of --text");
    const std::unique_ptr<ClassifyTask> task = load_classify_task(s.config.start);
    const ClassificationScores scores =
        task->score(read_labelled_texts(s.config.text, task->labels()));
    s.json ? print_json(to_json(scores)) : print("{}", to_text(scores, s.config.text));
    return kSuccess;
}

int run_eval(const EvalSettings& s) {
    set_num_threads(s.threads);
    if (s.tokens.empty() && model_kind(s.config.start) == ModelKind::classifier) {
        return eval_classifier(s);
    }
    const Evaluation one = s.tokens.empty()
                               ? evaluate_on_text(s.config, s.split, s.options, s.config.seed)
                               : evaluate_on_tokens(s.config.start, s.tokens);
    s.json ? print_json(to_json(one)) : print("{}\n", to_text(one));
    return kSuccess;
}

}  // namespace

void add_eval(Options& app) {
    auto s = std::make_shared<EvalSettings>();
    Options& o = app.subcommand(
        "eval", "Measure a trained model on a text: its loss, a classifier's accuracy");
    o.example("--model runs/book --text other.txt");
    add_model_directory(o, s->config.start);
    Option text =
        o.text("--text", s->config.text, "UTF-8 text; for a classifier a file with labels");
    const Option data =
        o.text("--data", s->config.data, "Data made by `tapestry tokenize`, instead of a text");
    Option tokens = o.text("--tokens", s->tokens,
                           "A file of token ids instead of a text, evaluated completely in windows "
                           "of the model's context");
    const Option batches =
        o.count("--batches", s->options.batches, "Random batches of 12 sequences");
    const Option split = add_choice(
        o, "--split", s->split,
        "Part of the text: for training, for validation, kept for testing, or all of it");
    o.number("--test-fraction", s->config.test_fraction, 0, 0.1,
             "--test-fraction of the training run");
    text.excludes(data);
    tokens.excludes(text).excludes(data).excludes(batches).excludes(split);
    o.require_any({"--text", "--data", "--tokens"});
    o.seed(s->config.seed, "Seed for choosing the sequences");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return run_eval(*s); });
}

}  // namespace tapestry::cli
