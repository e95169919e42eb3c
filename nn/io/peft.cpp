#include <tapestry/nn/io/peft.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/ops/cast.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr const char* kLoraA = ".lora_A.weight";
constexpr const char* kLoraB = ".lora_B.weight";

// ---- names

struct UpdateName {
    std::string_view ours;    // below a block
    std::string_view theirs;  // below a layer
};

constexpr std::array<UpdateName, 7> kLlamaNames{{
    {"attention.qkv.lora_query", "self_attn.q_proj"},
    {"attention.qkv.lora_key", "self_attn.k_proj"},
    {"attention.qkv.lora_value", "self_attn.v_proj"},
    {"attention.output.lora", "self_attn.o_proj"},
    {"feed_forward.gate.lora", "mlp.gate_proj"},
    {"feed_forward.up.lora", "mlp.up_proj"},
    {"feed_forward.down.lora", "mlp.down_proj"},
}};
// GPT-2 has no gate; that of a GPT here is named as the others are.
constexpr std::array<UpdateName, 5> kGptNames{{
    {"attention.qkv.lora", "attn.c_attn"},
    {"attention.output.lora", "attn.c_proj"},
    {"feed_forward.gate.lora", "mlp.c_gate"},
    {"feed_forward.up.lora", "mlp.c_fc"},
    {"feed_forward.down.lora", "mlp.c_proj"},
}};

// Modules of the other families have other names there, and query, key and value share one.
bool has_peft_names(const ModelConfig& config) {
    const auto* const decoder = std::get_if<LlamaConfig>(&config);
    return decoder == nullptr || decoder->family == LlamaFamily::llama ||
           decoder->family == LlamaFamily::qwen3;
}

bool has_gpt2_names(const ModelConfig& config) { return std::holds_alternative<GPTConfig>(config); }

template <std::size_t N>
std::string their_part(const std::array<UpdateName, N>& names, std::string_view ours) {
    for (const UpdateName& name : names) {
        if (name.ours == ours) return std::string(name.theirs);
    }
    fail("adapter: PEFT's format has no name for the update {}", ours);
}

// "blocks.3.attention.qkv.lora_query" -> "model.layers.3.self_attn.q_proj"
std::string their_path(const ModelConfig& config, const std::string& ours) {
    if (ours == "head.lora") return "lm_head";
    constexpr std::string_view kBlocks = "blocks.";
    require(ours.starts_with(kBlocks), "adapter: PEFT's format has no name for the update {}",
            ours);
    const std::size_t dot = ours.find('.', kBlocks.size());
    const std::string layer = ours.substr(kBlocks.size(), dot - kBlocks.size());
    const std::string_view part = std::string_view(ours).substr(dot + 1);
    return has_gpt2_names(config)
               ? fmt::format("transformer.h.{}.{}", layer, their_part(kGptNames, part))
               : fmt::format("model.layers.{}.{}", layer, their_part(kLlamaNames, part));
}

// What target_modules lists: the part after the layer's number. GPT-2's two c_proj need all of it,
// the names of a Llama only the last word.
std::string target_module(const ModelConfig& config, const std::string& theirs) {
    if (theirs == "lm_head") return theirs;
    const std::size_t last = theirs.rfind('.');
    if (!has_gpt2_names(config)) return theirs.substr(last + 1);
    return theirs.substr(theirs.rfind('.', last - 1) + 1);
}

// ---- writing

std::string adapter_config_json(const ModelConfig& config, const LowRankConfig& update,
                                const std::vector<std::string>& targets, const std::string& base) {
    JsonWriter json(2);
    json.object([&] {
        json.member("base_model_name_or_path", base);
        json.member("bias", "none");
        json.member("fan_in_fan_out", has_gpt2_names(config));  // GPT-2's matrices are transposed
        json.member("inference_mode", true);
        json.member("init_lora_weights", true);
        json.member("lora_alpha", update.alpha);
        json.member("lora_dropout", update.dropout);
        json.member("modules_to_save", nullptr);
        json.member("peft_type", "LORA");
        json.member("r", update.rank);
        json.member("target_modules", targets);
        json.member("task_type", "CAUSAL_LM");
        json.member("use_dora", false);
        json.member("use_rslora", update.rank_stabilized);
    });
    return json.text() + "\n";
}

// ---- reading

// Settings that change nothing here: places, names, and how training began.
const std::set<std::string>& harmless() {
    static const std::set<std::string> names{"auto_mapping",
                                             "base_model_name_or_path",
                                             "bias",
                                             "exclude_modules",
                                             "fan_in_fan_out",
                                             "inference_mode",
                                             "init_lora_weights",
                                             "layers_pattern",
                                             "layers_to_transform",
                                             "lora_alpha",
                                             "lora_dropout",
                                             "megatron_core",
                                             "peft_type",
                                             "peft_version",
                                             "qalora_group_size",
                                             "r",
                                             "revision",
                                             "target_modules",
                                             "task_type",
                                             "use_rslora"};
    return names;
}

// null, false, 0, "", [] and {} turn a setting off.
bool is_off(const JsonNode& value) {
    switch (value.kind()) {
        case JsonKind::null: return true;
        case JsonKind::boolean: return !value.get<bool>();
        case JsonKind::number: return value.holds<double>() && value.get<double>() == 0;
        case JsonKind::string: return value.get<std::string>().empty();
        case JsonKind::array: return value.elements().empty();
        case JsonKind::object: return value.members().empty();
    }
    return false;
}

void check_adapter_settings(const std::string& file, const JsonNode& root) {
    for (const auto& [name, value] : root.members()) {
        require<IoError>(harmless().contains(name) || is_off(value),
                         "{}: \"{}\" is {}, which changes what the adapter computes and is not "
                         "supported",
                         file, utf8::printable(name), utf8::printable(value.shown()));
    }
    const auto type = root.get<std::string>("peft_type");
    require<IoError>(type == "LORA", "{}: \"peft_type\" is \"{}\"; only \"LORA\" is supported",
                     file, utf8::printable(type));
    const auto bias = root.find("bias");
    require<IoError>(!bias || bias->get<std::string>() == "none",
                     "{}: \"bias\" is {}; only \"none\" is supported", file,
                     bias ? utf8::printable(bias->shown()) : "");
    const auto initial = root.find("init_lora_weights");
    if (!initial || !initial->is(JsonKind::string)) return;
    const auto name = initial->get<std::string>();
    constexpr std::array<std::string_view, 3> kKnown{"gaussian", "eva", "orthogonal"};
    require<IoError>(std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end(),
                     "{}: \"init_lora_weights\" is \"{}\": such an adapter belongs to weights that "
                     "differ from the base model's; let PEFT convert it "
                     "(path_initial_model_for_weight_conversion)",
                     file, utf8::printable(name));
}

LowRankConfig read_adapter_config(const fs::path& path) {
    constexpr std::uint64_t kMostOfSettings = 1 << 20;
    const std::string file = path.string();
    try {
        const JsonTree tree(read_file(path, kMostOfSettings));
        const JsonNode root = tree.root();
        check_adapter_settings(file, root);
        LowRankConfig config{.rank = root.count("r")};
        require<IoError>(config.rank >= 1, "{}: \"r\" is {}; must be at least 1", file,
                         config.rank);
        config.alpha = root.find("lora_alpha") ? root.get<double>("lora_alpha") : 8;  // PEFT's
        config.dropout = root.find("lora_dropout") ? root.get<double>("lora_dropout") : 0;
        config.rank_stabilized = root.find("use_rslora") && root.get<bool>("use_rslora");
        return config;
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", file, error.what());
    }
}

// Takes a tensor of this shape out of the stored ones.
Tensor take_tensor(const std::string& file, std::map<std::string, Tensor>& stored,
                   const std::string& name, const Shape& shape, const LoraSite& site) {
    const auto found = stored.find(name);
    require<IoError>(found != stored.end(), "{}: tensor \"{}\" is missing", file, name);
    const Tensor tensor = found->second;
    stored.erase(found);
    require<IoError>(tensor.shape() == shape,
                     "{}: tensor \"{}\" is {}, but the rank and {} of {} need {}: is this the "
                     "adapter's base model?",
                     file, name, tensor.shape(), site.target, site.path, shape);
    return tensor;
}

}  // namespace

void write_adapter(Commit& commit, const std::string& folder, const Module& model,
                   const ModelConfig& config, const NamedTensors& weights,
                   const std::string& base) {
    const auto updates = lora_updates(model);
    if (updates.empty() || !has_peft_names(config)) return;
    const std::map<std::string, Tensor> by_name(weights.begin(), weights.end());
    NamedTensors tensors;
    std::vector<std::string> targets;
    for (const auto& [path, update] : updates) {
        const std::string theirs = their_path(config, path);
        tensors.emplace_back(fmt::format("{}{}{}", kPeftPrefix, theirs, kLoraA),
                             by_name.at(path + ".a"));
        tensors.emplace_back(fmt::format("{}{}{}", kPeftPrefix, theirs, kLoraB),
                             by_name.at(path + ".b"));
        const std::string target = target_module(config, theirs);
        if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
            targets.push_back(target);
        }
    }
    const auto in_folder = [&](const char* name) {
        return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
    };
    const std::string text =
        adapter_config_json(config, updates.front().second->config(), targets, base);
    commit.write(in_folder(kAdapterConfigName), text_file(kAdapterConfigName, text).write);
    commit.write(in_folder(kAdapterWeightsName),
                 [tensors](const fs::path& path, const WriteOptions& options) {
                     return write_safetensors(path, tensors, {{"format", "pt"}}, options);
                 });
}

std::size_t load_adapter(const fs::path& directory, LanguageModel& model) {
    const LowRankConfig config = read_adapter_config(directory / kAdapterConfigName);
    const fs::path path = directory / kAdapterWeightsName;
    const std::string file = path.string();
    std::map<std::string, Tensor> stored;
    for (auto& [name, tensor] : read_safetensors(path).tensors) stored.emplace(name, tensor);
    require(lora_updates(model).empty(), "{}: the model has updates already", file);
    const ModelConfig kind = model.model_config();
    require(has_peft_names(kind),
            "{}: adapters of a {} are not read: only of GPT-2, Llama and Qwen3", file,
            model.kind());
    std::size_t count = 0;
    std::vector<std::tuple<LoraSite, Tensor, Tensor>> found;
    for (const LoraSite& site : lora_sites(model)) {
        const std::string theirs =
            fmt::format("{}{}", kPeftPrefix, their_path(kind, update_path(site)));
        if (!stored.contains(theirs + kLoraA) && !stored.contains(theirs + kLoraB)) continue;
        const Tensor a = take_tensor(file, stored, theirs + kLoraA,
                                     {config.rank, site.layer->weight.size(1)}, site);
        const Tensor b = take_tensor(file, stored, theirs + kLoraB, {site.rows, config.rank}, site);
        found.emplace_back(site, a, b);
    }
    require<IoError>(stored.empty(),
                     "{}: tensor \"{}\" belongs to no matrix of the model that can have an update",
                     file, stored.empty() ? "" : utf8::printable(stored.begin()->first));
    require<IoError>(!found.empty(), "{}: has no updates", file);
    for (const auto& one : found) {  // before the model changes
        const LoraSite& site = std::get<0>(one);
        check_low_rank(config, site.layer->weight.size(1), site.rows);
    }
    model.freeze();
    for (auto& [site, a, b] : found) {
        add_update(site, config, default_generator());
        site.update->a.copy_(to(a, site.update->a.dtype()));
        site.update->b.copy_(to(b, site.update->b.dtype()));
        ++count;
    }
    return count;
}

}  // namespace tapestry
