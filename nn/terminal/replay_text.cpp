#include <tapestry/nn/terminal/replay_text.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/train/step_on_text.h>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace tapestry {
namespace {

// The tokens of one row of a batch.
using RowTexts = std::function<std::vector<std::string>(const Batch& batch, std::int64_t row)>;

RowTexts texts_by(const Task& task) {
    return [&task](const Batch& batch, std::int64_t row) { return task.texts(batch, row); };
}

RowTexts texts_by(const Tokenizer& tokenizer) {
    return [&tokenizer](const Batch& batch, std::int64_t row) {
        const Tensor ids = views::slice(batch.inputs, 0, row, row + 1);
        return token_texts(tokenizer, ids.to_vector<std::int64_t>());
    };
}

// A reason why numbers may differ, or empty.
std::string other_binary(const CheckpointInfo& then) {
    const std::string_view isa = name_of(current_isa());
    if (then.isa == isa && then.version == version()) return "";
    return fmt::format(" (recorded by Tapestry {} on {}; this is {} on {})",
                       utf8::printable(then.version), utf8::printable(then.isa), version(), isa);
}

// Not "-nan".
double without_sign_of_nan(double x) { return std::isnan(x) ? std::abs(x) : x; }

std::string values_of(const StepMetrics& now) {
    return fmt::format("step {}: loss {}, grad_norm {}, lr {}\n", now.step,
                       without_sign_of_nan(now.loss), without_sign_of_nan(now.grad_norm), now.lr);
}

std::string numbers_of(const StepMetrics& now, const RunHistory& history) {
    const StepMetrics& then = history.step(now.step);
    const std::string differs = utf8::printable(difference(then, now));
    return values_of(now) +
           fmt::format("grad_xxh3 {}{}\n{}\n", now.grad_xxh3,
                       then.grad_xxh3.empty() ? ", which metrics.jsonl does not have" : "",
                       differs.empty()
                           ? "the same bits as metrics.jsonl"
                           : "metrics.jsonl differs: " + differs + other_binary(history.latest()));
}

// Describes the step after the run's last one, which is not recorded if it diverged.
std::string beyond(const ReplayedStep& step, const RunHistory& history) {
    const std::string what = step.diverged.empty()
                                 ? values_of(step.metrics)
                                 : fmt::format("{}\nreplayed, {}\n", step.diverged,
                                               finding_text(step.recorded, *step.watched));
    return what + fmt::format("metrics.jsonl ends with step {}\n", history.last_step());
}

// NaN, the ratio of a parameter that was 0, is less than any other.
std::string largest_update(const std::vector<ParameterFlow>& flow) {
    const auto smaller = [](const ParameterFlow& a, const ParameterFlow& b) {
        return !(a.ratio() >= b.ratio()) && !std::isnan(b.ratio());
    };
    const auto most = std::max_element(flow.begin(), flow.end(), smaller);
    return fmt::format("largest update: {}, {:.2g} of its size\n", most->name, most->ratio());
}

std::string where_from(const ReplayStart& start) {
    const std::string from = start.state == 0
                                 ? "from the beginning"
                                 : fmt::format("from the state of step {}", start.state);
    if (start.steps == 0) return from;
    return fmt::format("{}, {} away", from, pluralize(start.steps, "step"));
}

std::string batches_of(const RecordedStep& step, const RowTexts& texts, int width) {
    constexpr std::int64_t kMost = 24;
    const auto most_characters = static_cast<std::size_t>(std::max(width - 12, 20));
    std::string lines;
    std::int64_t rows = 0;
    for (const RecordedBatch& b : step.batches) {
        for (std::int64_t i = 0; i < b.batch.inputs.size(0); ++i) {
            if (++rows > kMost) continue;
            std::string text;
            for (const std::string& token : texts(b.batch, i)) text += token;
            lines += fmt::format("{:4}  {}\n", rows, utf8::quoted(text, most_characters));
        }
    }
    if (rows > kMost) lines += fmt::format("      and {} more\n", rows - kMost);
    return lines;
}

std::string comparison(const RecordedOutcome& then, const RecordedOutcome& now) {
    if (then.loss_bits == now.loss_bits) return "the same bits as then";
    return fmt::format("then {} ({}; now {})",
                       without_sign_of_nan(std::bit_cast<double>(then.loss_bits)),
                       utf8::printable(then.built), now.built);
}

std::string text_of(const ReplayedStep& step, const RunHistory& history, const ReplayStart& start,
                    const RowTexts& texts, int width) {
    const bool is_known = step.metrics.step <= history.last_step();
    return (is_known ? numbers_of(step.metrics, history) : beyond(step, history)) +
           (step.diverged.empty() ? largest_update(step.flow) : "") +
           fmt::format("replayed {}; it learned from\n", where_from(start)) +
           batches_of(step.recorded, texts, width);
}

}  // namespace

std::string to_text(const ReplayedStep& step, const RunHistory& history, const ReplayStart& start,
                    const Task& task, int width) {
    return text_of(step, history, start, texts_by(task), width);
}

std::string to_text(const ReplayedStep& step, const RunHistory& history, const ReplayStart& start,
                    const Tokenizer& tokenizer, int width) {
    return text_of(step, history, start, texts_by(tokenizer), width);
}

std::string to_text(const RecordedStep& step, const ReplayedGradients& replayed,
                    const RecordedOutcome& then) {
    const RecordedOutcome now = outcome_of(step, replayed);
    const std::string text =
        fmt::format("step {}: loss {}, {}\n{}\n", step.step, without_sign_of_nan(replayed.loss),
                    comparison(then, now), now.finding);
    return now.finding == then.finding
               ? text
               : text + fmt::format("then: {}\n", utf8::printable(then.finding));
}

namespace {

PageOptions page_with(const RecordedStep& step, const ReplayedGradients& replayed,
                      const Module& model, const RowTexts& texts, const std::string& directory) {
    const Batch& batch = step.batches[replayed.batch].batch;
    const Tensor& ids = batch.inputs;
    return {.title = fmt::format("Step {}, replayed", step.step),
            .subtitle = fmt::format("{}; {}, {} parameters{}; {}, {} sequences of {}; loss {}",
                                    directory, model.settings(), model.parameter_count(),
                                    step.updated ? " as the step's update left them" : "",
                                    name_of_batch(step, replayed.batch), ids.size(0), ids.size(1),
                                    without_sign_of_nan(replayed.loss)),
            .texts = {{.queries = texts(batch, 0)}}};
}

}  // namespace

PageOptions page_of(const RecordedStep& step, const ReplayedGradients& replayed, const Task& task,
                    const std::string& directory) {
    PageOptions page = page_with(step, replayed, task.model(), texts_by(task), directory);
    page.texts = task.page_texts(step.batches[replayed.batch].batch, 0);
    page.image = task.page_image(step.batches[replayed.batch].batch, 0);
    page.name_of = [&task](std::int64_t id) { return task.name_of(id); };
    return page;
}

PageOptions page_of(const RecordedStep& step, const ReplayedGradients& replayed,
                    const LanguageModel& model, const Tokenizer& tokenizer,
                    const std::string& directory) {
    PageOptions page = page_with(step, replayed, model, texts_by(tokenizer), directory);
    page.name_of = [&tokenizer](std::int64_t id) {
        return token_texts(tokenizer, {&id, 1}).front();
    };
    return page;
}

}  // namespace tapestry
