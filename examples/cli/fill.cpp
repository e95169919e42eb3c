// tapestry fill: fills the masks of texts with a model that `tapestry train --task mask` has
// trained.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/train/mask/mask_task.h>

#include <fmt/core.h>

#include <memory>
#include <string>

namespace tapestry::cli {
namespace {

struct FillSettings {
    std::string model, text;
    std::int64_t top_k = 0;
    int threads = num_threads();
};

int run_fill(const FillSettings& s) {
    set_num_threads(s.threads);
    const std::unique_ptr<MaskTask> task = load_mask_task(s.model);
    const FilledText filled = task->fill(s.text, s.top_k);
    print("{}\n", filled.text);
    for (const auto& mask : filled.found) {
        std::string line;
        for (const auto& [token, probability] : mask) {
            line += fmt::format("{}{}\t{:.4f}", line.empty() ? "" : "\t", utf8::quoted(token),
                                probability);
        }
        if (!line.empty()) print("{}\n", line);
    }
    return kSuccess;
}

}  // namespace

void add_fill(Options& app) {
    auto s = std::make_shared<FillSettings>();
    Options& o = app.subcommand("fill", "Fill the masks of a text with a trained model");
    o.example("--model runs/masked \"the c[MASK]t sat\" --top-k 3");
    o.text("--model", s->model, "Directory written by `tapestry train --task mask`").required();
    o.text("TEXT", s->text, "Text with [MASK] in place of each token to predict").required();
    o.count("--top-k", s->top_k,
            "Tokens to print for each mask, with their probabilities, a line per mask", {0});
    o.threads(s->threads);
    o.run([s] { return run_fill(*s); });
}

}  // namespace tapestry::cli
