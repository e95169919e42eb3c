// tapestry eval: how well a trained model predicts a text or a sequence of token ids.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/chat/chat_scores.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/image/image_task.h>
#include <tapestry/nn/train/mask/mask_task.h>
#include <tapestry/nn/train/translate/translate_task.h>

namespace tapestry::cli {
namespace {

struct EvalSettings {
    TrainingConfig config;  ///< model, text and data
    std::string pairs;
    std::string images;
    std::string tokens;
    Split split = Split::all;
    EvaluateOptions options{.batches = 200, .batch = 12};
    TranslateOptions translate;
    BleuTokens bleu = BleuTokens::words;
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

int eval_image_classifier(const EvalSettings& s) {
    require(!s.images.empty(),
            "eval: an image classifier needs --images, a directory or file of images by class");
    require(s.split == Split::all,
            "eval: --split is for language models; a classifier is measured on all --images");
    const std::unique_ptr<ImageTask> task = load_image_task(s.config.start);
    const ClassificationScores scores = task->score(
        read_images_by_class(s.images, {.size = task->size(), .labels = task->labels()}));
    s.json ? print_json(to_json(scores)) : print("{}", to_text(scores, s.images));
    return kSuccess;
}

int eval_masked(const EvalSettings& s) {
    require(s.tokens.empty() && s.pairs.empty(),
            "eval: a model of masked tokens needs --text or --data");
    const std::unique_ptr<MaskTask> task = load_mask_task(s.config.start);
    const MaskScores scores = task->score(s.config, s.split, s.options, s.config.seed);
    s.json ? print_json(to_json(scores)) : print("{}", to_text(scores, data_name(s.config)));
    return kSuccess;
}

int eval_translator(const EvalSettings& s) {
    const std::string& file = s.pairs.empty() ? s.config.text : s.pairs;
    require(!file.empty(), "eval: an encoder-decoder needs --pairs, a file of pairs");
    require(s.split == Split::all,
            "eval: --split is for language models; an encoder-decoder is measured on all pairs of "
            "--text");
    const std::unique_ptr<TranslateTask> task = load_translate_task(s.config.start);
    const TranslationScores scores = task->score(read_text_pairs(file), s.translate, s.bleu);
    s.json ? print_json(to_json(scores)) : print("{}", to_text(scores, file));
    return kSuccess;
}

int eval_chat(const EvalSettings& s) {
    require(s.split == Split::all && s.config.test_fraction == 0,
            "eval: --split and --test-fraction are for texts; conversations are all measured");
    const ChatScores scores = evaluate_on_chat(s.config);
    s.json ? print_json(to_json(scores)) : print("{}", to_text(scores, s.config.data));
    return kSuccess;
}

int run_eval(const EvalSettings& s) {
    set_num_threads(s.threads);
    if (s.tokens.empty()) {
        const ModelKind kind = model_kind(s.config.start);
        require(s.pairs.empty() || kind == ModelKind::transformer,
                "eval: --pairs is for an encoder-decoder; {} holds another model",
                utf8::printable(s.config.start));
        require(s.images.empty() || kind == ModelKind::image_classifier,
                "eval: --images is for an image classifier; {} holds another model",
                utf8::printable(s.config.start));
        if (kind == ModelKind::classifier) return eval_classifier(s);
        if (kind == ModelKind::image_classifier) return eval_image_classifier(s);
        if (kind == ModelKind::masked) return eval_masked(s);
        if (kind == ModelKind::transformer) return eval_translator(s);
    }
    const bool is_chat = s.tokens.empty() && s.config.is_chat();
    require(is_chat || (s.config.chat_template.empty() && s.config.chat_system.empty()),
            "eval: --chat-template and --chat-system are for conversations, which --data "
            "FILE.jsonl names");
    if (is_chat) return eval_chat(s);
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
        "eval",
        "Measure a trained model: its loss on a text, a classifier's accuracy, translations");
    o.example("--model runs/book --text other.txt");
    add_model_directory(o, s->config.start);
    Option text =
        o.text("--text", s->config.text,
               "UTF-8 text; for a classifier a file with labels, for an encoder-decoder of pairs");
    Option pairs = o.text("--pairs", s->pairs,
                          "For an encoder-decoder: file of pairs, as for `tapestry train`");
    Option images = o.text("--images", s->images,
                           "For an image classifier: images by class, as for `tapestry train`");
    const Option data = o.text(
        "--data", s->config.data,
        "Data made by `tapestry tokenize`, instead of a text; or conversations (*.jsonl), as "
        "for `tapestry train`: the loss of all answers, and how many are right");
    o.text("--chat-template", s->config.chat_template,
           "Form of conversations: chatml, llama3 or plain; default: the model's");
    o.text("--chat-system", s->config.chat_system,
           "System message of conversations without one; default: the template's");
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
    o.count("--beam", s->translate.beams, "For an encoder-decoder: beams of the search; 1: greedy",
            {1, 1000});
    add_choice(o, "--bleu-tokens", s->bleu,
               "For an encoder-decoder: BLEU's tokens: words (13a), or characters (char), for "
               "languages without spaces");
    text.excludes(data);
    pairs.excludes(text).excludes(data);
    images.excludes(text).excludes(pairs).excludes(data);
    tokens.excludes(text).excludes(pairs).excludes(images).excludes(data);
    tokens.excludes(batches).excludes(split);
    o.require_any({"--text", "--data", "--pairs", "--images", "--tokens"});
    o.seed(s->config.seed, "Seed for choosing the sequences");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s, &o] {
        for (const char* const option : {"--batches", "--beam", "--bleu-tokens"}) {
            require(!s->config.is_chat() || !o.given(option),
                    "eval: {} is not for conversations, which are all measured", option);
        }
        return run_eval(*s);
    });
}

}  // namespace tapestry::cli
