// tapestry eval: how well a trained model predicts a text or a sequence of token ids.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/answer/answer_task.h>
#include <tapestry/nn/train/chat/chat_scores.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/image/image_task.h>
#include <tapestry/nn/train/mask/mask_task.h>
#include <tapestry/nn/train/table/table_task.h>
#include <tapestry/nn/train/translate/translate_task.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tapestry::cli {
namespace {

struct EvalSettings {
    TrainingConfig config;  ///< model, text and data
    std::string pairs, images, questions, table;
    std::string tokens;
    Split split = Split::all;
    EvaluateOptions options{.batches = 200, .batch = 12};
    TranslateOptions translate;
    BleuTokens bleu = BleuTokens::words;
    double threshold = 0.5;
    bool has_threshold = false;  ///< given
    int threads = num_threads();
    bool json = false;
};

template <class Scores>
int show_scores(const EvalSettings& s, const Scores& scores, const std::string& of) {
    s.json ? print_json(to_json(scores)) : print("{}", to_text(scores, of));
    return kSuccess;
}

int eval_chat(const EvalSettings& s) {
    return show_scores(s, evaluate_on_chat(s.config), s.config.data);
}

int eval_language_model(const EvalSettings& s) {
    const Evaluation one = s.tokens.empty()
                               ? evaluate_on_text(s.config, s.split, s.options, s.config.seed)
                               : evaluate_on_tokens(s.config.start, s.tokens);
    s.json ? print_json(to_json(one)) : print("{}\n", to_text(one));
    return kSuccess;
}

int eval_classifier(const EvalSettings& s) {
    const std::unique_ptr<ClassifyTask> task = load_classify_task(s.config.start);
    const bool several = task->has_several_labels();
    require(several || !s.has_threshold,
            "eval: --threshold is for a model of several labels; {} gives each text exactly one",
            utf8::printable(s.config.start));
    const LabelledTexts texts =
        read_labelled_texts(s.config.text, task->labels(), task->labels_per_text());
    const double least = several && !s.has_threshold ? task->threshold() : s.threshold;
    return several ? show_scores(s, task->score_sets(texts, least), s.config.text)
                   : show_scores(s, task->score(texts), s.config.text);
}

int eval_image_classifier(const EvalSettings& s) {
    const std::unique_ptr<ImageTask> task = load_image_task(s.config.start);
    return show_scores(s, task->score(task->read_by_class(s.images)), s.images);
}

int eval_masked(const EvalSettings& s) {
    const std::unique_ptr<MaskTask> task = load_mask_task(s.config.start);
    return show_scores(s, task->score(s.config, s.split, s.options, s.config.seed),
                       data_name(s.config));
}

int eval_translator(const EvalSettings& s) {
    const std::string& file = s.pairs.empty() ? s.config.text : s.pairs;
    const std::unique_ptr<TranslateTask> task = load_translate_task(s.config.start);
    return show_scores(s, task->score(read_text_pairs(file), s.translate, s.bleu), file);
}

int eval_answers(const EvalSettings& s) {
    const std::unique_ptr<AnswerTask> task = load_answer_task(s.config.start);
    return show_scores(s, task->score(read_questions(s.questions, AnswersRead::texts)),
                       s.questions);
}

int eval_table(const EvalSettings& s) {
    const std::unique_ptr<TableTask> task = load_table_task(s.config.start);
    const Table table = task->read(s.table, true);
    if (const std::string unknown = task->unknown_values(table); !unknown.empty()) warn(unknown);
    return task->labels().empty() ? show_scores(s, task->regression_scores(table), s.table)
                                  : show_scores(s, task->classification_scores(table), s.table);
}

/// How a kind of model is measured, and which options that reads in addition to --model, --threads
/// and --json; the first `files` of them name the examples, one of which must be given.
struct Measurement {
    ModelKind kind;
    const char* phrase;
    int (*run)(const EvalSettings& s);
    std::vector<const char*> options;
    std::size_t files = 1;
};

/// Conversations, which a language model answers.
const Measurement& chat_measurement() {
    static const Measurement chat{ModelKind::language_model,
                                  "a language model, and --data are conversations",
                                  eval_chat,
                                  {"--data", "--chat-template", "--chat-system"}};
    return chat;
}

const std::vector<Measurement>& measurements() {
    static const std::vector<Measurement> all{
        {ModelKind::language_model,
         "a language model",
         eval_language_model,
         {"--text", "--data", "--tokens", "--batches", "--split", "--test-fraction", "--seed"},
         3},
        {ModelKind::classifier, "a text classifier", eval_classifier, {"--text", "--threshold"}},
        {ModelKind::transformer,
         "an encoder-decoder",
         eval_translator,
         {"--pairs", "--text", "--beam", "--bleu-tokens"},
         2},
        {ModelKind::image_classifier, "an image classifier", eval_image_classifier, {"--images"}},
        {ModelKind::masked,
         "a model of masked tokens",
         eval_masked,
         {"--text", "--data", "--batches", "--split", "--test-fraction", "--seed"},
         2},
        {ModelKind::span_reader, "a model that points at answers", eval_answers, {"--questions"}},
        {ModelKind::table, "a network for tables", eval_table, {"--table"}}};
    return all;
}

int run_eval(EvalSettings& s, const Options& o) {
    s.has_threshold = o.given("--threshold");
    s.options.at_most_all = !o.given("--batches");
    s.config.chat_system_empty = o.given("--chat-system") && s.config.chat_system.empty();
    set_num_threads(s.threads);
    const ModelKind kind = model_kind(s.config.start);
    const auto& all = measurements();
    const bool is_chat = kind == ModelKind::language_model && s.config.is_chat();
    const Measurement& one =
        is_chat ? chat_measurement()
                : *std::find_if(all.begin(), all.end(),
                                [&](const Measurement& each) { return each.kind == kind; });
    const auto files = one.options.begin() + static_cast<std::ptrdiff_t>(one.files);
    const std::string examples = fmt::format("{}", fmt::join(one.options.begin(), files, " or "));
    for (const OptionValue& option : o.values()) {
        const bool is_for_all =
            option.name == "--model" || option.name == "--threads" || option.name == "--json";
        const bool is_read = is_for_all || std::find(one.options.begin(), one.options.end(),
                                                     option.name) != one.options.end();
        require(is_read || !option.given, "eval: {} is {}, measured on {}; {} does not apply",
                utf8::printable(s.config.start), one.phrase, examples, option.name);
    }
    require(
        std::any_of(one.options.begin(), files, [&](const char* file) { return o.given(file); }),
        "eval: {} is {}; it needs {}", utf8::printable(s.config.start), one.phrase, examples);
    require(s.split != Split::all || !o.given("--test-fraction"),
            "eval: --test-fraction {} is for the other parts of --split, got --split all",
            s.config.test_fraction);
    return one.run(s);
}

// How translations and labels are scored.
void add_scoring(Options& o, EvalSettings& s) {
    o.count("--beam", s.translate.beams, "For an encoder-decoder: beams of the search; 1: greedy",
            {1, 1000});
    add_choice(o, "--bleu-tokens", s.bleu,
               "For an encoder-decoder: BLEU's tokens: words (13a), or characters (char), for "
               "languages without spaces");
    o.number("--threshold", s.threshold, 0, 1,
             "For a text classifier of several labels: least probability of a label that is "
             "predicted; default: the model's, fitted on held-out texts")
        .without_default();
}

}  // namespace

void add_eval(Options& app) {
    auto s = std::make_shared<EvalSettings>();
    Options& o = app.subcommand(
        "eval",
        "Measure a trained model: its loss on a text, a classifier's accuracy, translations, "
        "answers, predictions for a table");
    o.example("--model runs/book --text other.txt");
    add_model_directory(o, s->config.start);
    Option text =
        o.text("--text", s->config.text,
               "UTF-8 text; for a classifier a file with labels, for an encoder-decoder of pairs");
    Option pairs = o.text("--pairs", s->pairs,
                          "For an encoder-decoder: file of pairs, as for `tapestry train`");
    Option images = o.text("--images", s->images,
                           "For an image classifier: images by class, as for `tapestry train`");
    Option questions = o.text("--questions", s->questions,
                              "For a model that points at answers: questions, as for `tapestry "
                              "train`");
    Option table =
        o.text("--table", s->table,
               "For a network for tables: a table with the columns that it learned from");
    const Option data = o.text(
        "--data", s->config.data,
        "Data made by `tapestry tokenize`, instead of a text; or conversations (*.jsonl), as "
        "for `tapestry train`: the loss of all answers, and how many are right");
    o.text("--chat-template", s->config.chat_template,
           "Form of conversations: chatml, llama3, plain or a file *.jinja; default: the model's");
    o.text("--chat-system", s->config.chat_system,
           "System message of conversations without one, which may be \"\"; default: the "
           "template's");
    Option tokens = o.text("--tokens", s->tokens,
                           "A file of token ids instead of a text, evaluated completely in windows "
                           "of the model's context");
    const Option batches =
        o.count("--batches", s->options.batches,
                "Random batches of 12 sequences; default: 200, or for a language model the whole "
                "text, each token once, if that is shorter")
            .without_default();
    const Option split = add_choice(
        o, "--split", s->split,
        "Part of the text: for training, for validation, kept for testing, or all of it");
    o.number("--test-fraction", s->config.test_fraction, 0, 0.1,
             "--test-fraction of the training run");
    add_scoring(o, *s);
    text.excludes(data);
    pairs.excludes(text).excludes(data);
    images.excludes(text).excludes(pairs).excludes(data);
    questions.excludes(text).excludes(pairs).excludes(images).excludes(data);
    table.excludes(text).excludes(pairs).excludes(images).excludes(questions).excludes(data);
    tokens.excludes(text).excludes(pairs).excludes(images).excludes(data);
    const Option seed = o.seed(s->config.seed, "Seed for choosing the sequences");
    tokens.excludes(batches).excludes(split).excludes(seed);
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s, &o] { return run_eval(*s, o); });
}

}  // namespace tapestry::cli
