// tapestry inspect: one training step of a trained model on a text, as a page to look at or, with
// --print, in the terminal (inspect_text.h).
#include <tapestry/autograd/print.h>
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/inspect_text.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/io/transformer_directory.h>

#include <fmt/core.h>

#include <memory>
#include <span>

namespace tapestry::cli {
namespace {

using examples::WatchedStep;
using Ids = std::vector<std::int64_t>;

struct InspectSettings {
    std::string model, prompt, out = "page.html";
    std::optional<std::string> target;
    bool print = false;
    StepTextOptions text{.width = terminal_columns()};
    int threads = num_threads();
};

// What the step is taken on.
struct Question {
    Module& model;
    std::function<Tensor()> loss;
    std::string predicted;  ///< "11 characters predicted, each from those before it"
    std::vector<PageText> texts;
};

// Tokens as text, one each. A token of bytes that are no whole character is what it is.
std::vector<std::string> texts_of(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
    std::vector<std::string> texts;
    for (const std::int64_t& id : ids) texts.push_back(tokenizer.decode(std::span(&id, 1)));
    return texts;
}

Tensor row_of(const Ids& ids) { return tensor(ids, {1, std::ssize(ids)}); }

int show(const InspectSettings& s, const Question& question) {
    const WatchedStep step(question.model, question.loss);
    const PageOptions page{
        .title = fmt::format("One step of {}", s.model),
        .subtitle = fmt::format("{}, {} parameters; {}; loss {:.4f}", question.model.settings(),
                                question.model.parameter_count(), question.predicted, step.loss()),
        .texts = question.texts};
    if (s.print) {
        fmt::print("{}", text_of(step.inspector(), page, s.text));
        return kSuccess;
    }
    const std::string html = to_html(step.inspector(), page);
    write_file_atomically(s.out, html);
    fmt::print("{}: {} entries, {} heads, {}\n", utf8::quoted(s.out, 300),
               step.inspector().entries().size(), step.heads(), bytes_text(html.size()));
    return kSuccess;
}

// ---- a GPT continues the prompt
// ------------------------------------------------------------------

Ids prompt_ids(const InspectSettings& s, const LoadedModel& loaded) {
    const Tokenizer& tokenizer = require_tokenizer(loaded, s.model);
    const Ids ids = tokenizer.encode(s.prompt, "prompt");
    const auto most = static_cast<std::size_t>(loaded.model->config().context) + 1;
    require(ids.size() >= 2,
            "inspect: the prompt has {} {}{}; at least 2 are needed, to predict each from those "
            "before it",
            ids.size(), tokenizer.unit(), ids.size() == 1 ? "" : "s");
    require(
        ids.size() <= most,
        "inspect: the prompt has {} {}s; the model looks at {} and predicts one more, so {} are "
        "the most",
        ids.size(), tokenizer.unit(), most - 1, most);
    return ids;
}

int inspect_gpt(const InspectSettings& s) {
    const LoadedModel loaded = load_model(s.model);
    require(!s.target,
            "inspect: {} is a GPT, which goes on with the prompt; --target is for an "
            "encoder-decoder",
            utf8::quoted(s.model, 300));
    const Ids ids = prompt_ids(s, loaded);
    const auto count = std::ssize(ids) - 1;
    const Tensor all = row_of(ids);
    const Batch batch{views::slice(all, 1, 0, count), views::slice(all, 1, 1, count + 1)};
    const GPT& model = *loaded.model;
    const std::span<const std::int64_t> read(ids.data(), ids.size() - 1);
    return show(s, {.model = *loaded.model,
                    .loss = [&] { return model.loss(batch.inputs, batch.targets); },
                    .predicted = fmt::format("{} {}s predicted, each from those before it", count,
                                             loaded.tokenizer->unit()),
                    .texts = {{.queries = texts_of(*loaded.tokenizer, read)}}});
}

// ---- an encoder-decoder reads the prompt and writes the target ----------------------------------

Ids ids_of(const LoadedTransformer& loaded, const std::string& text, const char* what,
           std::int64_t marks) {
    const Ids ids = loaded.vocabulary.encode(text, what);
    require(!ids.empty(), "inspect: the {} has no characters", what);
    const TransformerConfig& config = loaded.model->config();
    const std::int64_t most = config.max_length - marks;
    require(config.positions != Positions::learned || std::ssize(ids) <= most,
            "inspect: the {} has {} characters; the model has positions for {}", what, ids.size(),
            most);
    return ids;
}

int inspect_transformer(const InspectSettings& s) {
    const LoadedTransformer loaded = load_transformer(s.model);
    require(s.target.has_value(),
            "inspect: {} is an encoder-decoder; it needs --target, what it is to write",
            utf8::quoted(s.model, 300));
    const MarkedCharacters& vocabulary = loaded.vocabulary;
    const Ids source = ids_of(loaded, s.prompt, "prompt", 0);
    Ids target = ids_of(loaded, *s.target, "target", 1), next = target;
    std::vector<std::string> written{"[begin]"};
    for (const std::int64_t id : target) written.push_back(vocabulary.text_of(id));
    std::vector<std::string> read;
    for (const std::int64_t id : source) read.push_back(vocabulary.text_of(id));
    target.insert(target.begin(), vocabulary.begin);
    next.push_back(vocabulary.end);
    const Tensor from = row_of(source), to = row_of(target), after = row_of(next);
    const Transformer& model = *loaded.model;
    return show(s, {.model = *loaded.model,
                    .loss = [&] { return model.loss(from, to, after); },
                    .predicted = fmt::format(
                        "{} characters read, {} and the end predicted, each from those before it",
                        source.size(), target.size() - 1),
                    .texts = examples::texts_of_both(read, written)});
}

int run_inspect(const InspectSettings& s) {
    set_num_threads(s.threads);
    return model_kind(s.model) == ModelKind::gpt ? inspect_gpt(s) : inspect_transformer(s);
}

}  // namespace

void add_inspect(Options& app) {
    auto s = std::make_shared<InspectSettings>();
    Options& o = app.subcommand(
        "inspect",
        "Look into one training step: a page with its tape, attention, memory, gradients");
    o.text("--model", s->model,
           "Directory that `tapestry train` or `dates --out` wrote, or a GPT-2 of Hugging Face's")
        .required();
    o.text("--prompt", s->prompt, "The text that the step is taken on").required();
    o.text("--target", s->target, "What an encoder-decoder is to write after reading it");
    const Option out = o.text("--out", s->out, "The page, one HTML file");
    Option print =
        o.flag("--print", s->print, "No page: print the tape, and all heads as small maps");
    print.excludes(out);
    Option layer = o.count("--layer", s->text.layer,
                           "With --print: one head alone, large, of the layer of this number", {0});
    Option head = o.count("--head", s->text.head, "Which of that layer's, from 0", {0});
    layer.needs(print).needs(head);
    head.needs(print).needs(layer);
    add_width(o, s->text.width);
    o.threads(s->threads);
    o.run([s] { return run_inspect(*s); });
}

}  // namespace tapestry::cli
