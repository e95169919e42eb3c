#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/io/activation_names.h>
#include <tapestry/nn/io/decoder_formats.h>
#include <tapestry/nn/models/model_registry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace tapestry {
namespace {

void check_computes_the_same(const ConfigFile& file) {
    if (file.has("rope_scaling")) {
        const ConfigFile scaling = file.object("rope_scaling");
        const auto type =
            scaling.get<std::string>("rope_type", scaling.get<std::string>("type", ""));
        require<IoError>(type == "default",
                         "{}: \"rope_scaling\", which changes the rotary frequencies, is not "
                         "supported",
                         file.path());
    }
    require<IoError>(!file.has("quantization_config"),
                     "{}: \"quantization_config\": quantized weights are not supported",
                     file.path());
    for (const char* name : {"use_sliding_window", "rope_interleaved", "add_cross_attention",
                             "is_encoder_decoder", "use_qk_norm"}) {
        require<IoError>(!file.get<bool>(name, false), "{}: \"{}\" is true, which is not supported",
                         file.path(), name);
    }
}

// A number that files of different versions have in different places. Where it is several times,
// the values must agree.
double number_at(const ConfigFile& file, const ConfigFile* rope, const char* name,
                 const char* newer, double usual) {
    std::optional<std::pair<std::string, double>> found;
    const auto look = [&](const ConfigFile& place, const char* setting, const char* where) {
        if (!place.has(setting)) return;
        const auto value = place.get<double>(setting);
        require<IoError>(!found || found->second == value, "{}: {} is {}, but \"{}\"{} is {}",
                         file.path(), found ? found->first : "", found ? found->second : 0, setting,
                         where, value);
        found.emplace(fmt::format("\"{}\"{}", setting, where), value);
    };
    look(file, name, "");
    if (std::string_view(name) != newer) look(file, newer, "");
    if (rope != nullptr) look(*rope, newer, " in \"rope_parameters\"");
    return found ? found->second : usual;
}

void read_rotary(const ConfigFile& file, const DecoderFormat& format, LlamaConfig& config) {
    std::unique_ptr<const ConfigFile> rope;
    if (file.has("rope_parameters")) {
        rope.reset(new ConfigFile(file.object("rope_parameters")));  // which cannot be moved
        const auto type = rope->get<std::string>("rope_type", "default");
        require<IoError>(type == "default",
                         "{}: \"rope_type\" is \"{}\"; only \"default\" is supported", file.path(),
                         utf8::printable(type));
    }
    config.rotary_base = number_at(file, rope.get(), format.rotary_base, "rope_theta", 10000);
    constexpr const char* kShare = "partial_rotary_factor";
    if (format.rotary_share != nullptr) {
        config.rotary_share = number_at(file, rope.get(), format.rotary_share, kShare, 0.25);
        return;
    }
    const double share = number_at(file, rope.get(), kShare, kShare, 1);
    require<IoError>(share == 1, "{}: \"{}\" is {}; only 1 is supported for {}", file.path(),
                     kShare, share, format.model_type);
}

void read_feed_forward(const ConfigFile& file, const DecoderFormat& format, LlamaConfig& config) {
    const Activation named = read_activation(file, format.activation, format.usual_activation);
    if (config.activation != Activation::swiglu) {
        config.activation = named;
        return;
    }
    require<IoError>(named == Activation::silu,
                     "{}: \"{}\" is \"{}\"; the feed-forward networks of {} have \"silu\"",
                     file.path(), format.activation,
                     file.get<std::string>(format.activation, format.usual_activation),
                     format.model_type);
}

// What 0 stands for.
LlamaConfig filled(LlamaConfig config) {
    if (config.kv_heads == 0) config.kv_heads = config.heads;
    config.hidden = hidden_width(config);
    config.head_dim = head_width(config);
    if (config.attention_scale == 0) {
        config.attention_scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
    }
    if (config.window == 0) config.window_every = 1;
    return config;
}

}  // namespace

LlamaConfig read_decoder_config(const ConfigFile& file, const DecoderFormat& format) {
    check_computes_the_same(file);
    auto config = std::get<LlamaConfig>(model_row(format.model_type).defaults);
    for (const DecoderSetting& setting : format.settings) {
        const auto read = [&](auto member) {
            auto& value = config.*member;
            using Value = std::decay_t<decltype(value)>;
            const bool is_needed = !setting.absent.has_value();
            if (is_needed || file.has(setting.theirs)) {
                value = file.get<Value>(setting.theirs);
            } else {
                value = static_cast<Value>(*setting.absent);
            }
        };
        std::visit(read, setting.ours);
    }
    config.dropout = 0;
    for (const char* name : format.dropouts) {
        config.dropout = std::max(config.dropout, file.get(name, 0.0));
    }
    if (format.rotary_base != nullptr) read_rotary(file, format, config);
    read_feed_forward(file, format, config);
    if (format.read_more != nullptr) format.read_more(file, config);
    // Negative ones could outweigh others in the number of parameters.
    const std::int64_t least =
        std::min({config.vocab, config.context, config.layers, config.heads, config.kv_heads,
                  config.head_dim, config.dim, config.hidden, config.window});
    require<IoError>(least >= 0, "{}: a size is negative: {}", file.path(), least);
    require<IoError>(config.norm_eps >= 0, "{}: the norms' epsilon must be >= 0, got {}",
                     file.path(), config.norm_eps);
    return config;
}

void write_decoder_config(JsonWriter& json, const LlamaConfig& given) {
    const DecoderFormat& format = decoder_format_of(given.family);
    const LlamaConfig config = filled(given);
    const auto write = [&](JsonWriter& to) {
        to.member("model_type", format.model_type);
        for (const DecoderSetting& setting : format.settings) {
            std::visit([&](auto member) { to.member(setting.theirs, config.*member); },
                       setting.ours);
        }
        for (const char* name : format.dropouts) to.member(name, config.dropout);
        if (format.rotary_base != nullptr) to.member(format.rotary_base, config.rotary_base);
        if (format.rotary_share != nullptr) to.member(format.rotary_share, config.rotary_share);
        const char* const name = name_of(config.activation);
        to.member(format.activation, name == nullptr ? format.usual_activation : name);
        if (format.write_more != nullptr) format.write_more(to, config);
    };
    // Whatever the format has no place for is not read back.
    JsonWriter whole;
    whole.object([&] { write(whole); });
    const LlamaConfig back =
        filled(read_decoder_config(ConfigFile(whole.text(), "config.json"), format));
    for (const auto& one : kFields<LlamaConfig>) {
        if (!one.traits.stored || one.equal(back, config)) continue;
        fail("export: the files of {} have no place for {} {}; they mean {}",
             row_of(ModelConfig(config)).phrase, one.name, one.text(config), one.text(back));
    }
    write(json);
}

}  // namespace tapestry
