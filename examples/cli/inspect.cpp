// tapestry inspect: one training step of a trained model on a text, as a page to look at.
#include <tapestry/autograd/print.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/utf8.h>
#include <tapestry/nn/inspect/page.h>
#include <tapestry/nn/io/file.h>
#include <tapestry/ops/ceiling.h>

#include <fmt/core.h>

#include <memory>
#include <span>

namespace tapestry::cli {
namespace {

struct InspectSettings {
    std::string model, prompt, out = "page.html";
    int threads = num_threads();
};

// Tokens as text, one each. A token of bytes that are no whole character is what it is.
std::vector<std::string> texts_of(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
    std::vector<std::string> texts;
    for (const std::int64_t& id : ids) texts.push_back(tokenizer.decode(std::span(&id, 1)));
    return texts;
}

std::vector<std::int64_t> prompt_ids(const InspectSettings& s, const LoadedModel& loaded) {
    const Tokenizer& tokenizer = tokenizer_of(loaded, s.model);
    const std::vector<std::int64_t> ids = tokenizer.encode(s.prompt, "prompt");
    const auto most = static_cast<std::size_t>(loaded.model->config().context) + 1;
    require(ids.size() >= 2,
            "inspect: the prompt has {} {}{}; at least 2 are needed, to predict each from those "
            "before it",
            ids.size(), unit_of(tokenizer), ids.size() == 1 ? "" : "s");
    require(
        ids.size() <= most,
        "inspect: the prompt has {} {}s; the model looks at {} and predicts one more, so {} are "
        "the most",
        ids.size(), unit_of(tokenizer), most - 1, most);
    return ids;
}

// Each token is predicted from those before it.
Batch batch_of(const std::vector<std::int64_t>& ids) {
    const auto count = static_cast<std::int64_t>(ids.size()) - 1;
    const Tensor all = tensor(ids, {1, count + 1});
    return {views::slice(all, 1, 0, count), views::slice(all, 1, 1, count + 1)};
}

double take_step(const GPT& model, const Batch& batch) {
    Tape tape;
    const Tensor loss = model.loss(batch.inputs, batch.targets);
    tape.backward(loss);
    return loss.item();
}

int run_inspect(const InspectSettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = load_model(s.model);
    GPT& model = *loaded.model;  // in evaluation mode: nothing is dropped
    const std::vector<std::int64_t> ids = prompt_ids(s, loaded);
    const Batch batch = batch_of(ids);
    const Ceiling ceiling = measure_ceiling();
    take_step(model, batch);  // so that memory and caches are as in any later step
    model.zero_grad();
    Inspector inspector(model, ceiling);
    const double loss = take_step(model, batch);
    inspector.finish();
    const std::span<const std::int64_t> read(ids.data(), ids.size() - 1);
    const PageOptions options{
        .title = fmt::format("One step of {}", s.model),
        .subtitle = fmt::format("{}, {} parameters; {} {}s predicted, each from those before it; "
                                "loss {:.4f}",
                                model.settings(), model.parameter_count(), ids.size() - 1,
                                unit_of(*loaded.tokenizer), loss),
        .texts = {{.queries = texts_of(*loaded.tokenizer, read)}}};
    const std::string page = to_html(inspector, options);
    write_file_atomically(s.out, page);
    fmt::print("{}: {} entries, {} heads, {}\n", utf8::quoted(s.out, 300),
               inspector.entries().size(), model.config().layers * model.config().heads,
               bytes_text(page.size()));
    return kSuccess;
}

}  // namespace

void add_inspect(CLI::App& app, Run& run) {
    auto s = std::make_shared<InspectSettings>();
    CLI::App& command = *app.add_subcommand(
        "inspect",
        "Look into one training step: a page with its tape, attention, memory, gradients");
    add_model_directory(command, s->model);
    command.add_option("--prompt", s->prompt, "The text that the step is taken on")->required();
    command.add_option("--out", s->out, "The page, one HTML file")->capture_default_str();
    add_threads(command, s->threads);
    command.callback([s, &run] { run = [s] { return run_inspect(*s); }; });
}

}  // namespace tapestry::cli
