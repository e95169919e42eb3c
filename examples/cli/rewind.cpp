// tapestry rewind: any step of a training, taken again to the same bits, and what it did.
#include <tapestry/core/cpu.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/run_options.h>
#include <tapestry/examples/cli/step_page.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tapestry::cli {
namespace {

struct RewindSettings {
    RunOptions run;
    std::int64_t step = 1;
    std::optional<std::string> page;
    bool print = false;
    StepTextOptions text{.width = terminal_columns()};
};

// Why numbers may differ, if there is a reason.
std::string other_binary(const CheckpointInfo& then) {
    const std::string_view isa = name_of(current_isa());
    if (then.isa == isa && then.version == version()) return "";
    return fmt::format(" (taken by Tapestry {} on {}; this is {} on {})", then.version, then.isa,
                       version(), isa);
}

void print_update(const std::vector<ParameterFlow>& flow) {
    const auto smaller = [](const ParameterFlow& a, const ParameterFlow& b) {
        return !(a.ratio() >= b.ratio()) && !std::isnan(b.ratio());
    };
    const auto most = std::max_element(flow.begin(), flow.end(), smaller);
    fmt::print("largest update: {:.2g} of {}'s size\n", most->ratio(), most->name);
}

void print_batches(const RecordedStep& step, const Tokenizer& tokenizer, int width) {
    constexpr std::int64_t kMost = 24;
    std::int64_t row = 0, rows = 0;
    for (const RecordedBatch& b : step.batches) {
        const Tensor& ids = b.batch.inputs;
        for (std::int64_t i = 0; i < ids.size(0); ++i, ++rows) {
            if (rows >= kMost) continue;
            std::string text;
            for (const std::string& token : sequence_of(ids, i, tokenizer)) text += token;
            fmt::print("{:4}  {}\n", ++row,
                       utf8::quoted(text, static_cast<std::size_t>(std::max(width - 12, 20))));
        }
    }
    if (rows > row) fmt::print("      and {} more\n", rows - row);
}

bool print_step(const StepMetrics& then, const RewoundStep& step, const CheckpointInfo& info) {
    const StepMetrics& now = step.metrics;
    const std::string differs = difference(then, now);
    fmt::print("step {}: loss {}, grad_norm {}, lr {}\n", now.step, now.loss, now.grad_norm,
               now.lr);
    fmt::print("grad_xxh3 {}{}\n", now.grad_xxh3,
               then.grad_xxh3.empty() ? ", which metrics.jsonl does not have" : "");
    fmt::print("{}\n", differs.empty() ? "the same bits as metrics.jsonl"
                                       : "metrics.jsonl differs: " + differs + other_binary(info));
    return differs.empty();
}

int run_rewind(const RewindSettings& s) {
    const RunReader run(s.run);
    const StepMetrics& then = run.history().step(s.step, "rewind: step");
    const auto session = run.rewinder().session_before(s.step);
    const bool watch = s.print || s.page.has_value();
    const RewoundStep step = take_again(*session, watch, watch ? measure_peak() : MachinePeak{});
    const bool same = print_step(then, step, run.history().latest());
    print_update(step.flow);
    print_batches(step.recorded, session->tokenizer(), s.text.width);
    if (watch) {
        const PageOptions page = page_of(step.recorded, *step.watched, session->model(),
                                         session->tokenizer(), s.run.directory);
        if (s.print) fmt::print("\n{}", text_step(*step.watched->inspector, page, s.text));
        if (s.page) write_page(*s.page, *step.watched->inspector, page);
    }
    return same ? kSuccess : kFailure;
}

}  // namespace

void add_rewind(Options& app) {
    auto s = std::make_shared<RewindSettings>();
    Options& o = app.subcommand("rewind", "Take any step of a training again, to the same bits");
    add_run_options(o, s->run);
    o.count("--step", s->step, "Which; the first is 1", {-1000000000}).required();
    o.text("--inspect", s->page, "Write a page with its tape, attention, memory and gradients");
    o.flag("--print", s->print, "Print the tape, and all heads of attention as small maps");
    add_width(o, s->text.width);
    o.run([s] { return run_rewind(*s); });
}

}  // namespace tapestry::cli
