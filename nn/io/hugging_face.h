// GPT-2 as the library transformers stores it: config.json ("model_type": "gpt2"),
// model.safetensors, vocab.json and merges.txt. What differs from ours are names, and that the
// matrices of a layer lie the other way round, [in, out] (a class called Conv1D there).
//
//     wte.weight [V, C]                      token_embedding.weight
//     wpe.weight [T, C]                      position_embedding.weight
//     h.i.ln_1, h.i.ln_2 [C]                 blocks.i.attention_norm, blocks.i.feed_forward_norm
//     h.i.attn.c_attn.weight [C, 3C]         blocks.i.attention.qkv.weight [3C, C]
//     h.i.attn.c_proj.weight [C, C]          blocks.i.attention.output.weight, transposed
//     h.i.mlp.c_fc.weight [C, H]             blocks.i.feed_forward.up.weight [H, C]
//     h.i.mlp.c_proj.weight [H, C]           blocks.i.feed_forward.down.weight [C, H]
//     ln_f [C]                               final_norm
//     lm_head.weight [V, C]                  head.weight; absent where it is wte.weight
//     h.i.attn.bias, h.i.attn.masked_bias    the causal mask as a buffer: no parameters, ignored
//
// All but lm_head.weight may begin with "transformer.". Source: transformers,
// models/gpt2/configuration_gpt2.py and modeling_gpt2.py.
#pragma once

#include <tapestry/nn/io/model_directory.h>

namespace tapestry {

class ConfigFile;
class SavedFiles;

/// Whether a config.json is of Hugging Face's kind: it has "model_type" or "architectures", and no
/// "model".
bool is_hugging_face(const ConfigFile& file);

/// Reads such a directory. The tokenizer is vocab.json and merges.txt, or encoder.json and
/// vocab.bpe, or tapestry_tokenizer.json, which export_hugging_face writes for characters; null if
/// there is none. F16 and BF16 weights become f32.
///
/// Settings have transformers' defaults: n_positions (n_ctx in old files), n_inner null for 4
/// n_embd, activation_function (gelu_new, gelu_pytorch_tanh, gelu_fast, gelu, relu, silu, swish),
/// layer_norm_epsilon 1e-5, resid_pdrop, embd_pdrop, attn_pdrop 0.1: where these three differ, the
/// largest is taken for all, which matters in training alone.
///
/// Throws IoError naming file and setting or tensor: another model_type; a setting that changes
/// what is computed and that our GPT does not have (scale_attn_weights false,
/// scale_attn_by_inverse_layer_idx, reorder_and_upcast_attn, add_cross_attention); a tensor that is
/// missing, unknown, there twice, with and without prefix, or of another shape than the
/// configuration says; an lm_head.weight that is not wte.weight where the head is tied; half a
/// vocabulary, or one larger than the model's.
LoadedModel load_hugging_face(const std::filesystem::path& directory);
/// The same, its config.json having been read.
LoadedModel load_hugging_face(const ConfigFile& file, const SavedFiles& files);

/// Writes a directory that transformers' GPT2LMHeadModel.from_pretrained and load_hugging_face
/// read, with the same logits, bit for bit: a previous model there survives a failure. Of the
/// tokenizer, which may be null, byte pairs become vocab.json and merges.txt; characters, which
/// transformers has no tokenizer for, tapestry_tokenizer.json, which it ignores. A model without
/// biases is written with biases of 0, which compute the same. Weights of bf16 (Module::to) are
/// written as they are, half as large.
///
/// Throws ValueError for what GPT-2 has no words for: positions that are not learned, swiglu, f64;
/// IoError as save_model does.
void export_hugging_face(const std::filesystem::path& directory, const GPT& model,
                         const Tokenizer* tokenizer);

}  // namespace tapestry
