// tapestry replay: a step that `tapestry train --trap-nan` has saved, taken once more with the same
// bits, and its page.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/terminal/rewind_text.h>
#include <tapestry/ops/machine_peak.h>

namespace tapestry::cli {
namespace {

struct ReplaySettings {
    std::string directory, out = "page.html";
    int threads = num_threads();
};

int run_replay(const ReplaySettings& s) {
    set_num_threads(s.threads);
    const LoadedModel loaded = load_model(s.directory);
    RecordedOutcome then;
    const RecordedStep step = read_step(s.directory, loaded.model->config(), then);
    loaded.model->train();
    // A loaded model's dropout draws from the default generator.
    const RetakenStep retaken = retake(*loaded.model, step, default_generator(), measure_peak());
    print_text(to_text(step, retaken, then));
    write_page(
        s.out, *retaken.inspector,
        page_of(step, retaken, *loaded.model, require_tokenizer(loaded, s.directory), s.directory));
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
