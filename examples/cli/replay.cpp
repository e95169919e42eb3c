// tapestry replay: a step that `tapestry train --trap-nan` has saved, taken once more with the same
// bits, and its page.
#include <tapestry/autograd/print.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/recorded_step.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

#include <bit>
#include <memory>
#include <span>

namespace tapestry::cli {
namespace {

struct ReplaySettings {
    std::string directory, out = "page.html";
    int threads = num_threads();
};

// The page shows attention of the first sequence.
std::vector<std::string> first_sequence(const Tensor& ids, const Tokenizer& tokenizer) {
    const auto all = ids.to_vector<std::int64_t>();
    std::vector<std::string> texts;
    for (const std::int64_t& id : std::span(all).first(static_cast<std::size_t>(ids.size(1)))) {
        texts.push_back(tokenizer.decode(std::span(&id, 1)));
    }
    return texts;
}

std::string comparison(const RecordedOutcome& then, const RecordedOutcome& now) {
    if (then.loss_bits == now.loss_bits) return "the same bits as then";
    return fmt::format("then {} ({}; now {})", std::bit_cast<double>(then.loss_bits), then.built,
                       now.built);
}

void write_page(const ReplaySettings& s, const LoadedModel& loaded, const RecordedStep& step,
                const RetakenStep& retaken) {
    const Tensor& ids = step.batches[retaken.batch].batch.inputs;
    const PageOptions options{
        .title = fmt::format("Step {}, taken again", step.step),
        .subtitle =
            fmt::format("{}; {}, {} parameters{}; {}, {} sequences of {}; loss {}", s.directory,
                        loaded.model->settings(), loaded.model->parameter_count(),
                        step.updated ? " as the step's update left them" : "",
                        name_of_batch(step, retaken.batch), ids.size(0), ids.size(1), retaken.loss),
        .texts = {{.queries = first_sequence(ids, require_tokenizer(loaded, s.directory))}}};
    const std::string page = to_html(*retaken.inspector, options);
    write_file_atomically(s.out, page);
    fmt::print("{}: {} entries, {}\n", utf8::quoted(s.out, 300),
               retaken.inspector->entries().size(), bytes_text(page.size()));
}

int run_replay(const ReplaySettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = load_model(s.directory);
    RecordedOutcome then;
    const RecordedStep step = read_step(s.directory, loaded.model->config(), then);
    loaded.model->train();
    // A loaded model's dropout draws from the default generator.
    const RetakenStep retaken = retake(*loaded.model, step, default_generator(), measure_peak());
    const RecordedOutcome now = outcome_of(step, retaken);
    fmt::print("step {}: loss {}, {}\n{}\n", step.step, retaken.loss, comparison(then, now),
               now.finding);
    if (now.finding != then.finding) fmt::print("then: {}\n", then.finding);
    write_page(s, loaded, step, retaken);
    return kSuccess;
}

}  // namespace

void add_replay(Options& app) {
    auto s = std::make_shared<ReplaySettings>();
    Options& o = app.subcommand(
        "replay", "Take a step again that `train --trap-nan` has saved, and write its page");
    o.text("directory", s->directory, "OUT/trap of a training").required();
    o.text("--out", s->out, "The page, one HTML file");
    o.threads(s->threads);
    o.run([s] { return run_replay(*s); });
}

}  // namespace tapestry::cli
