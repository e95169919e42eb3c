// Directories of the families of decoder_formats.h, in the format of the transformers library:
// config.json, model.safetensors (or the shards of model.safetensors.index.json) and
// tokenizer.json. The names of a Llama:
//
//     model.embed_tokens.weight [V, C]                   token_embedding.weight
//     model.layers.i.input_layernorm [C]                 blocks.i.attention_norm
//     model.layers.i.self_attn.{q,k,v}_proj [., C]       blocks.i.attention.qkv (stacked)
//     model.layers.i.self_attn.o_proj [C, H D]           blocks.i.attention.output
//     model.layers.i.post_attention_layernorm [C]        blocks.i.feed_forward_norm
//     model.layers.i.mlp.{gate,up}_proj [., C]           blocks.i.feed_forward.{gate,up}
//     model.layers.i.mlp.down_proj [C, .]                blocks.i.feed_forward.down
//     model.norm [C]                                     final_norm
//     lm_head.weight [V, C]                              head.weight; absent if it is the embedding
//
// Internal to nn/io. Read next: hugging_face.h.
#pragma once

#include <tapestry/nn/io/model_directory.h>

namespace tapestry {

class ConfigFile;
class Llama;
class SavedFiles;
struct DecoderFormat;

/// As load_hugging_face does (hugging_face.h). The rotary base is rope_theta (or the family's
/// name), or that of rope_parameters in files of transformers 5. Throws IoError also for what
/// changes the computation and is not supported: rope_scaling, sliding windows other than
/// GPT-Neo's, gated networks with another activation than silu, quantized weights.
LoadedModel load_hugging_face_decoder(const ConfigFile& file, const SavedFiles& files,
                                      const DecoderFormat& format, WeightType weights);

/// As export_hugging_face does (hugging_face.h): the family's names and settings. Throws ValueError
/// for what they cannot express, such as another norm.
void export_hugging_face_decoder(const std::filesystem::path& directory, const Llama& model,
                                 const Tokenizer* tokenizer, const TextConventions& conventions);

}  // namespace tapestry
