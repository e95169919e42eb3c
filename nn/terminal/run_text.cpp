#include <tapestry/nn/terminal/run_text.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/text/counted.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/terminal/progress.h>

#include <fmt/core.h>

namespace tapestry {
namespace {

std::string text_of(const Session& session) {
    const TrainingConfig& config = session.config();
    const TextData& data = session.data();
    const bool is_own = config.start.empty() && config.data.empty();
    const std::int64_t test = data.size(Split::test);
    return fmt::format("{}: {} {}s, {}{}; training on {}, validating on {}{}\n",
                       utf8::printable(data_name(config)), data.size(Split::all),
                       session.tokenizer().unit(), session.tokenizer().vocab_size(),
                       is_own ? " different" : " in the vocabulary", data.size(Split::train),
                       data.size(Split::validation),
                       test == 0 ? "" : fmt::format(", {} for testing", test));
}

}  // namespace

std::string description_of(const Session& session) {
    const GPTConfig& model = session.config().model;
    std::string text = text_of(session);
    const Recipe recipe = session.config().recipe;
    text += fmt::format(
        "GPT: {}, {}, dim {}, context {}: {} parameters; {}{}\n", counted(model.layers, "layer"),
        counted(model.heads, "head"), model.dim, model.context, session.model().parameter_count(),
        counted(num_threads(), "thread"),
        recipe == Recipe::standard ? "" : fmt::format("; recipe {}", name_of_value(recipe)));
    const std::size_t frozen = frozen_parameters(session.model()).size();
    if (frozen == 0) return text;
    return text + fmt::format("frozen: {} of {} tensors of parameters\n", frozen,
                              session.model().parameters().size());
}

std::string to_text(const TrainingResult& result, const std::string& out) {
    const std::string val = result.val_loss ? fmt::format("{:.4f}", *result.val_loss) : "not taken";
    const std::string speed = fmt::format("{:.0f} tokens/s, {:.0f}% of the peak",
                                          result.tokens_per_second, 100 * result.of_peak);
    return fmt::format("{} steps in {} ({}): loss {:.4f}, validation loss {}\n", result.last.step,
                       clock_text(result.last.seconds), speed, result.last.loss, val) +
           fmt::format("saved in {}{}{}\n{}{}", utf8::printable(out),
                       result.concern.empty() ? "" : ", but ", result.concern, result.plan,
                       result.report);
}

}  // namespace tapestry
