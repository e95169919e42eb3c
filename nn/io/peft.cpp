#include <tapestry/nn/io/peft.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/adapter_config.h>
#include <tapestry/nn/io/decoder_formats.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/ops/cast.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr const char* kLoraA = ".lora_A.weight";
constexpr const char* kLoraB = ".lora_B.weight";
constexpr const char* kBaseHash = "base_xxh3_128";  // in the metadata
constexpr const char* kBaseType = "base_weights";

// ---- names

struct UpdateName {
    std::string_view ours;    // below a block
    std::string_view theirs;  // below a layer
};

// GPT-2 has no gate; that of a GPT here is named as the others are.
constexpr std::array<UpdateName, 5> kGptNames{{
    {"attention.qkv.lora", "attn.c_attn"},
    {"attention.output.lora", "attn.c_proj"},
    {"feed_forward.gate.lora", "mlp.c_gate"},
    {"feed_forward.up.lora", "mlp.c_fc"},
    {"feed_forward.down.lora", "mlp.c_proj"},
}};

bool has_gpt2_names(const ModelConfig& config) { return std::holds_alternative<GPTConfig>(config); }

constexpr std::string_view kLora = ".lora";

std::optional<std::string> gpt2_part(std::string_view ours) {
    for (const UpdateName& name : kGptNames) {
        if (name.ours == ours) return std::string(name.theirs);
    }
    return std::nullopt;
}

// Of a family's modules; GPT-NeoX projects queries, keys and values together.
std::optional<std::string> decoder_part(const DecoderFormat& format, std::string_view ours) {
    constexpr std::string_view kQkv = "attention.qkv.lora";
    if (ours == kQkv && format.projections.size() == 1) return format.projections[0];
    if (ours == "attention.qkv.lora_query") return format.projections[0];
    if (ours == "attention.qkv.lora_key") return format.projections[1];
    if (ours == "attention.qkv.lora_value") return format.projections[2];
    for (const DecoderPart& part : format.parts) {
        if (ours == fmt::format("{}{}", part.ours, kLora)) return part.theirs;
    }
    return std::nullopt;
}

// "blocks.3.attention.qkv.lora_query" -> "model.layers.3.self_attn.q_proj"; nullopt for a module
// that the family's models do not have there.
std::optional<std::string> their_path(const ModelConfig& config, const std::string& ours) {
    const auto* const decoder = std::get_if<LlamaConfig>(&config);
    const DecoderFormat* const format =
        decoder == nullptr ? nullptr : &decoder_format_of(decoder->family);
    if (ours == "head.lora") return format == nullptr ? "lm_head" : format->head;
    constexpr std::string_view kBlocks = "blocks.";
    if (!ours.starts_with(kBlocks)) return std::nullopt;
    const std::size_t dot = ours.find('.', kBlocks.size());
    const std::string layer = ours.substr(kBlocks.size(), dot - kBlocks.size());
    const std::string_view part = std::string_view(ours).substr(dot + 1);
    const auto theirs = format == nullptr ? gpt2_part(part) : decoder_part(*format, part);
    if (!theirs) return std::nullopt;
    return fmt::format("{}.{}.{}", format == nullptr ? "transformer.h" : format->layers, layer,
                       *theirs);
}

// GPT-NeoX's rows of B for queries, keys and values [3, H, D] are [H, 3, D] in files.
bool has_mixed_heads(const ModelConfig& config, std::string_view path) {
    const auto* const decoder = std::get_if<LlamaConfig>(&config);
    return decoder != nullptr && decoder->family == LlamaFamily::gpt_neox &&
           path.ends_with("attention.qkv.lora");
}

std::int64_t heads_of(const ModelConfig& config) { return common_settings(config).heads; }

// B [3 H D, r] with its rows in the other order; `first` and `second` are 3 and H, or H and 3.
Tensor with_heads_moved(const Tensor& b, std::int64_t first, std::int64_t second) {
    const std::int64_t width = b.size(0) / (first * second), rank = b.size(1);
    const Tensor split = views::reshape(b, {first, second, width, rank});
    return views::reshape(dense(views::transpose(split, 0, 1)), {b.size(0), rank});
}

// What target_modules lists: the part after the layer's number. GPT-2's two c_proj need all of it,
// the names of a Llama only the last word.
std::string target_module(const ModelConfig& config, const std::string& theirs) {
    const std::size_t last = theirs.rfind('.');
    if (last == theirs.npos) return theirs;  // the head
    if (!has_gpt2_names(config)) return theirs.substr(last + 1);
    return theirs.substr(theirs.rfind('.', last - 1) + 1);
}

// ---- writing

using Updates = std::vector<std::pair<std::string, const LowRank*>>;

// rank_pattern or alpha_pattern: of the updates whose number is not that of the first.
template <class T>
void write_pattern(JsonWriter& json, const char* field, const ModelConfig& config,
                   const Updates& updates, T LowRankConfig::*number) {
    json.member(field, [&] {
        json.object([&] {
            for (const auto& [path, update] : updates) {
                const T own = update->config().*number;
                if (own == updates.front().second->config().*number) continue;
                json.member(*their_path(config, path), own);
            }
        });
    });
}

std::string adapter_config_json(const ModelConfig& config, const Updates& updates,
                                const std::vector<std::string>& targets, const std::string& base) {
    const LowRankConfig& update = updates.front().second->config();
    JsonWriter json(2);
    json.object([&] {
        write_pattern(json, "alpha_pattern", config, updates, &LowRankConfig::alpha);
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
        write_pattern(json, "rank_pattern", config, updates, &LowRankConfig::rank);
        json.member("target_modules", targets);
        json.member("task_type", "CAUSAL_LM");
        json.member("use_dora", false);
        json.member("use_rslora", update.rank_stabilized);
    });
    return json.text() + "\n";
}

// ---- reading

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

// The weights that an adapter was trained on. Of other numbers than f32 the bits differ anyway.
void check_same_base(const std::string& file, const std::map<std::string, std::string>& metadata,
                     const LanguageModel& model) {
    const auto then = metadata.find(kBaseHash);
    if (then == metadata.end() || model.parameters().front().dtype() != DType::f32) return;
    const std::string now = base_hash(model);
    require<IoError>(then->second == now,
                     "{}: the adapter was trained on other weights than the model has (checksum "
                     "{}, here {}): is this its base model, and unchanged?",
                     file, utf8::printable(then->second), now);
}

}  // namespace

std::string base_hash(const LanguageModel& model) {
    Checksum sum;
    for (const auto& [name, parameter] : model.named_parameters()) {
        sum.add(name);
        sum.add(bytes_of(dense(parameter)));
    }
    return sum.hex();
}

bool write_adapter(Commit& commit, const std::string& folder, const Module& model,
                   const ModelConfig& config, const NamedTensors& weights,
                   const AdapterBase& base) {
    const auto updates = lora_updates(model);
    const auto has_name = [&](const auto& one) {
        return their_path(config, one.first).has_value();
    };
    if (updates.empty() || !std::all_of(updates.begin(), updates.end(), has_name)) return false;
    const std::map<std::string, Tensor> by_name(weights.begin(), weights.end());
    NamedTensors tensors;
    std::vector<std::string> targets;
    for (const auto& [path, update] : updates) {
        const std::string theirs = *their_path(config, path);
        tensors.emplace_back(fmt::format("{}{}{}", kPeftPrefix, theirs, kLoraA),
                             by_name.at(path + ".a"));
        const Tensor& b = by_name.at(path + ".b");
        tensors.emplace_back(
            fmt::format("{}{}{}", kPeftPrefix, theirs, kLoraB),
            has_mixed_heads(config, path) ? with_heads_moved(b, 3, heads_of(config)) : b);
        const std::string target = target_module(config, theirs);
        if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
            targets.push_back(target);
        }
    }
    const auto in_folder = [&](const char* name) {
        return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
    };
    const std::string text = adapter_config_json(config, updates, targets, base.name);
    std::map<std::string, std::string> metadata{{"format", "pt"}};
    if (!base.hash.empty()) metadata[kBaseHash] = base.hash;
    if (base.is_int8) metadata[kBaseType] = "int8";
    commit.write(in_folder(kAdapterConfigName), text_file(kAdapterConfigName, text).write);
    commit.write(in_folder(kAdapterWeightsName),
                 [tensors, metadata](const fs::path& path, const WriteOptions& options) {
                     return write_safetensors(path, tensors, metadata, options);
                 });
    return true;
}

bool is_over_int8(const fs::path& directory) {
    const auto metadata = read_metadata(directory / kAdapterWeightsName);
    const auto type = metadata.find(kBaseType);
    return type != metadata.end() && type->second == "int8";
}

std::size_t load_adapter(const fs::path& directory, LanguageModel& model) {
    const AdapterConfig settings = read_adapter_config(directory / kAdapterConfigName);
    const fs::path path = directory / kAdapterWeightsName;
    const std::string file = path.string();
    std::map<std::string, Tensor> stored;
    std::error_code ignored;
    require<IoError>(
        fs::exists(path, ignored) || !fs::exists(directory / "adapter_model.bin", ignored),
        "{}: found adapter_model.bin, but only {} is supported (PEFT writes it: "
        "save_pretrained with safe_serialization=True)",
        directory.string(), kAdapterWeightsName);
    const SafetensorsFile read = read_safetensors(path);
    for (const auto& [name, tensor] : read.tensors) stored.emplace(name, tensor);
    require(lora_updates(model).empty(), "{}: the model has updates already", file);
    const ModelConfig kind = model.model_config();
    std::size_t count = 0;
    std::vector<std::tuple<LoraSite, LowRankConfig, Tensor, Tensor>> found;
    for (const LoraSite& site : lora_sites(model)) {
        const auto place = their_path(kind, update_path(site));
        if (!place) continue;
        const std::string theirs = fmt::format("{}{}", kPeftPrefix, *place);
        if (!stored.contains(theirs + kLoraA) && !stored.contains(theirs + kLoraB)) continue;
        const LowRankConfig config = settings.of(*place);
        const Tensor a =
            take_tensor(file, stored, theirs + kLoraA, {config.rank, site.layer->in()}, site);
        Tensor b = take_tensor(file, stored, theirs + kLoraB, {site.rows, config.rank}, site);
        if (has_mixed_heads(kind, update_path(site))) b = with_heads_moved(b, heads_of(kind), 3);
        found.emplace_back(site, config, a, b);
    }
    for (const auto& [name, tensor] : stored) {
        require<IoError>(
            name.ends_with(kLoraA) || name.ends_with(kLoraB),
            "{}: tensor \"{}\" is not an update but a whole module, as PEFT stores the "
            "embedding and the head if tokens were added; let PEFT merge such an "
            "adapter (merge_and_unload)",
            file, utf8::printable(name));
    }
    require<IoError>(stored.empty(),
                     "{}: tensor \"{}\" belongs to no matrix of the model that can have an update",
                     file, stored.empty() ? "" : utf8::printable(stored.begin()->first));
    require<IoError>(!found.empty(), "{}: has no updates", file);
    check_same_base(file, read.metadata, model);
    for (const auto& [site, config, a, b] : found) {  // before the model changes
        require(site.layer->int8() == nullptr,
                "{}: {} of the model is in int8 already; load the adapter first", file,
                site.target);
        check_low_rank(config, site.layer->in(), site.rows);
    }
    model.freeze();
    for (auto& [site, config, a, b] : found) {
        add_update(site, config, default_generator());
        site.update->a.copy_(to(a, site.update->a.dtype()));
        site.update->b.copy_(to(b, site.update->b.dtype()));
        ++count;
    }
    return count;
}

}  // namespace tapestry
