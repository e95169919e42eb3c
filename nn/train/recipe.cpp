#include <tapestry/nn/train/recipe.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/data/ngram_baseline.h>
#include <tapestry/nn/module/freeze.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

template <class Config>
void add_lines(std::vector<RecipeLine>& lines, const Config& config, std::string_view optimizer) {
    for (const auto& one : kFields<Config>) {
        std::string value = one.text(config);
        if (one.name == std::string_view("steps") &&
            value == std::to_string(TrainingConfig::kNoStepLimit)) {
            continue;
        }
        const bool is_option = std::is_same_v<Config, TrainingConfig> || is_model_option(one.name);
        if (!value.empty() && is_option && one.traits.in_command &&
            !is_foreign_option(optimizer, one.name)) {
            lines.push_back({option_name(one), std::move(value), one.meaning});
        }
    }
}

std::string subtitle_of(const Session& session) {
    const Module& model = session.module();
    return fmt::format("{}: {}; {} parameters; {}; {}",
                       row_of(session.config().model_config()).title, model.settings(),
                       model.parameter_count(), session.task().amounts(),
                       pluralize(num_threads(), "thread"));
}

// Options of other optimisers, which the command line also knows: "--momentum".
std::vector<std::string> foreign_options(std::string_view optimizer) {
    std::vector<std::string> options;
    for (const FieldInfo& one : kFields<TrainingConfig>) {
        if (is_foreign_option(optimizer, one.name)) options.push_back(option_name(one));
    }
    return options;
}

}  // namespace

std::string last_name(const std::filesystem::path& path) {
    const std::string name = path.filename().native();
    return name.empty() ? path.parent_path().filename().native() : name;
}

std::vector<RecipeLine> recipe_lines(const TrainingConfig& config) {
    std::vector<RecipeLine> lines;
    add_lines(lines, config, config.optimizer);
    if (config.other_model) {
        lines.push_back({"--kind", row_of(*config.other_model).name, "Kind of model"});
    }
    config.visit_model([&](const auto& model) { add_lines(lines, model, config.optimizer); });
    return lines;
}

std::vector<ExpectedLoss> expected_losses(const TextData& data, const Tokenizer& tokenizer) {
    const CountingLosses losses = counting_losses(
        data.ids(Split::train), data.ids(Split::validation), tokenizer.vocab_size());
    const std::string_view unit = tokenizer.unit();
    std::vector<ExpectedLoss> expected{
        {"guessing", losses.uniform,
         fmt::format("Every one of the {} {}s is as likely as any other: ln({}). An untrained "
                     "model's is about this.",
                     tokenizer.vocab_size(), unit, tokenizer.vocab_size())},
        {fmt::format("counting {}s", unit), losses.unigram,
         fmt::format("Knows how often each {} occurs in the training text, and nothing of what "
                     "came before.",
                     unit)}};
    if (losses.bigram) {
        expected.push_back(
            {"counting pairs", *losses.bigram,
             fmt::format("Knows how often each {} follows the one before it. To do better, a "
                         "model has to look further back.",
                         unit)});
    }
    return expected;
}

std::vector<ExpectedLoss> losses_to_compare(const Session& session) {
    const ModelConfig model = session.config().model_config();
    if (!std::holds_alternative<CustomConfig>(model)) return {};
    return session.task().expected_losses();
}
TrainingRecipe recipe_of(const Session& session, const TrainingRecipe& also, double step_least) {
    const TrainingConfig& config = session.config();
    TrainingRecipe recipe{
        .title = "Training on " + last_name(data_name(config)),
        .subtitle = subtitle_of(session),
        .command = also.command,
        .use = std::string(session.task().use()),
        .rewind = also.rewind,
        .options = recipe_lines(config),
        .expected = session.task().expected_losses(),
        .steps = config.steps,
        .tokens_per_step = config.tokens_per_step(),
        .step_least = step_least,
        .clip = config.clip,
        .usual_lr = optimizer_row(config.optimizer).defaults.at("lr"),
        .val_at_start = session.loss_at_start(),
        .unit = std::string(session.task().symbol()),
        .counted = session.task().unit(),
        .sentence = session.sentence(),
        .name_of = [&task = session.task()](std::int64_t id) { return task.name_of(id); }};
    const std::vector<std::string> frozen = frozen_parameters(session.module());
    if (!frozen.empty()) {
        recipe.options.push_back(
            {"frozen", value_text(frozen), "Parameters frozen by --train-only"});
    }
    const auto knows = [&recipe](const RecipeLine& line) {
        return std::any_of(recipe.options.begin(), recipe.options.end(),
                           [&line](const RecipeLine& other) { return other.name == line.name; });
    };
    const std::vector<std::string> foreign = foreign_options(config.optimizer);
    for (const RecipeLine& line : also.options) {
        const bool used = std::find(foreign.begin(), foreign.end(), line.name) == foreign.end();
        if (used && !knows(line)) recipe.options.push_back(line);
    }
    std::error_code removed;
    const std::string here = std::filesystem::current_path(removed).string();
    recipe.options.push_back(
        {"directory", removed ? "removed since" : here, "Where the command ran: paths begin here"});
    recipe.options.push_back({"tapestry", fmt::format("{}, {}", version(), compiler()),
                              "The same seed gives the same bits in the same build, on the same "
                              "instruction set, for any number of threads"});
    recipe.options.push_back(
        {"instruction set", std::string(name_of(current_isa())), "Chosen by the processor"});
    return recipe;
}

}  // namespace tapestry
