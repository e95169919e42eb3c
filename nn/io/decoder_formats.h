// Families of decoders in the format of the transformers library, a row for each: the names of
// their settings and of their parameters. Internal to nn/io. Read next: hugging_face_decoder.h,
// which reads and writes directories by it.
#pragma once

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/models/llama/llama_config.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tapestry {

class JsonWriter;

/// A setting of config.json that is a field of LlamaConfig.
struct DecoderSetting {
    const char* theirs;
    std::variant<std::int64_t LlamaConfig::*, double LlamaConfig::*, bool LlamaConfig::*> ours;
    std::optional<double> absent = {};  ///< its value in transformers if it is missing or null
};

/// A module below a layer: "mlp.up_proj" and "feed_forward.up".
struct DecoderPart {
    const char* theirs;
    const char* ours;
};

/// How a family is stored.
struct DecoderFormat {
    LlamaFamily family;
    const char* model_type;    ///< "qwen3"
    const char* architecture;  ///< "Qwen3ForCausalLM"
    const char* embedding;     ///< "model.embed_tokens"
    const char* positions;     ///< of learned positions, or null
    const char* final_norm;    ///< "model.norm"
    const char* layers;        ///< "model.layers"
    const char* head;          ///< "lm_head"
    /// The parts that project queries, keys and values; or one that projects them all, whose rows
    /// are [H, 3, D]: those of a head's query, key and value come together.
    std::vector<const char*> projections;
    std::vector<DecoderPart> parts;    ///< all others
    std::vector<const char*> buffers;  ///< ends of names in old files, which are ignored
    std::vector<DecoderSetting> settings;
    const char* rotary_base = nullptr;   ///< setting of the rotary base; null without rotary
    const char* rotary_share = nullptr;  ///< setting of the share that rotates; null: all
    const char* activation;              ///< setting
    const char* usual_activation;        ///< its value if it is missing
    std::vector<const char*> dropouts;   ///< settings, of which the largest counts
    /// Settings that are not a field each; null if there are none.
    void (*read_more)(const ConfigFile& file, LlamaConfig& config) = nullptr;
    void (*write_more)(JsonWriter& json, const LlamaConfig& config) = nullptr;
};

/// All families.
std::span<const DecoderFormat> decoder_formats();

/// The format of a config.json; null for another model_type.
const DecoderFormat* decoder_format_of(const ConfigFile& file);

/// The format of a family.
const DecoderFormat& decoder_format_of(LlamaFamily family);

/// Reads the configuration. Throws IoError, with file and setting, for one that is missing, and for
/// what changes the computation and is not supported.
LlamaConfig read_decoder_config(const ConfigFile& file, const DecoderFormat& format);

/// The settings that read_decoder_config reads. Throws ValueError, with the field, for a
/// configuration that the family's files cannot express.
void write_decoder_config(JsonWriter& json, const LlamaConfig& config);

}  // namespace tapestry
