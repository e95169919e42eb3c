#include <tapestry/nn/train/resume.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/chat/chat_system.h>
#include <tapestry/nn/chat/chat_template.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tapestry {
namespace {

// The place of the data, which the checksum identifies, and computing activations twice: neither
// changes a step.
bool changes_no_step(std::string_view field) {
    return field == "text" || field == "data" || field == "recompute";
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const std::vector<std::string>& overrides) {
    std::vector<std::string> known{"isa", "version", "data"};
    const auto add = [&known](const auto& fields) {
        for (const FieldInfo& one : fields) known.emplace_back(one.name);
    };
    add(kFields<TrainingConfig>);
    for (const std::string& kind : model_names()) {
        std::visit([&](const auto& model) { add(fields_of(model)); }, model_row(kind).defaults);
    }
    for (const std::string& name : overrides) {
        require(contains(known, name),
                "--override {}: unknown name; must be an option's name (lr for --lr), isa, version "
                "or data",
                name);
    }
}

// Which parameters there are: the state of a run fits no others.
bool decides_parameters(std::string_view field) {
    return field == "lora" || field == "lora_targets" || field == "frozen_weights" ||
           field == "target" || field == "pieces";
}

// Why a run that has begun takes no other value; empty if it does.
std::string_view reason_against(std::string_view field) {
    if (decides_parameters(field)) {
        return ", whose parameters the run's state does not have; start a new run";
    }
    if (field == "recipe") {
        return ", but a recipe only says what a run begins with; name the options to change";
    }
    if (field == "start" || field == "deviation" || field == "zero_outputs") {
        return ", but the weights are those of the run's state; leave it out, or start a new run";
    }
    return "";
}

// As the command line has it.
std::string_view shown_name(std::string_view field) {
    if (field == "frozen_weights") return "--weights";
    return field == "start" ? "--model" : field;
}

// A file is the program in it, whose path no run stores; a style's program is its name.
std::string template_of(const std::string& given) {
    constexpr std::uint64_t kMost = 1 << 20;
    if (given.find('{') != given.npos || !given.ends_with(".jinja")) return given;
    std::string program = read_file(given, kMost);
    const std::string_view name = name_of_program(program);
    return name.empty() ? program : std::string(name);
}

// For people.
std::string template_text(const std::string& chat) {
    constexpr std::size_t kMost = 40;
    const std::string_view name = name_of_program(chat);
    if (chat.find('{') == chat.npos) return utf8::printable(chat);
    if (!name.empty()) return fmt::format("a program of the form {}", name);
    return fmt::format("the program {}", utf8::quoted(without_system(chat), kMost));
}

// Collects the differences that are allowed.
class Differences {
public:
    Differences(const std::string& name, const ResumeOptions& options)
        : name_(name), options_(options) {}

    /// Throws unless the two are equal or an override allows the difference.
    void check(const std::string& what, const std::string& stored, const std::string& now) {
        if (stored != now) differ(what, utf8::printable(stored), now);
    }

    /// The same for two that are not equal, as people read them.
    void differ(const std::string& what, const std::string& before, const std::string& after) {
        const std::string stored = before.empty() ? "empty" : before;
        const std::string now = after.empty() ? "empty" : after;
        const std::string_view reason = reason_against(what);
        require(reason.empty(), "{}: {} was {} and is now {}{}", name_, shown_name(what), stored,
                now, reason);
        require(contains(options_.overrides, what),
                "{}: {} was {} and is now {}; --override {} continues anyway, with other steps "
                "than an uninterrupted run",
                name_, what, stored, now, what);
        overridden.push_back(what);
    }

    /// Copies the given values into `config` after checking them. They may be those of another kind
    /// of model, which has the field under the same name.
    template <class Config>
    void take(Config& config, const FieldValues& given) {
        for (const auto& one : kFields<Config>) {
            const auto found = given.find(one.name);
            if (found == given.end()) continue;
            Config wanted = config;
            if (!one.set(wanted, found->second)) continue;
            if constexpr (std::is_same_v<Config, TrainingConfig>) {
                if (one.name == std::string_view("chat_template")) {
                    take_template(config, wanted.chat_template);
                    continue;
                }
            }
            const bool is_checked_base = base_is_checked && one.name == std::string_view("start");
            if (!changes_no_step(one.name) && !is_checked_base) {
                check(one.name, one.text(config), one.text(wanted));
            }
            config = std::move(wanted);
        }
    }

    std::vector<std::string> overridden;
    bool base_is_checked = false;  // by its checksum, so it may be in another directory

private:
    // A run stores the program with its system message.
    void take_template(TrainingConfig& config, const std::string& given) {
        std::string now = template_of(given);
        const std::string& stored = config.chat_template;
        if (stored == now || without_system(stored) == now) return;
        differ("chat_template", template_text(stored), template_text(now));
        config.chat_template = std::move(now);
    }

    const std::string& name_;
    const ResumeOptions& options_;
};

}  // namespace

ResumedConfig resumed_config(const CheckpointInfo& info, const std::string& name,
                             const ResumeOptions& options) {
    check_names(options.overrides);
    Differences differences(name, options);
    differences.check("version", info.version, std::string(version()));
    TrainingConfig config =
        training_config_from_json(info.config, fmt::format("{}: configuration", name));
    differences.base_is_checked = config.frozen_weights == WeightType::int8;
    // In f32, an instruction set and the one whose kernels it uses give the same bits.
    const auto kernels_of = [&config](std::string_view isa) {
        const bool same = common_settings(config.model_config()).compute == ComputeType::f32;
        return std::string(same ? parent_of(isa) : isa);
    };
    differences.check("isa", kernels_of(info.isa), kernels_of(name_of(current_isa())));
    require(!contains(options.given, "optimizer") || options.wanted.optimizer == config.optimizer,
            "{}: --optimizer {} cannot continue from the state of {}; start a new run from the "
            "weights (--model)",
            name, options.wanted.optimizer, config.optimizer);
    require(!contains(options.given, "task") || options.wanted.task == config.task,
            "{}: --task {} cannot continue from the state of a run whose task is {}", name,
            options.wanted.task, config.task);
    check_options_given(config.optimizer, options.given);
    const ModelRow& kind = row_of(config.model_config());
    const ModelRow& wanted_kind = row_of(options.wanted.model_config());
    require(!contains(options.given, "kind") || &kind == &wanted_kind,
            "{}: --kind {} cannot continue from the state of {}", name, wanted_kind.name,
            kind.phrase);
    check_model_options_given(config.model_config(), options.given);
    FieldValues given;
    options.wanted.visit_model(
        [&](const auto& model) { given = field_values(model, options.given); });
    config.visit_model([&](auto& model) { differences.take(model, given); });
    if (contains(options.given, "text") || contains(options.given, "data")) {
        config.text.clear();
        config.data.clear();
    }
    const double rate = config.lr;
    differences.take(config, field_values(options.wanted, options.given));
    // A base that is named anew is looked for there only.
    if (contains(options.given, "start")) config.start_place = options.wanted.start_place;
    // A rate that is now below the lowest would rise.
    const bool at_other_rate =
        contains(differences.overridden, "lr") && !contains(options.given, "min_lr");
    if (at_other_rate && config.min_lr >= config.lr && rate > 0) config.min_lr *= config.lr / rate;
    if (contains(differences.overridden, "minutes") && !contains(options.given, "steps")) {
        require(config.minutes > 0, "{}: without --minutes the run needs --steps", name);
        config.steps = TrainingConfig::kNoStepLimit;
    }
    return {config, differences.overridden};
}

void check_time_left(const CheckpointInfo& info, const RunState& run, const TrainingConfig& next,
                     const std::string& name) {
    const auto config_in = [&name](const std::string& config) {
        return training_config_from_json(config, name);
    };
    const TrainingConfig before = config_in(info.config);
    if (next.minutes == 0 || next.steps <= info.step) return;
    const bool is_same = next.minutes == before.minutes;
    if (is_same && info.step < before.steps) return;  // its last step may still be due
    // At its end, a run that time limits has the number of steps that it took.
    const bool has_ended = is_same && !run.segments.empty() &&
                           config_in(run.segments.back().config).steps > before.steps;
    require(
        !has_ended && run.seconds < 60 * next.minutes,
        "{}: after step {} the run has taken {:.3g} of its {} minutes, which leaves no time for "
        "more steps; give it more (--minutes M --override minutes), or no limit but --steps "
        "(--minutes 0 --steps N --override minutes steps)",
        name, info.step, run.seconds / 60, next.minutes);
}

void check_same_data(const CheckpointInfo& info, const std::string& name, const std::string& data,
                     const ResumeOptions& options, std::vector<std::string>& overridden) {
    Differences differences(name, options);
    differences.check("data", info.data, data);
    overridden.insert(overridden.end(), differences.overridden.begin(),
                      differences.overridden.end());
}

}  // namespace tapestry
