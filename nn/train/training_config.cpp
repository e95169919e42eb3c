#include <tapestry/nn/train/training_config.h>

#include <tapestry/core/random.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/hugging_face.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tapestry {

std::int64_t TrainingConfig::micro_batch_size() const {
    require(micro_batches >= 1, "train: micro_batches must be at least 1, got {}", micro_batches);
    require(batch % micro_batches == 0,
            "train: micro_batches {} does not divide batch {}; all parts must have the same size",
            micro_batches, batch);
    return batch / micro_batches;
}

TrainOptions TrainingConfig::loop() const {
    TrainOptions options{.steps = steps,
                         .accumulate = accumulate,
                         .micro_batches = micro_batches,
                         .clip = clip,
                         .schedule = {},
                         .eval_every = eval_every};
    options.seconds = 60 * minutes;
    const WarmupCosine wave{.rate = lr, .min_rate = min_lr, .warmup = warmup, .steps = steps};
    const WarmupTrapezoid trapezoid{
        .rate = lr, .min_rate = min_lr, .warmup = warmup, .steps = steps, .cooldown = cooldown};
    if (schedule == RateCurve::cosine) {
        options.schedule = warmup_cosine_schedule(wave);
        options.timed_schedule = timed_cosine_schedule(wave);
    } else {
        options.schedule = trapezoid_schedule(trapezoid);
        options.timed_schedule = timed_trapezoid_schedule(trapezoid);
    }
    return options;
}

void TrainingConfig::set_model(const ModelConfig& config) {
    other_model.reset();
    if (const auto* gpt = std::get_if<GPTConfig>(&config)) {
        model = *gpt;
    } else {
        other_model = config;
    }
}

ModelConfig TrainingConfig::step_config() const {
    ModelConfig config = model_config();
    if (sequence > 0) set_context(config, sequence);
    return config;
}

const std::string& data_name(const TrainingConfig& config) {
    return config.data.empty() ? config.text : config.data;
}

void check_names(const TrainingConfig& config) {
    for_each_field<TrainingConfig>([&](const auto& one) {
        if constexpr (std::is_same_v<decltype(config.*one.member), const std::string&>) {
            const std::string& name = config.*one.member;
            require(!utf8::find_flaw(name),
                    "training: {} {} is not UTF-8, so a checkpoint cannot store it; use a link "
                    "with another name",
                    one.name, utf8::quoted(name, 300));
        }
    });
}

std::string to_json(const TrainingConfig& config) {
    check_names(config);
    ConfigWriter model, all;
    config.visit_model([&](const auto& fields) {
        write_fields(model, fields, WhichFields::all);  // the deviation at the start, too
    });
    write_fields(all, config);
    if (config.other_model) all.set("kind", row_of(*config.other_model).name);
    all.set("model", model);
    return all.text();
}

void check_counts(const TrainingConfig& config) {
    check_positive("training", config);
    const std::int64_t context = config.context();
    require(context > 0, "training: context must be positive, got {}", context);
    std::int64_t tokens = config.batch;
    const bool overflows = __builtin_mul_overflow(tokens, context, &tokens) ||
                           __builtin_mul_overflow(tokens, config.accumulate, &tokens);
    require(!overflows, "training: {} batches of {} sequences of {} tokens are too many to count",
            config.accumulate, config.batch, context);
}

TrainingConfig training_config_from_json(std::string_view json, std::string what) {
    const ConfigFile file(json, what);
    auto config = read_fields<TrainingConfig>(file);
    const auto kind = file.get<std::string>("kind", model_rows().front().name);
    check_known(file, "kind", kind, model_names());
    const ConfigFile fields = file.object("model");
    config.set_model(model_row(kind).defaults);
    config.visit_model([&](auto& model) { model = read_fields(fields, WhichFields::all, model); });
    try {
        check_counts(config);
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", what, error.what());
    }
    return config;
}

namespace {

template <class Config>
void take_all_but(const std::vector<std::string>& given, Config& config, const Config& from) {
    for_each_field<Config>([&](const auto& one) {
        if (std::find(given.begin(), given.end(), one.name) != given.end()) return;
        config.*one.member = from.*one.member;
    });
}

// Written for characters, the default model's size and two thousand times as many tokens as it has
// time for: few steps at a high rate, of a model that need not learn first what can be told to it.
TrainingConfig fast() {
    TrainingConfig config{.recipe = Recipe::fast};
    config.model.activation = Activation::relu_squared;
    config.model.positions = Positions::rotary;
    config.model.qk_norm = QKNorm::rms;
    config.model.bias = false;
    config.model.tied_head = false;
    config.model.zero_outputs = true;
    config.model.earlier = 2;
    config.optimizer = "muon";
    config.muon_momentum = 0.8;
    config.muon_iterations = 3;
    config.steps = 260;
    config.lr = 6e-3;
    config.min_lr = 0;
    config.warmup = 20;
    config.eval_every = config.steps;
    config.eval_batches = 200;
    return config;
}

// f(field) for the fields that are numbers or yes and no, as options of optimisers are.
template <class F>
void for_each_number(const F& f) {
    for_each_field<TrainingConfig>([&](const auto& one) {
        if constexpr (std::is_arithmetic_v<typename std::decay_t<decltype(one)>::Value>) f(one);
    });
}

}  // namespace

TrainingConfig settings_of(Recipe recipe) {
    switch (recipe) {
        case Recipe::standard: return {};
        case Recipe::fast: return fast();
    }
    fail("training: unknown recipe");
}

void set_optimizer(TrainingConfig& config, std::string_view name) {
    if (config.optimizer == name) return;
    const OptimizerRow& row = optimizer_row(name);
    const double ratio = row.defaults.at("lr") / optimizer_row(config.optimizer).defaults.at("lr");
    const double lr = config.lr * ratio;
    for_each_number([&](const auto& one) {
        using Value = typename std::decay_t<decltype(one)>::Value;
        const auto found = row.defaults.find(one.name);
        if (found != row.defaults.end()) config.*one.member = static_cast<Value>(found->second);
    });
    config.lr = lr;
    config.min_lr *= ratio;
    config.optimizer = name;
}

void fill_in_recipe(TrainingConfig& config, const std::vector<std::string>& given) {
    std::vector<std::string> kept = given;
    kept.emplace_back("recipe");
    const bool chosen = std::find(given.begin(), given.end(), "optimizer") != given.end();
    TrainingConfig from = settings_of(config.recipe);
    if (chosen) set_optimizer(from, config.optimizer);
    take_all_but(kept, config, from);
    take_all_but(kept, config.model, from.model);
    const bool limited = std::find(given.begin(), given.end(), "steps") != given.end();
    if (config.minutes > 0 && !limited) config.steps = TrainingConfig::kNoStepLimit;
    const bool ends = std::find(given.begin(), given.end(), "min_lr") != given.end();
    if (ends || config.min_lr < config.lr) return;
    config.min_lr = config.lr * from.min_lr / from.lr;
}

void make_exportable(TrainingConfig& config, std::vector<std::string>& given) {
    require(std::holds_alternative<GPTConfig>(config.model_config()),
            "--exportable: is for a GPT, and this model is {}",
            row_of(config.model_config()).phrase);
    const GPTConfig plain;
    for_each_field<GPTConfig>([&](const auto& one) {
        constexpr std::array<std::string_view, 7> kFields{
            "positions", "embedding_scale", "kv_heads", "qk_norm", "earlier", "pairs", "softcap"};
        const bool matters = std::find(kFields.begin(), kFields.end(), one.name) != kFields.end();
        if (!matters || std::find(given.begin(), given.end(), one.name) != given.end()) return;
        config.model.*one.member = plain.*one.member;
        given.emplace_back(one.name);
    });
    const std::string obstacle = export_obstacle(config.model);
    require(obstacle.empty(), "--exportable: {}", obstacle);
}

// ---- kinds of model -----------------------------------------------------------------------------

namespace {

bool is_among(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// f(field, value) for the fields of a model that are options.
template <class F>
void for_each_option(const ModelConfig& config, const F& f) {
    std::visit(
        [&](const auto& model) {
            for (const auto& one : fields_of(model)) {
                const bool is_option = one.traits.in_command && is_model_option(one.name);
                if (is_option) f(one, one.text(model));
            }
        },
        config);
}

}  // namespace

bool is_model_option(std::string_view field) {
    static const std::set<std::string_view> others{
        "vocab",        "source_vocab",    "target_vocab",   "classes",
        "padding_id",   "norm_eps",        "rotary_pairs",   "norm",
        "parallel",     "qkv_bias",        "output_bias",    "feed_forward_bias",
        "window_every", "attention_scale", "height",         "width",
        "channels",     "types",           "position_form",  "numbers",
        "columns",      "values",          "several_labels", "name",
        "parameters",   "settings"};
    return !others.contains(field);
}

ModelConfig model_of_kind(std::string_view kind, const std::vector<ModelConfig>& models,
                          const std::vector<std::string>& given) {
    ModelConfig chosen = model_row(kind).defaults;
    for (auto one = models.rbegin(); one != models.rend(); ++one) {
        const FieldValues values =
            std::visit([&](const auto& model) { return field_values(model, given); }, *one);
        std::visit(
            [&](auto& to) {
                for (const auto& row : fields_of(to)) {
                    const auto found = values.find(row.name);
                    if (found != values.end()) row.set(to, found->second);
                }
            },
            chosen);
    }
    return chosen;
}

namespace {

// Why a kind of model does not have these options, where its others do not say it.
std::string reason_for(const ModelConfig& model, const std::vector<std::string>& foreign) {
    if (!is_among(foreign, "--attention") || !std::holds_alternative<LlamaConfig>(model)) return "";
    return " (its format, which transformers reads, has softmax only, over all positions or the "
           "last --window of them)";
}

}  // namespace

void check_model_options_given(const ModelConfig& model, const std::vector<std::string>& given) {
    std::vector<std::string> own, foreign;
    std::string options;
    for_each_option(model, [&](const FieldInfo& one, const std::string&) {
        own.emplace_back(one.name);
        options += (options.empty() ? "" : ", ") + option_name(one);
    });
    for (const ModelRow& row : model_rows()) {
        for_each_option(row.defaults, [&](const FieldInfo& one, const std::string&) {
            const std::string option = option_name(one);
            const bool is_new =
                is_among(given, one.name) && !is_among(own, one.name) && !is_among(foreign, option);
            if (is_new) foreign.push_back(option);
        });
    }
    require(foreign.empty(), "train: {} has no {}{}; its options are {}", row_of(model).phrase,
            fmt::join(foreign, ", "), reason_for(model, foreign), options);
}

std::string kind_for_task(std::string_view task) {
    for (const std::string& name : model_names()) {
        if (model_row(name).task == task) return name;
    }
    fail("no kind of model is for the task {}", task);
}

std::string models_text() {
    std::string text;
    for (const ModelRow& row : model_rows()) {
        text += fmt::format("  {:<12} {}\n              ", row.name, row.summary);
        for_each_option(row.defaults, [&](const FieldInfo& one, const std::string& value) {
            text += fmt::format(" {} {}", option_name(one), value);
        });
        text += '\n';
    }
    return text;
}

Generator stream(std::uint64_t seed, Stream name) {
    return Generator(seed * 4 + static_cast<std::uint64_t>(name));
}

OptimizerOptions optimizer_options(const TrainingConfig& config) {
    OptimizerOptions options = optimizer_row(config.optimizer).defaults;
    for_each_number([&](const auto& one) {
        const auto found = options.find(one.name);
        if (found != options.end()) found->second = static_cast<double>(config.*one.member);
    });
    const auto seed = options.find("rounding_seed");
    if (seed != options.end()) {
        seed->second = static_cast<double>(stream(config.seed, "rounding").seed() >> 11U);
    }
    return options;
}

std::unique_ptr<Optimizer> make_optimizer(const Module& model, const TrainingConfig& config) {
    return make_optimizer(model, config.optimizer, optimizer_options(config));
}

bool is_foreign_option(std::string_view optimizer, std::string_view field) {
    const std::string name(field);
    if (optimizer_row(optimizer).defaults.contains(name)) return false;
    const auto& rows = optimizer_rows();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const OptimizerRow& row) { return row.defaults.contains(name); });
}

void check_options_given(std::string_view optimizer, const std::vector<std::string>& given) {
    std::string foreign, own;
    for_each_number([&](const auto& one) {
        const auto add = [&one](std::string& to) {
            to += (to.empty() ? "" : ", ") + option_name(one);
        };
        if (optimizer_row(optimizer).defaults.contains(one.name)) {
            add(own);
        } else if (is_foreign_option(optimizer, one.name) &&
                   std::find(given.begin(), given.end(), one.name) != given.end()) {
            add(foreign);
        }
    });
    require(foreign.empty(), "train: --optimizer {} has no {}; its options are {}", optimizer,
            foreign, own);
}

std::string optimizers_text() {
    std::string text;
    for (const OptimizerRow& row : optimizer_rows()) {
        TrainingConfig config;
        set_optimizer(config, row.name);
        text += fmt::format("  {:<9}{}\n          ", row.name, row.summary);
        for_each_number([&](const auto& one) {
            if (!row.defaults.contains(one.name)) return;
            text += fmt::format(" {} {}", option_name(one), value_text(config.*one.member));
        });
        text += '\n';
    }
    return text;
}

}  // namespace tapestry
