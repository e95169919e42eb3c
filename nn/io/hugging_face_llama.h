// Models of the Llama family (Llama, SmolLM2, ...) in the format of the transformers library:
// config.json ("model_type": "llama"), model.safetensors and tokenizer.json.
//
//     model.embed_tokens.weight [V, C]                   token_embedding.weight
//     model.layers.i.input_layernorm [C]                 blocks.i.attention_norm
//     model.layers.i.self_attn.{q,k,v}_proj [., C]       blocks.i.attention.qkv (stacked)
//     model.layers.i.self_attn.o_proj [C, C]             blocks.i.attention.output
//     model.layers.i.post_attention_layernorm [C]        blocks.i.feed_forward_norm
//     model.layers.i.mlp.{gate,up}_proj [H, C]           blocks.i.feed_forward.{gate,up}
//     model.layers.i.mlp.down_proj [C, H]                blocks.i.feed_forward.down
//     model.norm [C]                                     final_norm
//     lm_head.weight [V, C]                              head.weight; absent if it is the embedding
//     model.layers.i.self_attn.rotary_emb.inv_freq       a buffer of old files, ignored
//
// Source: transformers, models/llama/configuration_llama.py and modeling_llama.py. Internal to
// nn/io. Read next: hugging_face.h.
#pragma once

#include <tapestry/nn/io/model_directory.h>

namespace tapestry {

class ConfigFile;
class SavedFiles;

/// Whether a config.json in Hugging Face's format describes a Llama.
bool is_hugging_face_llama(const ConfigFile& file);

/// As load_hugging_face does (hugging_face.h). The rotary base is rope_theta, or that of
/// rope_parameters in files of transformers 5. Throws IoError also for what changes the computation
/// and Llama here does not have: rope_scaling, attention_bias, mlp_bias, a head_dim other than
/// hidden_size / num_attention_heads, an activation other than silu.
LoadedModel load_hugging_face_llama(const ConfigFile& file, const SavedFiles& files);

}  // namespace tapestry
