// Sources: transformers, models/{llama,qwen3,gpt_neox,gpt_neo}/configuration_*.py and
// modeling_*.py.
#include <tapestry/nn/io/decoder_formats.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/models/model_registry.h>

#include <algorithm>
#include <array>

namespace tapestry {
namespace {

using C = LlamaConfig;

// ---- settings that are not a field each

void read_attention_bias(const ConfigFile& file, LlamaConfig& config) {
    config.output_bias = config.qkv_bias;  // "attention_bias" is of all four
    if (!file.has("layer_types")) return;
    for (const auto& kind : file.get<std::vector<std::string>>("layer_types")) {
        require<IoError>(kind == "full_attention",
                         "{}: \"layer_types\" has \"{}\"; only \"full_attention\" is supported",
                         file.path(), utf8::printable(kind));
    }
}

void read_neox(const ConfigFile& file, LlamaConfig& config) {
    read_attention_bias(file, config);
    config.kv_heads = 0;
}

// {["global", "local"], 2} in "attention_types" is global, local, global, local.
std::vector<std::string> kinds_in_types(const ConfigFile& file) {
    std::vector<std::string> kinds;
    constexpr std::size_t kMostBlocks = 100'000;
    try {
        for (const JsonNode& item : file.node("attention_types").elements()) {
            const auto parts = item.elements();
            require<JsonError>(parts.size() == 2, "\"attention_types\": {} is not [kinds, times]",
                               item.shown());
            const auto some = parts[0].get<std::vector<std::string>>();
            for (auto times = parts[1].get<std::int64_t>(); times > 0; --times) {
                kinds.insert(kinds.end(), some.begin(), some.end());
                require<JsonError>(kinds.size() <= kMostBlocks && !some.empty(),
                                   "\"attention_types\": more than {} blocks", kMostBlocks);
            }
        }
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", file.path(), error.what());
    }
    return kinds;
}

// "global" or "local" for each block.
std::vector<std::string> neo_kinds(const ConfigFile& file, std::int64_t layers) {
    std::vector<std::string> kinds;
    if (file.has("attention_layers")) {
        kinds = file.get<std::vector<std::string>>("attention_layers");
        require<IoError>(!file.has("attention_types") || kinds_in_types(file) == kinds,
                         "{}: \"attention_layers\" and \"attention_types\" disagree", file.path());
    } else if (file.has("attention_types")) {
        kinds = kinds_in_types(file);
    } else {
        for (std::size_t i = 0; i < 24; ++i) kinds.emplace_back(i % 2 == 0 ? "global" : "local");
    }
    require<IoError>(std::ssize(kinds) == layers,
                     "{}: \"attention_types\" are of {} blocks, \"num_layers\" is {}", file.path(),
                     kinds.size(), layers);
    return kinds;
}

// Blocks p, 2 p, ... are windowed, for the smallest p for which that is what the kinds say.
void read_neo(const ConfigFile& file, LlamaConfig& config) {
    const std::vector<std::string> kinds = neo_kinds(file, config.layers);
    const auto first = std::find(kinds.begin(), kinds.end(), "local") - kinds.begin();
    config.window_every = 1;
    if (first == std::ssize(kinds)) {
        config.window = 0;
    } else {
        config.window_every = first + 1;
        require<IoError>(config.window > 0, "{}: \"window_size\" must be positive, got {}",
                         file.path(), config.window);
    }
    for (std::int64_t i = 0; i < config.layers; ++i) {
        const bool is_local = config.window > 0 && (i + 1) % config.window_every == 0;
        const std::string& kind = kinds[static_cast<std::size_t>(i)];
        require<IoError>(kind == (is_local ? "local" : "global"),
                         "{}: \"attention_types\": block {} is \"{}\"; \"local\" is only supported "
                         "for every block with the distance of the first from the beginning",
                         file.path(), i, utf8::printable(kind));
    }
    config.kv_heads = 0;
}

void write_neo(JsonWriter& json, const LlamaConfig& config) {
    std::vector<std::string> kinds;
    for (std::int64_t i = 0; i < config.layers; ++i) {
        const bool is_local = config.window > 0 && (i + 1) % config.window_every == 0;
        kinds.emplace_back(is_local ? "local" : "global");
    }
    json.member("attention_layers", kinds);
    json.member("attention_types", [&] {
        json.array([&] {
            json.array([&] {
                json.value(kinds);
                json.value(1);
            });
        });
    });
}

// ---- the table

std::vector<DecoderSetting> llama_settings(std::optional<double> head_dim) {
    return {{"vocab_size", &C::vocab},
            {"max_position_embeddings", &C::context},
            {"num_hidden_layers", &C::layers},
            {"num_attention_heads", &C::heads},
            {"num_key_value_heads", &C::kv_heads, 0},
            {"head_dim", &C::head_dim, head_dim},
            {"hidden_size", &C::dim},
            {"intermediate_size", &C::hidden},
            {"rms_norm_eps", &C::norm_eps, 1e-6},
            {"tie_word_embeddings", &C::tied_head, 0},
            {"attention_bias", &C::qkv_bias, 0}};
}

DecoderFormat llama_format() {
    DecoderFormat format{
        .family = LlamaFamily::llama,
        .model_type = "llama",
        .architecture = "LlamaForCausalLM",
        .embedding = "model.embed_tokens",
        .positions = nullptr,
        .final_norm = "model.norm",
        .layers = "model.layers",
        .head = "lm_head",
        .projections = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
        .parts = {{"input_layernorm", "attention_norm"},
                  {"self_attn.o_proj", "attention.output"},
                  {"post_attention_layernorm", "feed_forward_norm"},
                  {"mlp.gate_proj", "feed_forward.gate"},
                  {"mlp.up_proj", "feed_forward.up"},
                  {"mlp.down_proj", "feed_forward.down"}},
        .buffers = {".self_attn.rotary_emb.inv_freq"},
        .settings = llama_settings(0),
        .rotary_base = "rope_theta",
        .activation = "hidden_act",
        .usual_activation = "silu",
        .dropouts = {"attention_dropout"},
        .read_more = read_attention_bias};
    format.settings.push_back({"mlp_bias", &C::feed_forward_bias, 0});
    return format;
}

DecoderFormat qwen3_format() {
    DecoderFormat format = llama_format();
    format.family = LlamaFamily::qwen3;
    format.model_type = "qwen3";
    format.architecture = "Qwen3ForCausalLM";
    format.parts.push_back({"self_attn.q_norm", "attention.query_norm"});
    format.parts.push_back({"self_attn.k_norm", "attention.key_norm"});
    format.settings = llama_settings(128);
    return format;
}

DecoderFormat gpt_neox_format() {
    return {
        .family = LlamaFamily::gpt_neox,
        .model_type = "gpt_neox",
        .architecture = "GPTNeoXForCausalLM",
        .embedding = "gpt_neox.embed_in",
        .positions = nullptr,
        .final_norm = "gpt_neox.final_layer_norm",
        .layers = "gpt_neox.layers",
        .head = "embed_out",
        .projections = {"attention.query_key_value"},
        .parts = {{"input_layernorm", "attention_norm"},
                  {"attention.dense", "attention.output"},
                  {"post_attention_layernorm", "feed_forward_norm"},
                  {"mlp.dense_h_to_4h", "feed_forward.up"},
                  {"mlp.dense_4h_to_h", "feed_forward.down"}},
        .buffers = {".attention.bias", ".attention.masked_bias", ".attention.rotary_emb.inv_freq"},
        .settings = {{"vocab_size", &C::vocab},
                     {"max_position_embeddings", &C::context},
                     {"num_hidden_layers", &C::layers},
                     {"num_attention_heads", &C::heads},
                     {"hidden_size", &C::dim},
                     {"intermediate_size", &C::hidden},
                     {"layer_norm_eps", &C::norm_eps, 1e-5},
                     {"tie_word_embeddings", &C::tied_head, 0},
                     {"attention_bias", &C::qkv_bias, 1},
                     {"use_parallel_residual", &C::parallel, 1}},
        .rotary_base = "rotary_emb_base",
        .rotary_share = "rotary_pct",
        .activation = "hidden_act",
        .usual_activation = "gelu",
        .dropouts = {"attention_dropout", "hidden_dropout"},
        .read_more = read_neox};
}

DecoderFormat gpt_neo_format() {
    return {
        .family = LlamaFamily::gpt_neo,
        .model_type = "gpt_neo",
        .architecture = "GPTNeoForCausalLM",
        .embedding = "transformer.wte",
        .positions = "transformer.wpe",
        .final_norm = "transformer.ln_f",
        .layers = "transformer.h",
        .head = "lm_head",
        .projections = {"attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"},
        .parts = {{"ln_1", "attention_norm"},
                  {"attn.attention.out_proj", "attention.output"},
                  {"ln_2", "feed_forward_norm"},
                  {"mlp.c_fc", "feed_forward.up"},
                  {"mlp.c_proj", "feed_forward.down"}},
        .buffers = {".attn.attention.bias", ".attn.attention.masked_bias"},
        .settings = {{"vocab_size", &C::vocab},
                     {"max_position_embeddings", &C::context},
                     {"num_layers", &C::layers},
                     {"num_heads", &C::heads},
                     {"hidden_size", &C::dim},
                     {"intermediate_size", &C::hidden, 0},
                     {"window_size", &C::window, 256},
                     {"layer_norm_epsilon", &C::norm_eps, 1e-5},
                     {"tie_word_embeddings", &C::tied_head, 1}},
        .activation = "activation_function",
        .usual_activation = "gelu_new",
        .dropouts = {"attention_dropout", "resid_dropout", "embed_dropout"},
        .read_more = read_neo,
        .write_more = write_neo};
}

}  // namespace

std::span<const DecoderFormat> decoder_formats() {
    static const std::array<DecoderFormat, 4> formats{llama_format(), qwen3_format(),
                                                      gpt_neox_format(), gpt_neo_format()};
    return formats;
}

const DecoderFormat* decoder_format_of(const ConfigFile& file) {
    const auto type = file.get<std::string>("model_type", "");
    for (const DecoderFormat& format : decoder_formats()) {
        if (type == format.model_type) return &format;
    }
    return nullptr;
}

const DecoderFormat& decoder_format_of(LlamaFamily family) {
    const auto all = decoder_formats();
    return *std::find_if(all.begin(), all.end(),
                         [&](const DecoderFormat& one) { return one.family == family; });
}

}  // namespace tapestry
