#include <tapestry/nn/io/hugging_face_llama.h>

#include <tapestry/core/views.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/llama/llama.h>

#include <array>
#include <map>
#include <string>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLlamaHead = "lm_head.weight";
constexpr const char* kLlamaTable = "model.embed_tokens.weight";

void check_llama(const ConfigFile& file) {
    for (const char* name : {"attention_bias", "mlp_bias"}) {
        require<IoError>(!file.get<bool>(name, false), "{}: \"{}\" is true, which is not supported",
                         file.path(), name);
    }
    const auto activation = file.get<std::string>("hidden_act", "silu");
    require<IoError>(activation == "silu" || activation == "swish",
                     "{}: \"hidden_act\" is \"{}\"; Llama's feed-forward networks have \"silu\"",
                     file.path(), utf8::printable(activation));
    require<IoError>(!file.has("rope_scaling"),
                     "{}: \"rope_scaling\", which changes the rotary frequencies, is not supported",
                     file.path());
}

// In "rope_theta", or since transformers 5 in "rope_parameters"; where both are, they agree.
double rotary_base(const ConfigFile& file) {
    const double usual = LlamaConfig().rotary_base;
    if (!file.has("rope_parameters")) return file.get("rope_theta", usual);
    const ConfigFile rope = file.object("rope_parameters");
    const auto type = rope.get<std::string>("rope_type", "default");
    require<IoError>(type == "default",
                     "{}: \"rope_type\" is \"{}\"; only \"default\" is supported", file.path(),
                     utf8::printable(type));
    const double base = rope.get("rope_theta", file.get("rope_theta", usual));
    require<IoError>(file.get("rope_theta", base) == base,
                     "{}: \"rope_theta\" is {}, but {} in \"rope_parameters\"", file.path(),
                     file.get("rope_theta", base), base);
    return base;
}

LlamaConfig read_llama_config(const ConfigFile& file) {
    check_llama(file);
    LlamaConfig config;
    config.vocab = file.get<std::int64_t>("vocab_size");
    config.context = file.get<std::int64_t>("max_position_embeddings");
    config.layers = file.get<std::int64_t>("num_hidden_layers");
    config.heads = file.get<std::int64_t>("num_attention_heads");
    config.kv_heads = file.get("num_key_value_heads", config.heads);
    config.dim = file.get<std::int64_t>("hidden_size");
    config.hidden = file.get<std::int64_t>("intermediate_size");
    config.dropout = file.get("attention_dropout", 0.0);
    config.rotary_base = rotary_base(file);
    config.norm_eps = file.get("rms_norm_eps", 1e-6);
    config.tied_head = file.get("tie_word_embeddings", false);
    const bool divides = config.heads > 0 && config.dim % config.heads == 0;
    const std::int64_t usual = divides ? config.dim / config.heads : 0;
    const auto head_dim = file.get("head_dim", usual);
    require<IoError>(divides && head_dim == usual,
                     "{}: \"head_dim\" is {}; only \"hidden_size\" / \"num_attention_heads\", {} / "
                     "{}, is supported",
                     file.path(), head_dim, config.dim, config.heads);
    return config;
}

constexpr std::array<std::pair<const char*, const char*>, 6> kLlamaParts{
    {{"input_layernorm", "attention_norm"},
     {"self_attn.o_proj", "attention.output"},
     {"post_attention_layernorm", "feed_forward_norm"},
     {"mlp.gate_proj", "feed_forward.gate"},
     {"mlp.up_proj", "feed_forward.up"},
     {"mlp.down_proj", "feed_forward.down"}}};

std::vector<StoredParameter> parameters_of_llama(const Llama& model) {
    const LlamaConfig& config = model.config();
    const std::int64_t keys =
        (config.kv_heads == 0 ? config.heads : config.kv_heads) * (config.dim / config.heads);
    std::vector<StoredParameter> parameters{{kLlamaTable, model.token_embedding.weight},
                                            {"model.norm.weight", model.final_norm.weight}};
    if (!config.tied_head) parameters.push_back({kLlamaHead, model.head.weight});
    std::map<std::string, Tensor> by_name;
    for (const auto& [name, parameter] : model.named_parameters()) by_name.emplace(name, parameter);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        const std::string theirs = fmt::format("model.layers.{}.", i);
        const std::string ours = fmt::format("blocks.{}.", i);
        for (const auto& [their_part, our_part] : kLlamaParts) {
            parameters.push_back(
                {theirs + their_part + ".weight", by_name.at(ours + our_part + ".weight")});
        }
        const Tensor& qkv = by_name.at(ours + "attention.qkv.weight");  // [C + 2 G D, C]
        const auto rows = [&](std::int64_t from, std::int64_t to) {
            return views::slice(qkv, 0, from, to);
        };
        parameters.push_back({theirs + "self_attn.q_proj.weight", rows(0, config.dim)});
        parameters.push_back(
            {theirs + "self_attn.k_proj.weight", rows(config.dim, config.dim + keys)});
        parameters.push_back(
            {theirs + "self_attn.v_proj.weight", rows(config.dim + keys, config.dim + 2 * keys)});
    }
    return parameters;
}

bool is_old_buffer(const std::string& name) {
    return name.ends_with(".self_attn.rotary_emb.inv_freq");
}

void read_llama_weights(const fs::path& path, const Llama& model) {
    const auto wanted = [](const std::string& name) { return !is_old_buffer(name); };
    std::map<std::string, Tensor> stored;
    for (auto& [name, tensor] : read_safetensors(path, wanted).tensors) {
        stored.emplace(name, tensor);
    }
    const std::vector<StoredParameter> parameters = parameters_of_llama(model);
    strip_wrappers(stored, parameters);
    const std::string file = path.string();
    if (model.config().tied_head) drop_copy_of_head(file, stored, kLlamaHead, kLlamaTable);
    fill_parameters(file, stored, parameters);
    check_all_used(file, stored);
}

}  // namespace

bool is_hugging_face_llama(const ConfigFile& file) {
    return file.get<std::string>("model_type", "") == "llama";
}

LoadedModel load_hugging_face_llama(const ConfigFile& file, const SavedFiles& files) {
    const LlamaConfig config = read_llama_config(file);
    const fs::path tokenizer = files.path(kTokenizerName);
    LoadedModel loaded{nullptr, is_there(tokenizer) ? read_json_tokenizer(tokenizer)
                                                    : read_byte_pair_tokenizer(files)};
    if (loaded.tokenizer) check_vocabulary(*loaded.tokenizer, config.vocab, files.directory());
    check_weights_exist(files);
    loaded.model = make_model(config, files);
    read_llama_weights(files.path(kWeightsName), as<Llama>(*loaded.model));
    loaded.model->eval();
    return loaded;
}

}  // namespace tapestry
