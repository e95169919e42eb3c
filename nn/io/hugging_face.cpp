// Settings and names, then reading and writing.
#include <tapestry/nn/io/hugging_face.h>

#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/activation_names.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/decoder_formats.h>
#include <tapestry/nn/io/foreign_tokenizer.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/hugging_face_decoder.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/shards.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/llama/llama.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTransformer = "transformer.";
constexpr std::string_view kHeadWeight = "lm_head.weight";

// ---- settings

// Settings that change the results and that our GPT does not have must have the value that turns
// them off. reorder_and_upcast_attn may be anything: it computes scores in f32, as we always do.
void check_supported(const ConfigFile& file) {
    const auto type = file.get<std::string>("model_type", "gpt2");
    const auto classes = file.get<std::vector<std::string>>("architectures", {});
    const auto is_gpt2 = [](const std::string& name) { return name.starts_with("GPT2"); };
    require<IoError>(file.has("model_type") || std::all_of(classes.begin(), classes.end(), is_gpt2),
                     "{}: \"model_type\" is missing; of a {} it cannot be guessed", file.path(),
                     classes.empty() ? "" : utf8::printable(classes.front()));
    if (type != "gpt2") {
        std::string known = "\"gpt2\"";
        for (const DecoderFormat& one : decoder_formats()) {
            known += fmt::format(", \"{}\"", one.model_type);
        }
        fail<IoError>("{}: \"model_type\" is \"{}\"; must be one of {}", file.path(),
                      utf8::printable(type), known);
    }
    constexpr std::array<std::pair<const char*, bool>, 3> kNeeded{
        {{"scale_attn_weights", true},
         {"scale_attn_by_inverse_layer_idx", false},
         {"add_cross_attention", false}}};
    for (const auto& setting : kNeeded) {
        const bool value = file.get<bool>(setting.first, setting.second);
        require<IoError>(value == setting.second, "{}: \"{}\" is {}, which is not supported",
                         file.path(), setting.first, value);
    }
}

// The key of a setting; n_positions is called n_ctx in old files.
const char* place_of(const char* name, const ConfigFile& file) {
    const bool old =
        name == std::string_view("n_positions") && !file.has(name) && file.has("n_ctx");
    return old ? "n_ctx" : name;
}

// Reads the configuration; the model's sizes have no useful defaults in transformers.
GPTConfig read_config(const ConfigFile& file) {
    check_supported(file);
    GPTConfig config;
    for_each_field<GPTConfig>([&](const auto& one) {
        using Value = typename std::decay_t<decltype(one)>::Value;
        if constexpr (!std::is_enum_v<Value>) {
            if (one.traits.gpt2 == nullptr) return;
            const char* name = place_of(one.traits.gpt2, file);
            const bool size = std::is_same_v<Value, std::int64_t> && one.traits.required;
            Value& value = config.*one.member;
            value = size ? file.get<Value>(name) : file.get<Value>(name, value);
        }
    });
    const auto dropout = [&file](const char* name) {
        const double p = file.get(name, 0.1);
        require<IoError>(p >= 0, "{}: \"{}\" is {}; must be at least 0", file.path(), name, p);
        return p;
    };
    config.dropout = dropout("resid_pdrop");
    if (const double p = dropout("embd_pdrop"); p != config.dropout) config.embedding_dropout = p;
    if (const double p = dropout("attn_pdrop"); p != config.dropout) config.attention_dropout = p;
    config.activation = read_activation(file, "activation_function", "gelu_new");
    return config;
}

std::string config_json(const GPTConfig& config, DType dtype, const Tokenizer* tokenizer,
                        const TextConventions& conventions) {
    const bool usual = config.hidden == 0 || config.hidden == 4 * config.dim;
    JsonWriter json(2);
    json.object([&] {
        json.member("architectures", std::array<const char*, 1>{"GPT2LMHeadModel"});
        json.member("model_type", "gpt2");
        json.member("activation_function", name_of(config.activation));
        json.member("attn_pdrop", attention_dropout(config));
        json.member("embd_pdrop", embedding_dropout(config));
        write_text_ids(json, conventions, text_end(tokenizer));
        json.member("n_ctx", config.context);
        json.member("reorder_and_upcast_attn", false);
        json.member("resid_pdrop", config.dropout);
        json.member("scale_attn_by_inverse_layer_idx", false);
        json.member("scale_attn_weights", true);
        json.member(kTokenizerSetting, tokenizer == nullptr ? "none" : tokenizer->kind());
        json.member("torch_dtype", row_of(dtype).torch);
        for_each_field<GPTConfig>([&](const auto& one) {
            using Value = typename std::decay_t<decltype(one)>::Value;
            if constexpr (!std::is_enum_v<Value>) {
                if (one.traits.gpt2 == nullptr) return;
                const bool is_null = usual && one.traits.gpt2 == std::string_view("n_inner");
                is_null ? json.member(one.traits.gpt2, nullptr)
                        : json.member(one.traits.gpt2, config.*one.member);
            }
        });
    });
    return json.text() + "\n";
}

// ---- names

struct PartName {
    std::string_view ours, theirs;
    bool transposed;  // whether its weight is
};

constexpr std::array<PartName, 6> kLayerParts{{{"attention_norm", "ln_1", false},
                                               {"attention.qkv", "attn.c_attn", true},
                                               {"attention.output", "attn.c_proj", true},
                                               {"feed_forward_norm", "ln_2", false},
                                               {"feed_forward.up", "mlp.c_fc", true},
                                               {"feed_forward.down", "mlp.c_proj", true}}};
constexpr std::array<PartName, 4> kTopParts{{{"token_embedding", "wte", false},
                                             {"position_embedding", "wpe", false},
                                             {"final_norm", "ln_f", false},
                                             {"head", "lm_head", false}}};

template <std::size_t N>
const PartName& find_part(const std::array<PartName, N>& parts, std::string_view ours,
                          const std::string& name) {
    for (const PartName& part : parts) {
        if (part.ours == ours) return part;
    }
    fail("export: GPT-2 has no place for the parameter {}", name);
}

// "blocks.3.attention.qkv.weight" -> "h.3.attn.c_attn.weight", transposed
StoredParameter stored_as(const std::string& name, const Tensor& parameter) {
    const std::string_view all = name;
    const std::size_t dot = all.rfind('.');
    const std::string_view leaf = all.substr(dot + 1);  // "weight"
    constexpr std::string_view kBlocks = "blocks.";
    if (!all.starts_with(kBlocks)) {
        const PartName& part = find_part(kTopParts, all.substr(0, dot), name);
        return {fmt::format("{}.{}", part.theirs, leaf), parameter, false};
    }
    const std::size_t end = all.find('.', kBlocks.size());  // of the layer's number
    const PartName& part = find_part(kLayerParts, all.substr(end + 1, dot - end - 1), name);
    const std::string_view layer = all.substr(kBlocks.size(), end - kBlocks.size());
    return {fmt::format("h.{}.{}.{}", layer, part.theirs, leaf), parameter,
            part.transposed && leaf == "weight"};
}

std::vector<StoredParameter> stored_parameters(const GPT& model) {
    std::vector<StoredParameter> parameters;
    for (const auto& [name, parameter] : model.named_parameters()) {
        parameters.push_back(stored_as(name, parameter));
    }
    return parameters;
}

std::string without_prefix(const std::string& wrapped) {
    const std::string name = without_wrappers(wrapped);
    return name.starts_with(kTransformer) ? name.substr(kTransformer.size()) : name;
}

// Replaces the beginning of a dotted name, `theirs` by `ours`; false if it does not begin so.
bool replace_beginning(std::string& name, std::string_view theirs, std::string_view ours) {
    const bool begins = (name + '.').starts_with(fmt::format("{}.", theirs));
    if (begins) name.replace(0, theirs.size(), ours);
    return begins;
}

// "h.11.attn.c_attn.weight" -> "blocks.11.attention.qkv.weight"; unknown names stay.
std::string own_name(const std::string& given) {
    std::string name = without_prefix(given);
    for (const PartName& part : kTopParts) {
        if (replace_beginning(name, part.theirs, part.ours)) return name;
    }
    if (!replace_beginning(name, "h", "blocks")) return given;
    const std::size_t end = name.find('.', std::min(name.find('.'), name.size() - 1) + 1);
    if (end == name.npos) return name;
    std::string inner = name.substr(end + 1);
    for (const PartName& part : kLayerParts) replace_beginning(inner, part.theirs, part.ours);
    replace_beginning(inner, "attn", "attention");
    replace_beginning(inner, "mlp", "feed_forward");
    return name.substr(0, end + 1) + inner;
}

// ---- reading

// Full names, to detect an extra layer.
std::set<std::string> mask_names(const GPTConfig& config) {
    std::set<std::string> names;
    for (std::int64_t i = 0; i < config.layers; ++i) {
        names.insert(fmt::format("h.{}.attn.bias", i));
        names.insert(fmt::format("h.{}.attn.masked_bias", i));
    }
    return names;
}

void load_weights(const SavedFiles& files, GPT& model, WeightType weights) {
    const std::set<std::string> masks = mask_names(model.config());
    const auto wanted = [&masks](const std::string& name) {  // masks may have any dtype
        return masks.count(without_prefix(name)) == 0;
    };
    std::vector<StoredParameter> parameters = stored_parameters(model);
    if (weights == WeightType::int8) quantize_when_filled(parameters, model);
    std::map<std::string, Tensor> others =
        read_parameters(files, wanted, without_prefix, std::move(parameters));
    const std::string file = weight_files(files).front().string();
    if (model.config().tied_head) {
        drop_copy_of_head(file, others, std::string(kHeadWeight), "wte.weight",
                          model.token_embedding.weight);
    }
    check_all_used(file, others);
}

// ---- writing

void check_expressible(const GPT& model) {
    const std::string obstacle = export_obstacle(model.config());
    require(obstacle.empty(), "export: {}", obstacle);
    for (const auto& [name, parameter] : model.named_parameters()) {
        const bool known = parameter.dtype() == DType::f32 || parameter.dtype() == DType::bf16;
        require(known, "export: parameter {} is {}, neither f32 nor bf16", name, parameter.dtype());
    }
}

// The name in GPT2LMHeadModel.
std::string full_name(const std::string& name) {
    return name == kHeadWeight ? name : std::string(kTransformer) + name;
}

NamedTensors tensors_of(const GPT& model) {
    NamedTensors tensors;
    for (const StoredParameter& one : stored_parameters(model)) {
        tensors.emplace_back(full_name(one.name), one.transposed
                                                      ? views::transpose(one.parameter, 0, 1)
                                                      : one.parameter);
    }
    if (model.config().bias) return tensors;
    // [out, in] or [C]: the first size is the bias's in either case.
    for (const StoredParameter& one : stored_parameters(model)) {
        const std::string part = one.name.substr(0, one.name.rfind('.'));
        if (part == "wte" || part == "wpe" || part == "lm_head") continue;
        tensors.emplace_back(full_name(part + ".bias"),
                             zeros({one.parameter.size(0)}, one.parameter.dtype()));
    }
    return tensors;
}

}  // namespace

std::string export_obstacle(const GPTConfig& config) {
    const auto supports = [](const char* what, std::string_view found) {
        return fmt::format("GPT-2's format supports {} only, but this model's {}", what, found);
    };
    const auto lacks = [](const char* what, std::string_view found) {
        return fmt::format("GPT-2's format has no {}, but this model {}", what, found);
    };
    if (config.form != "softmax") {
        return supports("softmax attention", "form is " + utf8::quoted(config.form));
    }
    if (config.positions != Positions::learned) {
        return supports("learned positions",
                        fmt::format("are {}", name_of_value(config.positions)));
    }
    if (const double scale = embedding_scale(config); scale != 1) {
        return lacks("factor of the embeddings", fmt::format("has {}", scale));
    }
    if (config.kv_heads != 0 && config.kv_heads != config.heads) {
        return fmt::format(
            "in GPT-2's format each head has separate keys and values, but in this model {} heads "
            "share {}",
            config.heads, config.kv_heads);
    }
    if (config.qk_norm != QKNorm::none) {
        return fmt::format(
            "GPT-2's format has no norms of queries and keys, but this model's are {}",
            name_of_value(config.qk_norm));
    }
    if (name_of(config.activation) == nullptr) {
        return "GPT-2's format has no name for the activation swiglu";
    }
    if (config.earlier != 0 || config.pairs != 0) return lacks("tables of earlier tokens", "has");
    if (config.softcap != 0) {
        return lacks("soft cap of logits", fmt::format("has {}", config.softcap));
    }
    return "";
}

bool is_hugging_face(const ConfigFile& file) {
    return !file.has("model") && (file.has("model_type") || file.has("architectures"));
}

bool is_hugging_face(const fs::path& directory) {
    const fs::path config = directory / kConfigName;
    return is_there(config) && is_hugging_face(ConfigFile(config));
}

bool is_own_export(const fs::path& directory) {
    return is_hugging_face(directory) && ConfigFile(directory / kConfigName).has(kTokenizerSetting);
}

std::vector<std::string> own_names(const Module& module, const std::vector<std::string>& names) {
    const NamedTensors parameters = module.named_parameters(false);
    std::vector<std::string> own;
    for (const std::string& name : names) {
        const auto is_below = [&](const auto& parameter) {
            std::string path = parameter.first;
            return replace_beginning(path, name, name);
        };
        const bool known = std::any_of(parameters.begin(), parameters.end(), is_below);
        own.push_back(known ? name : own_name(name));
    }
    return own;
}

LoadedModel load_hugging_face(const fs::path& directory) {
    const SavedFiles files(directory);
    return load_hugging_face(ConfigFile(files.path(kConfigName)), files);
}

LoadedModel load_hugging_face(const ConfigFile& file, const SavedFiles& files, WeightType weights) {
    const DecoderFormat* const format = decoder_format_of(file);
    if (format != nullptr) return load_hugging_face_decoder(file, files, *format, weights);
    const GPTConfig config = read_config(file);
    LoadedModel loaded{nullptr, read_foreign_tokenizer(file, files), {}};
    loaded.conventions = read_text_conventions(file, files, loaded.tokenizer.get());
    if (loaded.tokenizer) check_vocabulary(*loaded.tokenizer, config.vocab, files.directory());
    check_weights_exist(files);
    require<IoError>(config.norm_eps >= 0, "{}: the norms' epsilon must be >= 0, got {}",
                     file.path(), config.norm_eps);
    loaded.model = make_model(config, files, weights);
    load_weights(files, as<GPT>(*loaded.model), weights);
    loaded.model->eval();
    return loaded;
}

void export_hugging_face(const fs::path& directory, const LanguageModel& any,
                         const Tokenizer* tokenizer, const TextConventions& conventions) {
    if (const auto* const llama = dynamic_cast<const Llama*>(&any)) {
        return export_hugging_face_decoder(directory, *llama, tokenizer, conventions);
    }
    const auto* const gpt = dynamic_cast<const GPT*>(&any);
    require(gpt != nullptr, "export: there is no format for {}", row_of(any.model_config()).phrase);
    const GPT& model = *gpt;
    check_expressible(model);
    std::vector<NewFile> files;
    if (tokenizer != nullptr) {
        files = foreign_tokenizer_files(*tokenizer, conventions, model.config().context);
    }
    const DType dtype = model.token_embedding.weight.dtype();
    files.push_back(
        text_file(kConfigName, config_json(model.config(), dtype, tokenizer, conventions)));
    files.push_back(
        {kWeightsName, [&model](const fs::path& path, const WriteOptions& options) {
             return write_safetensors(path, tensors_of(model), {{"format", "pt"}}, options);
         }});
    put_files(directory, files);
}

}  // namespace tapestry
