// Models in the format of the transformers library, read and written: GPT-2, and Llama with its
// relatives (hugging_face_decoder.h). GPT-2 is config.json ("model_type": "gpt2"),
// model.safetensors, vocab.json and merges.txt. It differs from ours in the names, and in the
// matrices of a layer, which are transposed, [in, out] (a class called Conv1D there).
//
//     wte.weight [V, C]                      token_embedding.weight
//     wpe.weight [T, C]                      position_embedding.weight
//     h.i.ln_1, h.i.ln_2 [C]                 blocks.i.attention_norm, blocks.i.feed_forward_norm
//     h.i.attn.c_attn.weight [C, 3C]         blocks.i.attention.qkv.weight [3C, C]
//     h.i.attn.c_proj.weight [C, C]          blocks.i.attention.output.weight, transposed
//     h.i.mlp.c_fc.weight [C, H]             blocks.i.feed_forward.up.weight [H, C]
//     h.i.mlp.c_proj.weight [H, C]           blocks.i.feed_forward.down.weight [C, H]
//     ln_f [C]                               final_norm
//     lm_head.weight [V, C]                  head.weight; absent if it is wte.weight
//     h.i.attn.bias, h.i.attn.masked_bias    the causal mask as a buffer, ignored
//
// All but lm_head.weight may have the prefix "transformer.". Source: transformers,
// models/gpt2/configuration_gpt2.py and modeling_gpt2.py.
#pragma once

#include <tapestry/nn/io/model_directory.h>

namespace tapestry {

class ConfigFile;
class SavedFiles;

/// Whether a config.json is in Hugging Face's format: it has "model_type" or "architectures", and
/// no "model".
bool is_hugging_face(const ConfigFile& file);

/// Whether a directory has such a config.json. Throws IoError for one that cannot be read.
bool is_hugging_face(const std::filesystem::path& directory);

/// Whether export_hugging_face wrote the directory's config.json.
bool is_own_export(const std::filesystem::path& directory);

/// Loads a model from such a directory, a GPT-2, Llama, Qwen3, GPT-NeoX or GPT-Neo. Weights may be
/// in the shards of model.safetensors.index.json. A GPT-2's tokenizer is vocab.json and
/// merges.txt, or encoder.json and vocab.bpe, or tapestry_tokenizer.json, which export_hugging_face
/// writes for characters; null if there is none. Converts F16 and BF16 weights to f32.
///
/// Settings have transformers' defaults: n_positions (n_ctx in old files), n_inner null for 4
/// n_embd, activation_function (gelu_new, gelu_pytorch_tanh, gelu_fast, gelu, relu, silu, swish),
/// layer_norm_epsilon 1e-5, resid_pdrop, embd_pdrop, attn_pdrop 0.1.
///
/// reorder_and_upcast_attn changes nothing: scores are computed in f32 in any case.
///
/// Throws IoError, with file and setting or tensor, for: another model_type; a setting that changes
/// the computation and that our GPT does not have (scale_attn_weights false,
/// scale_attn_by_inverse_layer_idx, add_cross_attention); add_prefix_space in
/// tokenizer_config.json; a tensor that is missing, unknown, present both with and without prefix,
/// or of another shape than the configuration's; an lm_head.weight that differs from wte.weight if
/// the head is tied; an incomplete vocabulary, or one larger than the model's.
LoadedModel load_hugging_face(const std::filesystem::path& directory);
/// The same, with its config.json already read.
LoadedModel load_hugging_face(const ConfigFile& file, const SavedFiles& files,
                              WeightType weights = WeightType::f32);

/// Names of GPT-2's parameters and modules in ours: "h.11" and "transformer.h.11.attn" become
/// "blocks.11" and "blocks.11.attention". Names that the module has, and unknown ones, stay as they
/// are.
std::vector<std::string> own_names(const Module& module, const std::vector<std::string>& names);

/// Why export_hugging_face cannot write a GPT of this configuration; empty if it can.
std::string export_obstacle(const GPTConfig& config);

/// Writes a directory that from_pretrained of transformers' class (GPT2LMHeadModel,
/// LlamaForCausalLM, Qwen3ForCausalLM, GPTNeoXForCausalLM, GPTNeoForCausalLM) and load_hugging_face
/// read, with the same logits, bit for bit; a previous model there survives a failure. The
/// tokenizer may be null: byte pairs are written as vocab.json and merges.txt; characters, for
/// which transformers has no tokenizer, as tapestry_tokenizer.json, which it ignores. A model
/// without biases is written with biases of 0, which compute the same. bf16 weights (Module::to)
/// are written unchanged, half as large. The ids of `conventions` are written as they are; without
/// any, the tokenizer's end of text is both. tokenizer_config.json has their texts, the context and
/// the chat template.
///
/// Throws ValueError for f64, and for what the family's files cannot represent: of a GPT, positions
/// that are not learned and swiglu; of others, what hugging_face_decoder.h says. Throws IoError as
/// save_model does.
void export_hugging_face(const std::filesystem::path& directory, const LanguageModel& model,
                         const Tokenizer* tokenizer, const TextConventions& conventions = {});

}  // namespace tapestry
