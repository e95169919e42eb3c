#include <tapestry/examples/cli/options.h>

#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/nn/models/model_registry.h>
#include <tapestry/nn/train/checkpoints.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <type_traits>
#include <variant>

namespace tapestry::cli {

Option add_model_directory(Options& options, std::string& model) {
    return options
        .text("--model", model,
              "Directory written by `tapestry train`, or one from Hugging Face (config.json, "
              "model.safetensors)")
        .required();
}

void add_model_options(Options& options, GPTConfig& config) {
    add_fields(options, config, {"context", "layers", "heads", "dim", "compute"});
}

void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch) {
    add_model_options(options, config);
    options.count("--batch", batch, "Sequences per batch");
}

void add_sampling_options(Options& o, SampleOptions& to) {
    o.number("--temperature", to.temperature, 0, 1000,
             "Below 1 safer, above 1 wilder, 0 always the most likely token");
    o.count("--top-k", to.top_k, "Sample only from the k most likely tokens; 0: all", {0});
    o.number("--top-p", to.top_p, 1e-9, 1,
             "Sample only from the most likely tokens that together reach probability p");
    o.number("--min-p", to.min_p, 0, 1,
             "Sample only tokens that have this fraction of the most likely one's probability");
    const Option penalty = o.number("--repeat-penalty", to.repeat_penalty, 1e-9, 1000,
                                    "Above 1: repeated tokens become less likely; 1: off");
    o.count("--repeat-last", to.repeat_last,
            "Latest tokens that --repeat-penalty considers; 0: all", {0})
        .needs(penalty);
}

void add_json(Options& options, bool& json) {
    options.flag("--json", json, "Print one JSON object");
}

void add_no_cache(Options& options, bool& no_cache) {
    options.flag("--no-cache", no_cache,
                 "Do not cache the text's tokens in ~/.cache/tapestry ($XDG_CACHE_HOME)");
}

std::unique_ptr<TextCache> text_cache(bool no_cache) {
    const auto directory = user_cache_directory();
    if (no_cache || !directory) return nullptr;
    auto cache = std::make_unique<TextCache>();
    cache->directory = *directory;
    cache->warn = [](const std::string& reason) {
        warn("the text's tokens are not cached: " + reason);
    };
    return cache;
}

std::string quoted_for_shell(const std::string& text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_./=:,+-").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

TrainingRecipe recipe_of(const Options& options) {
    TrainingRecipe recipe{.command = "tapestry " + options.name()};
    for (const OptionValue& option : options.values()) {
        if (option.given) recipe.command += " " + option.name;
        for (const std::string& value : option.values) {
            if (!option.is_flag) recipe.command += " " + quoted_for_shell(value);
        }
        if (!option.value.empty()) {
            recipe.options.push_back({option.name, option.value, option.description});
        }
    }
    return recipe;
}

std::string read_interval(const std::string& text, CheckpointOptions& to) {
    const bool seconds = text.ends_with('s');
    const char* end = text.data() + text.size() - (seconds ? 1 : 0);
    std::int64_t number = -1;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || number < 0 || number > 1000000000) {
        return fmt::format("'{}' must be a number of steps (500) or seconds (30s)", text);
    }
    to.written = number > 0;
    to.every_steps = seconds ? 0 : number;
    to.every_seconds = seconds ? static_cast<double>(number) : 0;
    return {};
}

std::string kind_with_fields(const std::vector<std::string>& fields) {
    const auto has = [](const ModelConfig& config, const std::string& name) {
        bool found = false;
        std::visit(
            [&](const auto& model) {
                for (const FieldInfo& one : fields_of(model)) found = found || name == one.name;
            },
            config);
        return found;
    };
    const auto& rows = model_rows();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ModelRow& each) {
        return std::all_of(fields.begin(), fields.end(),
                           [&](const std::string& field) { return has(each.defaults, field); });
    });
    return row == rows.end() ? rows.front().name : row->name;
}

std::string read_weights(const std::string& type, ComputeType& to) {
    if (type == "int8") {
        return "int8 is for `tapestry sample`: a step changes a weight by less than the distance "
               "between two int8 numbers, so rounding would undo it";
    }
    to = type == "bf16" ? ComputeType::bf16 : ComputeType::f32;
    return type == name_of_value(to) ? "" : type + " is not a type for training weights";
}

}  // namespace tapestry::cli
