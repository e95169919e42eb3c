#include <tapestry/nn/models/model_registry.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/llama/llama.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <limits>

namespace tapestry {

// ---- configurations -----------------------------------------------------------------------------

CommonSettings common_settings(const ModelConfig& config) {
    return std::visit(
        [](const auto& c) {
            CommonSettings all{.context = 1,
                               .dim = c.dim,
                               .dropout = c.dropout,
                               .compute = c.compute,
                               .weights = c.weights};
            if constexpr (requires { c.layers; }) {
                all.layers = c.layers;
                all.heads = c.heads;
            }
            if constexpr (requires { c.context; }) all.context = c.context;
            if constexpr (requires { c.types; }) all.context = c.max_length;
            if constexpr (requires { c.classes; }) all.vocab = c.classes;
            if constexpr (requires { c.vocab; }) all.vocab = c.vocab;
            if constexpr (requires { c.target_vocab; }) all.vocab = c.target_vocab;
            if constexpr (requires { c.max_answer; }) all.vocab = c.max_length;
            return all;
        },
        config);
}

void set_context(ModelConfig& config, std::int64_t context) {
    std::visit(
        [context](auto& c) {
            if constexpr (requires { c.context; }) {
                c.context = context;
            } else if constexpr (requires { c.types; }) {
                c.max_length = context;
            }
        },
        config);
}

double parameter_count(const ModelConfig& config) {
    return std::visit([](const auto& c) { return parameter_count(c); }, config);
}

double training_bytes(const ModelConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    return std::visit(
        [&](const auto& c) { return training_bytes(c, batch, gradient_sets, moments); }, config);
}

double step_flops(const ModelConfig& config, std::int64_t batch) {
    return std::visit([&](const auto& c) { return step_flops(c, batch); }, config);
}

DType product_dtype(const ModelConfig& config) {
    return dtype_of(computed_type(common_settings(config)));
}

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// MemAvailable from /proc/meminfo in bytes; infinity if there is no such file.
double system_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    double kilobytes = 0;
    std::string unit;
    while (file >> name >> kilobytes >> unit) {
        if (name == "MemAvailable:") return 1024 * kilobytes;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return kUnlimited;
}

// The container's memory limit, beyond which the kernel kills processes. cgroups version 2 has
// "max" or bytes, version 1 bytes.
double container_memory() {
    double least = kUnlimited;
    for (const char* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(path);
        double bytes = 0;
        if (file >> bytes) least = std::min(least, bytes);
    }
    return least;
}

}  // namespace

void check_memory(const ModelConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                  std::int64_t moments) {
    const double needed = training_bytes(config, batch, gradient_sets, moments);
    const double available = std::min(system_memory(), container_memory());
    require(needed <= available,
            "training this model would need about {:.1f} GB of memory, but only {:.1f} GB are "
            "available; "
            "choose smaller --layers, --dim, --context or --batch",
            needed / 1e9, available / 1e9);
}

// ---- kinds --------------------------------------------------------------------------------------

namespace {

template <class Model, class Config>
std::unique_ptr<LanguageModel> make(const ModelConfig& config, Generator& generator) {
    return std::make_unique<Model>(std::get<Config>(config), generator);
}

LlamaConfig gpt_neox_defaults() {
    return {.family = LlamaFamily::gpt_neox,
            .rotary_share = 0.25,
            .qkv_bias = true,
            .output_bias = true,
            .feed_forward_bias = true,
            .activation = Activation::gelu_erf,
            .norm = NormKind::layer,
            .parallel = true,
            .tied_head = false};
}

LlamaConfig gpt_neo_defaults() {
    return {.family = LlamaFamily::gpt_neo,
            .positions = Positions::learned,
            .attention_scale = 1,
            .window = 256,
            .window_every = 2,
            .output_bias = true,
            .feed_forward_bias = true,
            .activation = Activation::gelu_tanh,
            .norm = NormKind::layer};
}

// Models of texts.
std::vector<ModelRow> rows_of_texts() {
    return {{.name = "gpt",
             .title = "GPT",
             .phrase = "a GPT",
             .summary = "layer norms before attention and feed-forward network, as in GPT-2",
             .defaults = GPTConfig{},
             .make = make<GPT, GPTConfig>},
            {.name = "llama",
             .title = "Llama",
             .phrase = "a Llama",
             .summary = "RMS norms, rotary positions, SwiGLU, no biases",
             .defaults = LlamaConfig{},
             .make = make<Llama, LlamaConfig>},
            {.name = "qwen3",
             .title = "Qwen3",
             .phrase = "a Qwen3",
             .summary = "a Llama with norms of queries and keys",
             .defaults = LlamaConfig{.family = LlamaFamily::qwen3,
                                     .rotary_base = 1e6,
                                     .qk_norm = QKNorm::rms,
                                     .norm_eps = 1e-6},
             .make = make<Llama, LlamaConfig>},
            {.name = "gpt_neox",
             .title = "GPT-NeoX",
             .phrase = "a GPT-NeoX",
             .summary = "layer norms, parallel branches, partial rotation, as in Pythia",
             .defaults = gpt_neox_defaults(),
             .make = make<Llama, LlamaConfig>},
            {.name = "gpt_neo",
             .title = "GPT-Neo",
             .phrase = "a GPT-Neo",
             .summary = "layer norms, learned positions, windows, as in TinyStories",
             .defaults = gpt_neo_defaults(),
             .make = make<Llama, LlamaConfig>}};
}

// Models of the other tasks.
std::vector<ModelRow> rows_of_tasks() {
    return {
        {.name = "bag",
         .title = "Bag of n-grams",
         .phrase = "a bag of n-grams",
         .summary = "for --task classify: vectors of hashed words and n-grams, averaged, as in "
                    "fastText",
         .defaults = BagConfig{},
         .make = nullptr,
         .task = "classify"},
        {.name = "transformer",
         .title = "Transformer",
         .phrase = "an encoder-decoder",
         .summary = "for --task translate: an encoder reads, a decoder that attends to it writes, "
                    "as in \"Attention Is All You Need\"",
         .defaults = TransformerConfig{.dim = 128,
                                       .heads = 4,
                                       .layers = 2,
                                       .norm_first = true,
                                       .max_length = 256,
                                       .share_embeddings = true,
                                       .label_smoothing = 0},
         .make = nullptr,
         .task = "translate"},
        {.name = "vit",
         .title = "Vision Transformer",
         .phrase = "a Vision Transformer",
         .summary = "for --task image: an encoder reads an image as patches, as in \"An Image is "
                    "Worth 16x16 Words\"",
         .defaults = VisionTransformerConfig{},
         .make = nullptr,
         .task = "image"},
        {.name = "masked",
         .title = "Masked language model",
         .phrase = "a model of masked tokens",
         .summary = "for --task mask: an encoder that looks both ways predicts masked tokens, as "
                    "in BERT",
         .defaults = MaskedLanguageModelConfig{.max_length = 64, .dropout = 0, .deviation = 0.05},
         .make = nullptr,
         .task = "mask"},
        {.name = "span",
         .title = "Span reader",
         .phrase = "a model that points at answers",
         .summary = "for --task answer: an encoder reads a question and a passage, and points at "
                    "the first and last token of the answer, as BERT does",
         .defaults = SpanConfig{},
         .make = nullptr,
         .task = "answer"},
        {.name = "table",
         .title = "Network for tables",
         .phrase = "a network for tables",
         .summary = "for --task table: numbers, and categories as vectors, through hidden layers",
         .defaults = TableConfig{},
         .make = nullptr,
         .task = "table"}};
}

}  // namespace

const std::vector<ModelRow>& model_rows() {
    static const std::vector<ModelRow> rows = [] {
        std::vector<ModelRow> all = rows_of_texts();
        for (ModelRow& row : rows_of_tasks()) all.push_back(std::move(row));
        return all;
    }();
    return rows;
}

namespace {

struct RegisteredModel {
    std::string name, phrase;  // that the row refers to
    ModelRow row = {};
};

// A row stays where it is when others are added.
std::deque<RegisteredModel>& registered_models() {
    static std::deque<RegisteredModel> all;
    return all;
}

// The first row of which is_it(row) holds; null if there is none.
template <class F>
const ModelRow* find_row(const F& is_it) {
    for (const ModelRow& row : model_rows()) {
        if (is_it(row)) return &row;
    }
    for (const RegisteredModel& one : registered_models()) {
        if (is_it(one.row)) return &one.row;
    }
    return nullptr;
}

}  // namespace

void register_custom_model(const std::string& task) {
    require(!task.empty(), "register_task: the name is empty");
    require(find_row([&](const ModelRow& row) { return row.name == task; }) == nullptr,
            "register_task: the name {} is taken by a kind of model", utf8::quoted(task, 40));
    RegisteredModel& one = registered_models().emplace_back();
    one.name = task;
    one.phrase = fmt::format("a model of the task {}", task);
    one.row = {.name = one.name.c_str(),
               .title = "Custom model",
               .phrase = one.phrase.c_str(),
               .summary = "made by a custom task",
               .defaults = CustomConfig{.name = task},
               .make = nullptr,
               .task = one.name.c_str()};
}

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    find_row([&](const ModelRow& row) {
        names.emplace_back(row.name);
        return false;
    });
    return names;
}

const ModelRow& model_row(std::string_view name) {
    const ModelRow* const found = find_row([&](const ModelRow& row) { return row.name == name; });
    require(found != nullptr, "unknown kind of model {}; must be one of {}", name,
            fmt::join(model_names(), ", "));
    return *found;
}

const ModelRow& row_of(const ModelConfig& config) {
    const auto* const llama = std::get_if<LlamaConfig>(&config);
    const auto* const custom = std::get_if<CustomConfig>(&config);
    const ModelRow* const found = find_row([&](const ModelRow& row) {
        if (row.defaults.index() != config.index()) return false;
        if (custom != nullptr) return custom->name == row.name;
        return llama == nullptr || std::get<LlamaConfig>(row.defaults).family == llama->family;
    });
    require(found != nullptr, "no task {} is registered, which a custom model is of",
            custom == nullptr ? "" : utf8::quoted(custom->name, 40));
    return *found;
}

std::unique_ptr<LanguageModel> make_model(const ModelConfig& config, Generator& generator) {
    const ModelRow& row = row_of(config);
    require(row.make != nullptr, "{} is not a language model", row.phrase);
    return row.make(config, generator);
}

}  // namespace tapestry
